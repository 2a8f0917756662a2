"""Server-sent events: bytes in, `(event, data)` pairs out, by the WHATWG rules.

Knows framing only: line ends (LF, CRLF, CR), the leading byte order mark, comments, multi-line data.
What the data means is the dialects' business.
"""

from __future__ import annotations

from wisp.providers.errors import WireError

MAX_EVENT = 16 * 1024 * 1024
"""Most bytes of one event; a server that sends more without a blank line is broken or hostile."""

_BOM = b"\xef\xbb\xbf"


class SseReader:
    """Incremental: feed it bytes cut anywhere, take whole events.

    The event name is empty where the stream gave none (the standard calls that `message`).
    """

    def __init__(self, max_event: int = MAX_EVENT) -> None:
        self._max = max_event
        self._pieces: list[bytes] = []  # of the event that has not ended yet
        self._size = 0
        self._after_cr = False
        self._last = b""  # last byte kept, to see a blank line that is cut in two
        self._start = b""  # up to three bytes that may be a byte order mark
        self._started = False

    def feed(self, chunk: bytes) -> list[tuple[str, bytes]]:
        """The events completed by `chunk`.

        Raises:
            WireError: when one event grows beyond the cap.
        """
        if not self._started:
            chunk = self._skip_mark(chunk)
        if not chunk:
            return []
        if self._after_cr or b"\r" in chunk:
            chunk = self._unify(chunk)
            if not chunk:
                return []
        if b"\n\n" not in chunk and not (self._last == b"\n" and chunk[0] == 10):
            self._keep(chunk)
            return []
        if self._pieces:
            chunk = b"".join((*self._pieces, chunk))
            self._pieces = []
            self._size = 0
        *blocks, rest = chunk.split(b"\n\n")
        self._last = b"\n"
        if rest:
            self._keep(rest)
        found = []
        for block in blocks:
            event = _parse(block)
            if event is not None:
                found.append(event)
        return found

    def flush(self) -> list[tuple[str, bytes]]:
        """At the orderly end of a stream: the last event, whose blank line or even line end never came.

        Stricter readers drop it; several servers end their streams like this.  A line that was cut is given
        out too: whoever reads it sees that it is no JSON.
        """
        event = _parse(b"".join(self._pieces))
        self._pieces = []
        self._size = 0
        return [] if event is None else [event]

    def _keep(self, chunk: bytes) -> None:
        self._pieces.append(chunk)
        self._last = chunk[-1:]
        self._size += len(chunk)
        if self._size > self._max:
            self._pieces = []
            raise WireError(f"one event of the stream is larger than {self._max} bytes")

    def _unify(self, chunk: bytes) -> bytes:
        """`chunk` with every kind of line end as LF, also one that is cut between CR and LF."""
        if self._after_cr and chunk[0] == 10:
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r") if chunk else False
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _skip_mark(self, chunk: bytes) -> bytes:
        """Drop a byte order mark at the very start, however it is cut."""
        head = self._start + chunk
        if len(head) < 3 and _BOM.startswith(head):
            self._start = head
            return b""
        self._started = True
        return head[3:] if head.startswith(_BOM) else head


def _parse(block: bytes) -> tuple[str, bytes] | None:
    """One event's lines, LF between them; None where there is nothing to dispatch."""
    if block.startswith(b"data: ") and b"\n" not in block:  # what most events are
        return ("", block[6:])
    name = b""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if value.startswith(b" "):
            value = value[1:]
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    if not data:
        return None
    return (name.decode("utf-8", "replace"), data[0] if len(data) == 1 else b"\n".join(data))
