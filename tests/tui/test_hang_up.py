"""A terminal that goes away takes the screen with it: whatever told of it, quietly, with the exit code of a hang-up."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from process.program import Program

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.mark.parametrize("controlling", [True, False], ids=["signal", "no signal"])
@pytest.mark.parametrize("args", [(), ("--inline",)], ids=["screen", "inline"])
def test_the_screen_ends_with_its_terminal(tmp_path: Path, args: tuple[str, ...], controlling: bool) -> None:
    program = Program(tmp_path / "home", tmp_path / "work")
    ours, theirs = pty.openpty()

    def lead() -> None:
        os.setsid()
        if controlling:
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("wisp")), *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=program.project,
        env=program.env | {"TERM": "xterm-256color"},
        preexec_fn=lead,
    )
    os.close(theirs)
    seen, until = b"", time.monotonic() + 45
    while b"shall be done" not in seen and time.monotonic() < until:
        if select.select([ours], [], [], 0.5)[0]:
            seen += os.read(ours, 65536)
    os.close(ours)
    try:
        assert process.wait(45) == 129
    finally:
        process.kill()
        process.wait()
