"""Exported sessions in the hands of programs that nobody here wrote, and files that they wrote in ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from peers.others import PEERS, there
from process.program import Bug, Program, result_of
from process.server import ServerThread

pytestmark = pytest.mark.peer

READERS = PEERS / "readers" / "bin"
SITE = PEERS / "site" / "node_modules" / ".bin"


@pytest.fixture
def talk(tmp_path: Path) -> tuple[Program, str]:
    """A session in which a bug was repaired."""
    bug = Bug(11)
    with ServerThread(bug.steps()) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        bug.plant(program.project)
        done = program.run("-p", "Fix | it <now>", "--permission-mode", "full", "--output-format", "json")
    return program, str(result_of(done)["session_id"])


def exported(talk: tuple[Program, str], name: str) -> Path:
    program, session = talk
    file = program.home / name
    done = program.run("sessions", "export", session, "-o", str(file))
    assert done.returncode == 0, done.stderr
    return file


def said(*argv: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        list(map(str, argv)), cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    return done.stdout


def test_the_package_atif_accepts_a_trajectory(talk: tuple[Program, str], tmp_path: Path) -> None:
    file = exported(talk, "t.json")
    check = "import atif,sys; print(len(atif.Trajectory.model_validate_json(open(sys.argv[1]).read()).steps))"
    steps = said(there(READERS / "python"), "-c", check, file, cwd=tmp_path)

    assert int(steps) == 6


def test_a_strict_reader_of_claude_code_reads_every_row(talk: tuple[Program, str], tmp_path: Path) -> None:
    text = said(there(READERS / "cc-session"), "--strict", exported(talk, "t.jsonl"), cwd=tmp_path)

    assert "Fix | it <now>" in text
    assert text.count("tool_use") == text.count("tool_result") == 4


def test_what_somebody_elses_converter_made_is_taken_in(talk: tuple[Program, str], tmp_path: Path) -> None:
    program, _ = talk
    first = exported(talk, "t.jsonl")
    codex, back = tmp_path / "rollout.jsonl", tmp_path / "back.jsonl"
    bridge = there(READERS / "session-bridge")
    said(
        bridge,
        "convert",
        "--from",
        "claude-code",
        "--to",
        "codex",
        first,
        "-o",
        codex,
        "--no-handshake",
        cwd=tmp_path,
    )
    said(
        bridge,
        "convert",
        "--from",
        "codex",
        "--to",
        "claude-code",
        codex,
        "-o",
        back,
        "--no-handshake",
        cwd=tmp_path,
    )
    for file, agent in ((codex, "Codex"), (back, "Claude Code")):
        came = program.run("sessions", "import", str(file))
        shown = program.run("sessions", "show", came.stdout.partition(":")[0], "--json").stdout

        assert f"messages of {agent}" in came.stdout, came.stderr
        kinds = [message["type"] for message in json.loads(shown)["messages"]]
        assert kinds.count("tool_result") == 4
        assert "Fixed." in shown


def test_a_page_is_valid_html(talk: tuple[Program, str], tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(json.dumps({"extends": ["html-validate:standard"], "root": True}))
    page = exported(talk, "t.html")
    environment = {**os.environ, "PATH": f"{PEERS / 'node' / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        [there(SITE / "html-validate"), "--config", tmp_path / "rules.json", page],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-2000:]


def test_a_page_is_accessible(talk: tuple[Program, str], tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None and not os.environ.get("CI"):
        pytest.skip("needs chromium")
    config = {
        "standard": "WCAG2AA",
        "runners": ["axe", "htmlcs"],
        "timeout": 90_000,
        "chromeLaunchConfig": {"executablePath": chromium, "args": ["--no-sandbox"]},
    }
    (tmp_path / "pa.json").write_text(json.dumps(config))
    environment = {**os.environ, "PATH": f"{PEERS / 'node' / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        [there(SITE / "pa11y"), "--config", tmp_path / "pa.json", f"file://{exported(talk, 't.html')}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
