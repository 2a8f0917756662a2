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
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

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


class Gone(Message):
    """The terminal went away; whoever sat there can be told nothing any more."""


class Ground(Message):
    """The terminal told whether its ground is `light` or `dark`."""

    def __init__(self, ground: str) -> None:
        super().__init__()
        self.ground = ground


def waiting(terminal: int) -> int:
    """Bytes of the lines that can be read from a terminal (FIONREAD)."""
    count = array.array("i", [0])
    with suppress(OSError):
        fcntl.ioctl(terminal, termios.FIONREAD, count)
    return count[0]


class Tty(Protocol):
    """What reading needs of a driver of Textual's."""

    fileno: int
    exit_event: Any
    _debug: bool
    _loop: Any

    def write(self, data: str) -> None:
        """Send to the terminal."""

    def flush(self) -> None:
        """Send it now."""


class Reader:
    """What the terminal sends, read for one driver, in the driver's thread.

    Args:
        echo: told of every key.
    """

    def __init__(self, echo: Echo) -> None:
        self._echo = echo
        self.ahead = 0
        """Bytes of whole lines that were typed while the terminal still belonged to somebody else."""
        self.answers = False
        """Whether the terminal answers what it is asked."""

    def run(self, driver: Tty, deliver: Callable[[Message], None]) -> None:
        """Read until the screen closes."""
        parser, keyboard = XTermParser(driver._debug), Keyboard()
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        quiet = 0.0

        def take(text: str) -> None:
            for message in parser.feed(text) if text else ():
                if isinstance(message, events.Key):
                    self._echo.pressed(driver._loop.time())
                deliver(message)

        while not self._echo.listens and not driver.exit_event.wait(FIRST):
            pass
        while not driver.exit_event.is_set():
            wait = PAUSE if keyboard.holds or keyboard.bare else TICK
            ready, _, _ = select.select([driver.fileno], [], [], wait)
            quiet = 0.0 if ready else quiet + wait
            if ready:
                data = b""
                with suppress(OSError):  # of a terminal that is not there any more
                    data = os.read(driver.fileno, READ)
                if not data:
                    deliver(Gone())
                    break
                before = (keyboard.ground, keyboard.name, keyboard.graphics)
                take(keyboard.feed(decode(self._typed(data))))
                self._tell(keyboard, before, deliver)
            elif keyboard.holds:
                take(keyboard.release())
            elif keyboard.bare or (keyboard.pasting and quiet >= LOST):
                take(keyboard.silence())
            for message in parser.tick():
                deliver(message)

    def _typed(self, data: bytes) -> bytes:
        """Bytes as a terminal of ours sends them: Enter was told to a shell as a line feed."""
        self.answers = self.answers or _REPORT.search(data) is not None
        ahead, rest = data[: self.ahead], data[self.ahead :]
        self.ahead -= len(ahead)
        return ahead.replace(b"\n", b"\r") + rest

    def _tell(self, keyboard: Keyboard, before: tuple[str, ...], deliver: Callable[[Message], None]) -> None:
        if keyboard.ground != before[0]:
            self.answers = True
            deliver(Ground(keyboard.ground))
        if (keyboard.name, keyboard.graphics) != before[1:]:
            deliver(Answered(keyboard.name, keyboard.graphics))

    def drain(self, driver: Tty) -> None:
        """Let keys that were still held or under way go nowhere, for a bounded time.

        A terminal that has answered before is asked once more: what it sent before the answer has come by
        then, however long the way is.
        """
        if self.answers:
            driver.write(ASK_FENCE)
            driver.flush()
        left, came = FENCE if self.answers else DRAIN * DRAINS, b""
        with suppress(OSError, ValueError):
            while left > 0 and not _FENCED.search(came):
                if select.select([driver.fileno], [], [], DRAIN)[0]:
                    came += os.read(driver.fileno, READ)
                elif not self.answers:
                    break
                left -= DRAIN


class ScreenDriver(LinuxDriver):
    """Textual's driver with another way of reading."""

    def __init__(self, *args: Any, echo: Echo, **more: Any) -> None:
        super().__init__(*args, **more)
        self._reader = Reader(echo)

    def start_application_mode(self) -> None:
        """Begin; keys of other layouts are told with their place on the keyboard, where a terminal can."""
        assert self._file is not None
        self._file.write(QUIET + "\x1b[?2004l\x1b[?1049l")  # of a program that was killed here
        self._file.flush()
        self._reader.ahead = waiting(self.fileno)
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.write("\x1b[=5;1u" + ASK_GROUND)
        self.flush()

    def stop_application_mode(self) -> None:
        """End; what the terminal sends of its own is switched off first, what is on its way is dropped."""
        self.write(QUIET)
        self.flush()
        super().stop_application_mode()

    def resume_application_mode(self) -> None:
        """Go on after a pause; one that a terminal's going away ended is not gone on from."""
        with suppress(OSError, termios.error):
            super().resume_application_mode()

    def disable_input(self) -> None:
        """Stop reading, and drop what is under way."""
        super().disable_input()
        self._reader.drain(self)

    def run_input_thread(self) -> None:
        """Read until the screen closes.  Runs in the driver's thread."""
        self._reader.run(self, self.process_message)

    def cell(self) -> tuple[int, int]:
        """Width and height of a character in pixels; a usual size where the terminal does not tell."""
        try:
            rows, columns, across, down = struct.unpack(
                "HHHH", fcntl.ioctl(self.fileno, termios.TIOCGWINSZ, bytes(8))
            )
        except OSError:
            return CELL
        return (across // columns, down // rows) if across and down and columns and rows else CELL
