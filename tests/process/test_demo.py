"""`wisp demo`: the embedded default, which needs nothing."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

import pytest
from process.program import Program

pytestmark = pytest.mark.process


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A program without any configuration."""
    found = Program(tmp_path / "home", tmp_path / "work", api="")
    found.env["TMPDIR"] = str(tmp_path / "tmp")
    (tmp_path / "tmp").mkdir()
    return found


def test_it_finds_fixes_and_tests_the_bug_and_leaves_nothing(program: Program, tmp_path: Path) -> None:
    """The trace, the diff, the passing test, the repaired source; no temporary folder remains."""
    done = program.run("demo")

    assert (done.returncode, done.stderr) == (0, "")
    out = done.stdout
    places = [
        out.index(word)
        for word in ("FAILED", "def add", "-    return a - b", "OK", "stopped: model_finished")
    ]
    assert sorted(places) == places
    assert out.rstrip().endswith("return a + b")
    assert list((tmp_path / "tmp").iterdir()) == []
    assert list(program.project.iterdir()) == []


def test_with_edits_denied_the_bug_stays(program: Program) -> None:
    """The same flow; the refusal is an observation and the demonstration still holds."""
    done = program.run("demo", "--deny-edits")

    assert done.returncode == 0
    assert "denied" in done.stdout
    assert done.stdout.rstrip().endswith("return a - b")


def test_interrupted_it_cleans_up(program: Program, tmp_path: Path) -> None:
    """Ctrl+C in the middle: exit 130, no folder, no process."""
    process = program.start("demo")
    assert process.stdout
    process.stdout.readline()
    time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=20)

    assert process.returncode in (130, 0)
    assert "Traceback" not in err
    assert list((tmp_path / "tmp").iterdir()) == []
    assert tempfile.gettempdir() != str(tmp_path / "tmp")
