"""From a server's bytes to messages, at a bounded rate: junk is logged, a flood ends the connection.

Works in whatever thread reads the bytes.  Knows nothing of what messages mean.
"""

from __future__ import annotations

from collections.abc import Callable

from wisp.mcp.wire import Answer, Id, Junk, Lines, Message, Notification, TooLong, read

BURST = 5_000
"""Messages that nobody asked for, all at once."""
RATE = 200
"""And this many more each second."""
BURST_BYTES = 32 << 20
RATE_BYTES = 1 << 20
LOGGED = 8_192
"""Bytes of a server's log that are kept."""
_QUIET = 0.05


class Log:
    """The end of what a server wrote that is no message; used from one thread at a time."""

    def __init__(self) -> None:
        self._tail = bytearray()

    def write(self, data: bytes) -> None:
        """Add a piece."""
        self._tail += data[-LOGGED:]
        if len(self._tail) > LOGGED:
            del self._tail[:-LOGGED]

    @property
    def text(self) -> str:
        """What is kept of it."""
        return bytes(self._tail).decode("utf-8", "replace").strip()


class Intake:
    """Takes the bytes of one server.

    Args:
        expects: whether an answer with an id is waited for.
        deliver: takes each message that is worth handing on.
        spoiled: told the id of an answer that cannot be used, and why.
        now: seconds.
    """

    def __init__(
        self,
        expects: Callable[[Id], bool],
        deliver: Callable[[Message], None],
        spoiled: Callable[[Id, str], None],
        log: Log,
        now: Callable[[], float],
    ) -> None:
        self._expects, self._deliver, self._spoiled = expects, deliver, spoiled
        self._log, self._now = log, now
        self._lines = Lines()
        self._room, self._bytes = float(BURST), float(BURST_BYTES)
        self._at = self._told = now()
        self.trouble = ""
        """Why nothing more is taken; empty while it is."""

    def feed(self, data: bytes) -> bool:
        """Take the next bytes; False when the server is to be given up, and `trouble` says why."""
        try:
            lines = self._lines.feed(data)
        except TooLong as exc:
            self.trouble = f"it sent {exc}"
            return False
        return all(self.take(line) for line in lines)

    def take(self, line: bytes) -> bool:
        """Take one whole message; False when the server is to be given up."""
        if not line.strip():
            return self._unasked(line, 1.0)
        try:
            message = read(line)
        except Junk as exc:
            if exc.id is not None and self._expects(exc.id):
                self._spoiled(exc.id, str(exc))
                return True
            self._log.write(line[:1000] + b"\n")
            return self._unasked(line, 1.0)
        if isinstance(message, Answer):
            if self._expects(message.id):
                self._deliver(message)
                return True
        elif isinstance(message, Notification) and message.method == "notifications/message":
            self._log.write(line[:1000] + b"\n")
        elif isinstance(message, Notification) and message.method == "notifications/progress":
            if self._now() - self._told >= _QUIET:
                self._told = self._now()
                self._deliver(message)
            return self._unasked(line, 0.1)
        elif not self._unasked(line, 1.0):
            return False
        else:
            self._deliver(message)
            return True
        return self._unasked(line, 1.0)

    def _unasked(self, line: bytes, weight: float) -> bool:
        """Count something that nobody asked for; False where it was too much."""
        now = self._now()
        passed, self._at = max(0.0, now - self._at), now
        self._room = min(BURST, self._room + passed * RATE) - weight
        self._bytes = min(BURST_BYTES, self._bytes + passed * RATE_BYTES) - len(line)
        if self._room >= 0 and self._bytes >= 0:
            return True
        self.trouble = "it floods: it sent more messages that nobody asked for than are read"
        return False
