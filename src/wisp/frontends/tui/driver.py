"""The terminal of the full screen: reads keys through `keyboard`, asks for their places too."""

from __future__ import annotations

import array
import codecs
import fcntl
import os
import re
import select
import struct
import termios
from contextlib import suppress
from typing import Any

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from wisp.frontends.tui.echo import Echo
from wisp.frontends.tui.keyboard import ASK_GROUND, LOST, PAUSE, Keyboard

FIRST = 0.005
"""Seconds between two looks whether the first frame stands."""
CELL = (10, 20)
TICK = 0.1
"""Seconds after which the parser is told that nothing came."""
ASK_FENCE, FENCE = "\x1b[c", 0.6
"""Asks a terminal what it is (primary device attributes); seconds that the answer is waited for at most."""
_FENCED = re.compile(rb"\x1b\[\?[\d;]*c")
_REPORT = re.compile(rb"\x1b\[\?[\d;]+\$y")
DRAIN, DRAINS = 0.05, 8
"""Seconds of silence after which nothing more is on its way, and how often they are waited for."""
QUIET = "\x1b[=0;1u\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?1015l"
"""Key releases, mouse and focus are told no more."""
READ = 65_536
"""Bytes taken from the terminal at once."""


class Answered(Message):
    """The terminal told its name, or whether it takes pictures; the other one is empty or was told before."""

    def __init__(self, name: str, graphics: str) -> None:
        super().__init__()
        self.name = name
        self.graphics = graphics


class Ground(Message):
    """The terminal told whether its ground is `light` or `dark`."""

    def __init__(self, ground: str) -> None:
        super().__init__()
        self.ground = ground


def _waiting(terminal: int) -> int:
    """Bytes of the lines that can be read from a terminal (FIONREAD)."""
    count = array.array("i", [0])
    with suppress(OSError):
        fcntl.ioctl(terminal, termios.FIONREAD, count)
    return count[0]


class ScreenDriver(LinuxDriver):
    """Textual's driver with another way of reading."""

    def __init__(self, *args: Any, echo: Echo, **more: Any) -> None:
        super().__init__(*args, **more)
        self._echo = echo
        self._answers = False
        """Whether the terminal answers what it is asked."""
        self._ahead = 0
        """Bytes of whole lines that were typed while the terminal still belonged to somebody else."""

    def start_application_mode(self) -> None:
        """Begin; keys of other layouts are told with their place on the keyboard, where a terminal can."""
        assert self._file is not None
        self._file.write(QUIET + "\x1b[?2004l\x1b[?1049l")  # of a program that was killed here
        self._file.flush()
        self._ahead = _waiting(self.fileno)
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.write("\x1b[=5;1u" + ASK_GROUND)
        self.flush()

    def stop_application_mode(self) -> None:
        """End; what the terminal sends of its own is switched off first, what is on its way is dropped."""
        self.write(QUIET)
        self.flush()
        super().stop_application_mode()

    def disable_input(self) -> None:
        """Stop reading; then let keys that were still held or under way go nowhere, for a bounded time.

        A terminal that has answered before is asked once more: what it sent before the answer has come by
        then, however long the way is.
        """
        super().disable_input()
        if self._answers:
            self.write(ASK_FENCE)
            self.flush()
        left, came = FENCE if self._answers else DRAIN * DRAINS, b""
        with suppress(OSError, ValueError):
            while left > 0 and not _FENCED.search(came):
                if select.select([self.fileno], [], [], DRAIN)[0]:
                    came += os.read(self.fileno, READ)
                elif not self._answers:
                    break
                left -= DRAIN

    def run_input_thread(self) -> None:
        """Read until the screen closes.  Runs in the driver's thread."""
        parser, keyboard = XTermParser(self._debug), Keyboard()
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        quiet = 0.0
        while not self._echo.listens and not self.exit_event.wait(FIRST):
            pass
        while not self.exit_event.is_set():
            wait = PAUSE if keyboard.holds else TICK
            ready, _, _ = select.select([self.fileno], [], [], wait)
            quiet = 0.0 if ready else quiet + wait
            if ready:
                data = os.read(self.fileno, READ)
                if not data:
                    break
                self._answers = self._answers or _REPORT.search(data) is not None
                known, told = keyboard.ground, (keyboard.name, keyboard.graphics)
                ahead, data = data[: self._ahead], data[self._ahead :]
                self._ahead -= len(ahead)
                data = ahead.replace(b"\n", b"\r") + data  # Enter, as the terminal tells it to a shell
                self._pass(parser, keyboard.feed(decode(data)))
                if keyboard.ground != known:
                    self._answers = True
                    self.process_message(Ground(keyboard.ground))
                if (keyboard.name, keyboard.graphics) != told:
                    self.process_message(Answered(keyboard.name, keyboard.graphics))
            elif keyboard.holds:
                self._pass(parser, keyboard.release())
            elif keyboard.pasting and quiet >= LOST:
                self._pass(parser, keyboard.silence())
            for message in parser.tick():
                self.process_message(message)

    def cell(self) -> tuple[int, int]:
        """Width and height of a character in pixels; a usual size where the terminal does not tell."""
        try:
            rows, columns, across, down = struct.unpack(
                "HHHH", fcntl.ioctl(self.fileno, termios.TIOCGWINSZ, bytes(8))
            )
        except OSError:
            return CELL
        return (across // columns, down // rows) if across and down and columns and rows else CELL

    def _pass(self, parser: XTermParser, text: str) -> None:
        if text:
            for message in parser.feed(text):
                if isinstance(message, events.Key):
                    self._echo.pressed(self._loop.time())
                self.process_message(message)
