"""How the person and the terminal want the screen, in a pseudo-terminal that answers."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from process.program import Program
from tui.conftest import Open
from tui.screen import LONG, Screen, needs_tmux

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]


class Raw:
    """The program in a pseudo-terminal of which every byte is seen."""

    def __init__(self, program: Program, **env: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(program.project)
            given = {**program.env, "TERM": "xterm-256color", "COLORTERM": "truecolor", **env}
            os.execvpe(program.argv[0], program.argv, given)
        self.seen = b""

    def until(self, mark: bytes) -> None:
        """Read until `mark` came."""
        end = time.monotonic() + LONG
        while mark not in self.seen:
            assert time.monotonic() < end, (mark, self.seen[-500:])
            self.read()

    def read(self) -> bool:
        """Read what came; False at the end."""
        if select.select([self.fd], [], [], 0.1)[0]:
            try:
                self.seen += os.read(self.fd, 65536)
            except OSError:
                return False
        return True

    def end(self) -> None:
        """Have it end, and read all it says."""
        os.kill(self.pid, signal.SIGTERM)
        while self.read() and os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            pass


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """A program that reaches no model."""
    yield Program(tmp_path / "home", tmp_path / "work")


LIGHT, DARK = b"48;2;251;251;249", b"48;2;20;22;27"


def test_the_screen_follows_the_ground_that_the_terminal_tells(program: Program) -> None:
    """OSC 11 is asked, and its answer is taken for no key."""
    terminal = Raw(program)
    terminal.until(b"\x1b]11;?\x07")
    terminal.until(b"all keys")
    assert DARK in terminal.seen
    os.write(terminal.fd, b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
    terminal.until(LIGHT)
    terminal.seen = b""
    os.write(terminal.fd, b"typed")
    terminal.until(b"typed")
    assert b"rgb" not in terminal.seen
    terminal.end()


def test_a_theme_that_was_chosen_stays_whatever_the_terminal_tells(program: Program) -> None:
    """`screen.theme`."""
    settings = program.home / "config" / "settings.toml"
    settings.write_text(settings.read_text() + '\n[screen]\ntheme = "light"\n')
    terminal = Raw(program)
    terminal.until(LIGHT)
    while select.select([terminal.fd], [], [], 0.5)[0]:  # the rest of what was drawn before
        terminal.read()
    terminal.seen = b""
    os.write(terminal.fd, b"\x1b]11;rgb:0000/0000/0000\x1b\\")
    os.write(terminal.fd, b"typed")
    terminal.until(b"typed")
    assert DARK not in terminal.seen
    terminal.end()


def test_every_mode_that_is_switched_on_is_switched_off_at_the_end(program: Program) -> None:
    """DEC private modes and the kitty keyboard's stack, also after a signal."""
    import re

    terminal = Raw(program)
    terminal.until(b"all keys")
    terminal.end()
    on: dict[bytes, bytes] = {}
    for numbers, last in re.findall(rb"\x1b\[\?([\d;]+)([hl])", terminal.seen):
        for number in numbers.split(b";"):
            on[number] = last
    assert on.pop(b"25") == b"h" and on.pop(b"7", b"h") == b"h"  # cursor and wrapping are on in a shell
    assert {number for number, last in on.items() if last == b"h"} == set()
    assert len(re.findall(rb"\x1b\[>\d+u", terminal.seen)) == terminal.seen.count(b"\x1b[<u") == 1


def test_a_start_first_switches_off_what_a_killed_program_left_on(program: Program) -> None:
    """Mouse, focus, paste and keyboard, before anything is switched on."""
    terminal = Raw(program)
    terminal.until(b"\x1b[?1049h")
    before = terminal.seen.partition(b"\x1b[?1049h")[0]
    for mode in (b"1000", b"1002", b"1003", b"1004", b"1006", b"2004", b"1049"):
        assert b"\x1b[?" + mode + b"l" in before
    assert b"\x1b[=0;1u" in before
    terminal.end()


def test_keys_that_are_under_way_when_it_ends_do_not_reach_the_shell(program: Program) -> None:
    """Late releases of a held key, 30 ms apart."""
    terminal = Raw(program)
    terminal.until(b"all keys")
    os.kill(terminal.pid, signal.SIGTERM)
    terminal.until(b"\x1b[=0;1u")
    for _ in range(4):
        os.write(terminal.fd, b"\x1b[120;1:3u")
        time.sleep(0.02)
    while terminal.read() and os.waitpid(terminal.pid, os.WNOHANG) == (0, 0):
        pass

    assert b"[120" not in terminal.seen  # the terminal would echo what nobody took


def test_keys_that_come_late_over_a_slow_connection_do_not_reach_the_shell_either(program: Program) -> None:
    """300 ms after the end began; the terminal has answered before, so its next answer is waited for."""
    terminal = Raw(program)
    terminal.until(b"all keys")
    os.write(terminal.fd, b"\x1b]11;rgb:0000/0000/0000\x1b\\x")
    terminal.until(b"x")
    os.kill(terminal.pid, signal.SIGTERM)
    terminal.until(b"\x1b[c")
    time.sleep(0.3)
    os.write(terminal.fd, b"\x1b[120;1:3u\x1b[121;1:3u\x1b[?62;22c")
    while terminal.read() and os.waitpid(terminal.pid, os.WNOHANG) == (0, 0):
        pass

    assert b"[120" not in terminal.seen and b"62;22" not in terminal.seen
    assert terminal.seen.index(b"\x1b[c") < terminal.seen.index(b"\x1b[?1049l", 200)


@pytest.mark.skipif(needs_tmux, reason="tmux is not here")
def test_keys_of_the_person_work_and_conflicts_are_told(world: Open) -> None:
    """`screen.keys`."""
    program, _ = world()
    settings = program.home / "config" / "settings.toml"
    more = (
        '\n[screen]\nreader = true\nstatus = ["session"]\n[screen.keys]\nhelp = "ctrl+p"\nfind = "ctrl+p"\n'
    )
    settings.write_text(settings.read_text() + more)
    with Screen(program) as screen:
        screen.ready()
        shown = screen.wait("help keeps it")
        assert "╭" not in shown  # no borders for a screen reader
        screen.keys("C-p")
        screen.wait("Keys and commands")
        screen.keys("Escape")
        screen.ready()
        assert "test-model ·" not in screen.text()


@pytest.mark.skipif(needs_tmux, reason="tmux is not here")
def test_words_stand_in_the_place_of_marks_where_the_screen_is_read_aloud(world: Open) -> None:
    """Said, done, failed, told; and nothing is drawn with lines, neither by Wisp nor by Markdown."""
    program, _ = world(
        {
            "thinking": "hm",
            "calls": [
                {"name": "read", "arguments": {"path": "calculator.py"}},
                {"name": "read", "arguments": {"path": "nothing.py"}},
            ],
        },
        {"text": "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\n---\n\nThe end."},
    )
    settings = program.home / "config" / "settings.toml"
    settings.write_text(settings.read_text() + "\n[screen]\nreader = true\n")
    with Screen(program, "look at both") as screen:
        shown = screen.wait("The end.")
        screen.type("/")
        menu = screen.wait("> /")

    assert "you: look at both" in shown
    assert "done: " in shown
    assert "failed: " in shown
    drawn = [char for char in shown + menu if "\u2190" <= char <= "\u2bff" or "\u2800" <= char <= "\u28ff"]
    assert drawn in ([], ["•"] * len(drawn))
