"""Sessions out of the program and back into it: formats, credentials, conversations of other agents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from process.program import Bug, Program, result_of
from process.server import ServerThread

pytestmark = pytest.mark.process

SECRET = "sk-proj-" + "Ab1" * 16


@pytest.fixture
def repaired(tmp_path: Path) -> tuple[Program, str]:
    """A program with one session in which a bug was repaired and a key was pasted."""
    bug = Bug(7)
    with ServerThread(bug.steps()) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        bug.plant(program.project)
        done = program.run(
            "-p", f"Fix it with {SECRET}", "--permission-mode", "full", "--output-format", "json"
        )
    return program, str(result_of(done)["session_id"])


@pytest.mark.parametrize("form", ["markdown", "html", "atif", "claude"])
def test_an_export_holds_the_conversation_and_no_credential(repaired: tuple[Program, str], form: str) -> None:
    program, session = repaired
    before = program.sessions()[0].read_bytes()
    done = program.run("sessions", "export", session[:12], "--format", form)

    assert done.returncode == 0
    assert "Fixed." in done.stdout
    assert SECRET not in done.stdout
    assert "credentials were taken out: " in done.stderr
    assert program.sessions()[0].read_bytes() == before


def test_credentials_stay_in_only_when_that_is_said(repaired: tuple[Program, str]) -> None:
    program, session = repaired
    done = program.run("sessions", "export", session, "--keep-secrets")

    assert SECRET in done.stdout
    assert done.stderr == ""


def test_a_file_tells_the_format_by_its_ending_is_private_and_never_overwritten(
    repaired: tuple[Program, str], tmp_path: Path
) -> None:
    program, session = repaired
    file = tmp_path / "talk.html"
    first = program.run("sessions", "export", session, "-o", str(file))
    again = program.run("sessions", "export", session, "-o", str(file))

    assert first.returncode == 0
    assert file.read_text().startswith("<!doctype html>")
    assert file.stat().st_mode & 0o777 == 0o600
    assert again.returncode == 1
    assert "exists" in again.stderr


def test_an_unknown_format_is_a_usage_error(repaired: tuple[Program, str]) -> None:
    program, session = repaired
    done = program.run("sessions", "export", session, "--format", "docx")

    assert done.returncode == 2
    assert "markdown, html, atif, claude" in done.stderr


def test_an_imported_conversation_goes_on(repaired: tuple[Program, str], tmp_path: Path) -> None:
    program, session = repaired
    file = tmp_path / "talk.jsonl"
    program.run("sessions", "export", session, "-o", str(file))
    came = program.run("sessions", "import", str(file))
    new = came.stdout.partition(":")[0]
    with ServerThread([{"text": "going on"}]) as server:
        other = Program(program.home, program.project, url=server.base_url("openai-chat"))
        done = other.run("-p", "and now?", "--resume", new, "--output-format", "json")
        sent = json.loads(server.requests[0].body)["messages"]

    assert came.returncode == 0
    assert new != session
    assert result_of(done)["result"] == "going on"
    assert [m["role"] for m in sent if m["role"] != "system"][-2:] == ["assistant", "user"]
    assert "Fix it with [scrubbed:" in json.dumps(sent)


def test_calls_without_a_result_are_answered_and_counted(program_only: Program, tmp_path: Path) -> None:
    file = tmp_path / "rollout.jsonl"
    rows = [
        {"timestamp": None, "type": "session_meta", "payload": {"id": "s", "cwd": "/nowhere/at/all"}},
        {
            "timestamp": None,
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        },
        {
            "timestamp": None,
            "type": "response_item",
            "payload": {"type": "function_call", "name": "shell", "call_id": "c", "arguments": "{}"},
        },
        {
            "timestamp": None,
            "type": "response_item",
            "payload": {"type": "reasoning", "encrypted_content": "x"},
        },
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    came = program_only.run("sessions", "import", str(file))
    shown = program_only.run("sessions", "show", came.stdout.partition(":")[0])

    assert "3 messages of Codex" in came.stdout
    assert "converted, lossy: 2 items: 1 encrypted reasoning, 1 repairs" in came.stdout
    assert "interrupted" in shown.stdout


@pytest.fixture
def program_only(tmp_path: Path) -> Program:
    return Program(tmp_path / "home", tmp_path / "project")


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x00\xff" * 100, b'{"a": 1}\n'])
def test_a_file_that_is_no_session_is_refused_and_nothing_is_made(
    program_only: Program, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)
    done = program_only.run("sessions", "import", str(tmp_path / "file"))

    assert done.returncode == 1
    assert "cannot be imported" in done.stderr
    assert program_only.sessions() == []


def test_a_file_that_is_not_there_is_named(program_only: Program) -> None:
    done = program_only.run("sessions", "import", "nothing.jsonl")

    assert done.returncode in (1, 2)
    assert "nothing.jsonl" in done.stderr
    assert "Traceback" not in done.stderr
