"""Lines typed at a terminal, of which a paste in brackets is one, however many lines it has.

The terminal marks a paste when it was told to (xterm's bracketed paste, DECSET 2004).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from wisp.frontends.cli.streams import mark_pastes
from wisp.host.terminal import kind

BEGIN, END = b"\x1b[200~", b"\x1b[201~"
LOST = 1.0
"""Seconds of silence after which the end of a paste is not waited for any more."""


class Lines:
    """Bytes as they come, taken out as lines.  Pure."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> None:
        """More bytes."""
        self._buffer += data

    def clear(self) -> None:
        """Forget what came so far."""
        self._buffer = b""

    @property
    def pasting(self) -> bool:
        """Whether a paste has begun whose end has not come."""
        return self._buffer.rfind(BEGIN) > self._buffer.rfind(END)

    def take(self, *, all_: bool = False) -> str | None:
        """The next line without its end; None where there is no whole one.

        Args:
            all_: nothing more comes: what is left is a line, and a paste without its end is one.
        """
        if not self._buffer:
            return None
        at = self._end(closed=all_)
        if at < 0:
            if not all_:
                return None
            at = len(self._buffer)
        line, self._buffer = self._buffer[:at], self._buffer[at + 1 :]
        line = line.replace(BEGIN, b"").replace(END, b"")
        return line.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")

    def _end(self, *, closed: bool) -> int:
        """Where the first line ends that is not within a paste; -1 for nowhere."""
        at = 0
        while True:
            line = self._buffer.find(b"\n", at)
            begin = self._buffer.find(BEGIN, at)
            if begin < 0 or 0 <= line < begin:
                return line
            end = self._buffer.find(END, begin)
            if end < 0:
                return len(self._buffer.rstrip(b"\n")) if closed else -1
            at = end + len(END)


@contextmanager
def pastes_marked(descriptor: int) -> Iterator[None]:
    """Have the terminal at `descriptor` mark pastes, where it is one that can; as before afterwards."""
    if not (os.isatty(descriptor) and sys.stdout.isatty()) or kind() == "dumb":
        yield
        return
    import termios

    before = termios.tcgetattr(descriptor)
    quiet = termios.tcgetattr(descriptor)
    quiet[3] &= ~getattr(termios, "ECHOCTL", 0)  # else the marks would be shown as ^[[200~
    termios.tcsetattr(descriptor, termios.TCSADRAIN, quiet)
    mark_pastes(True)
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            mark_pastes(False)
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
