"""`wisp doctor` tries to get out of the sandbox and says what it found; secrets are never shown."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from process.program import KEY, Program

pytestmark = pytest.mark.process


def _findings(program: Program, **env: str) -> dict[str, tuple[str, str]]:
    done = program.run("doctor", "--json", **env)
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr
    found = json.loads(done.stdout)
    rows = found["findings"] if isinstance(found, dict) else found
    return {row["name"]: (row["status"], row["detail"]) for row in rows}


def test_it_proves_the_sandbox_and_leaves_nothing(tmp_path: Path, need: Callable[[str], str]) -> None:
    need("bwrap")
    program = Program(tmp_path / "home", tmp_path / "work")
    (program.home / ".ssh").mkdir()
    (program.home / ".ssh" / "id_ed25519").write_text("secret")
    for place in ("sessions/x", "output"):
        (program.home / "state" / place).mkdir(parents=True)
        (program.home / "state" / place / "kept").write_text("what was said")
    before = sorted(os.listdir(program.home))
    status, detail = _findings(program)["sandbox"]
    assert (status, detail.split(";")[0]) == ("ok", "bubblewrap")
    assert "12 of 12" in detail
    assert sorted(os.listdir(program.home)) == before
    assert os.listdir(program.project) == []


def test_it_says_why_there_is_none(tmp_path: Path) -> None:
    program = Program(tmp_path / "home", tmp_path / "work")
    status, detail = _findings(program, PATH="/nonexistent")["sandbox"]
    assert status == "missing"
    assert "bwrap" in detail
    program = Program(tmp_path / "home", tmp_path / "work", more="", url="http://127.0.0.1:9")
    status, detail = _findings(program, WISP_SANDBOX="off")["sandbox"]
    assert "turned off" in detail
