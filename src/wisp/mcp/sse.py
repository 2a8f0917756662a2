"""Server-sent events with what resuming needs: each event's id, and how long to wait (WHATWG, `retry`)."""

from __future__ import annotations

from wisp.mcp.wire import MOST_LINE, Lines, TooLong


class Events:
    """Incremental: feed it bytes cut anywhere, take the data of whole events."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._data: list[bytes] = []
        self._size = 0
        self._started = False
        self.last_id = ""
        """The id of the last event that had one; empty for none."""
        self.retry: float | None = None
        """Seconds that the server wants between two connections."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that `chunk` completes; events without data are not among them.

        Raises:
            TooLong: a line or an event has no end.
        """
        found = []
        for line in self._lines.feed(chunk):
            if not self._started:
                self._started, line = True, line.removeprefix(b"\xef\xbb\xbf")
            line = line.removesuffix(b"\r")
            if line:
                self._field(line)
            else:
                if data := b"\n".join(self._data):
                    found.append(data)
                self._data, self._size = [], 0
        return found

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value)
            if self._size > MOST_LINE:
                raise TooLong(f"an event of more than {MOST_LINE:,} bytes")
        elif name == b"id" and b"\0" not in value:
            self.last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 8:
            self.retry = int(value) / 1000
