"""`wisp -p` at a terminal: the answer as what its Markdown means, and below it what is going on."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

ANSWER = "# Found\n\nThe **sum** is `a - b`:\n\n| file | line |\n|---|---|\n| sums.py | 2 |\n\nDone."
STEPS: list[dict[str, Any]] = [
    {"text": "I wait.", "calls": [{"name": "bash", "arguments": {"command": "sleep 0.7"}}]},
    {
        "text": ANSWER,
        "pause": 0.01,
        "usage": {"input": 1000, "output": 234, "cache_read": 0, "cache_write": 0},
    },
]
PRICE = "input_price = 1.0\noutput_price = 10.0\n"


class Screen:
    """What stands on a terminal after bytes that use only what a status line may use."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self.lines = [""]
        self.styles = 0
        self.erased: list[str] = []

    def feed(self, data: str) -> None:
        place = 0
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r\n|[\r\n]|[^\x1b\r\n]+", data):
            if part in ("\r\n", "\n"):
                self.lines.append("")
                place = 0
            elif part == "\r":
                place = 0
            elif part == "\x1b[K":
                self.erased.append(self.lines[-1][place:])
                self.lines[-1] = self.lines[-1][:place]
            elif part.startswith("\x1b") and part.endswith("m"):
                self.styles += 1
            else:
                assert "\x1b" not in part, part
                self.lines[-1] = self.lines[-1][:place] + part + self.lines[-1][place + len(part) :]
                place += len(part)


def run(program: Program, *args: str, both: bool, columns: int = 80, **env: str) -> tuple[int, str, Screen]:
    """Standard error at a terminal, standard output too or in a pipe."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    out = theirs if both else subprocess.PIPE
    program.env.update({"TERM": "xterm-256color", **env})
    running = program.start(
        "-p", "go", "--permission-mode", "full", "--sandbox", "off", *args, stdout=out, stderr=theirs
    )
    os.close(theirs)
    found = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError as exc:
            assert exc.errno == errno.EIO
            break
        if not piece:
            break
        found += piece
    os.close(ours)
    told = running.communicate(timeout=100)[0] or ""
    screen = Screen(columns)
    screen.feed(found.decode())
    return running.returncode, told, screen


@pytest.fixture
def program(tmp_path: Path) -> Any:
    with ServerThread(STEPS) as server:
        yield Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"), more=PRICE)


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_person_sees_what_is_going_on_and_a_pipe_gets_the_answer_alone(form: str, program: Program) -> None:
    """The line is rewritten and gone at the end; what is in the pipe is what it would be without a terminal."""
    code, told, screen = run(program, "--output-format", form, both=False)
    assert code == 0
    seen = " ".join(screen.erased)
    assert "waiting for the model (0 s)" in seen
    assert re.search(r"running bash \(0 s, [0-9,]+ tokens, \$0\.0\d+\)", seen), seen
    left = [line for line in screen.lines if line]
    if form == "text":
        assert told == ANSWER + "\n"
        # 1000 + 234 tokens of the second request, as many as the server made up for the first
        assert left[0] == "- $ sleep 0.7"
        assert re.fullmatch(r"\(2 requests, \d+ s, [0-9,]+ tokens, \$0\.0\d+\)", left[1]), left
        assert len(left) == 2
    else:
        assert left == []
        assert json.loads(told.splitlines()[-1])["result"] == ANSWER
    assert "\x1b" not in told


def test_at_a_terminal_the_markdown_is_what_it_means_and_nothing_of_it_is_written_over(
    program: Program,
) -> None:
    code, _, screen = run(program, both=True)
    assert code == 0
    assert screen.lines[:2] == ["I wait.", "- $ sleep 0.7"]
    assert screen.lines[2:10] == [
        "Found",
        "",
        "The sum is a - b:",
        "",
        "file    │ line",
        "────────┼─────",
        "sums.py │ 2",
        "",
    ]
    assert screen.lines[10] == "Done."
    assert screen.lines[11].startswith("(2 requests, ")
    assert screen.styles > 6


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}], ids=str)
def test_without_colour_or_on_a_dumb_terminal_the_answer_stays_as_it_was_written(
    env: dict[str, str], program: Program
) -> None:
    """NO_COLOR takes the styles; a dumb terminal takes the line too."""
    code, _, screen = run(program, both=True, **env)
    assert code == 0
    assert screen.styles == 0
    assert screen.lines[2 : 2 + ANSWER.count("\n") + 1] == ANSWER.split("\n")
    assert bool(screen.erased) is ("NO_COLOR" in env)


@pytest.mark.parametrize("columns", [20, 13, 10, 3])
def test_on_a_narrow_terminal_the_line_never_wraps(columns: int, program: Program) -> None:
    """A wrapped line could not be taken back."""
    code, _, screen = run(program, both=False, columns=columns)
    assert code == 0
    assert max(map(len, [*screen.erased, ""])) < columns
    assert bool(screen.erased) is (columns > 12)
