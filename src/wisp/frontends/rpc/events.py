"""Events to frames: pieces of an answer that arrive close together leave as one.

A provider may send a token a message; a frame for each would cost both sides more than the text itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wisp.host.events import Envelope, MessageDelta, wire
from wisp.messages.codec import ascii_json
from wisp.messages.ids import iso

MOST_BYTES, MOST_DELTAS, LONGEST = 8192, 256, 0.008
"""A merged delta's size, how many it stands for, and seconds that it may wait."""


class EventWriter:
    """Writes JSON-RPC messages, in order.

    Args:
        send: takes one frame.
        later: calls something after so many seconds.
    """

    def __init__(
        self, send: Callable[[bytes], None], later: Callable[[float, Callable[[], None]], object]
    ) -> None:
        self._send = send
        self._later = later
        self._first: MessageDelta | None = None
        self._last: Envelope | None = None
        self._parts: list[str] = []
        self._size = 0
        self._timed = False

    def event(self, envelope: Envelope) -> None:
        """Tell of one event; a delta soon, all others at once."""
        event = envelope.event
        if type(event) is not MessageDelta:
            self.flush()
            self._tell(wire(envelope, iso(envelope.at)))
            return
        delta, first = event.delta, self._first
        size = len(delta) if delta.isascii() else 4 * len(delta)
        if first is not None:
            if (
                len(self._parts) < MOST_DELTAS
                and self._size + size <= MOST_BYTES
                and event.content_kind == first.content_kind
                and event.content_index == first.content_index
                and event.turn == first.turn
                and event.role == first.role
            ):
                self._parts.append(delta)
                self._size += size
                self._last = envelope
                return
            self.flush()
        self._first, self._last, self._size = event, envelope, size
        self._parts.append(delta)
        if not self._timed:
            self._timed = True
            self._later(LONGEST, self._due)

    def message(self, message: dict[str, Any]) -> None:
        """Write a message that is no event, after all events before it."""
        self.flush()
        self._send(ascii_json({"jsonrpc": "2.0", **message}) + b"\n")

    def flush(self) -> None:
        """Write what waits."""
        if self._last is None:
            return
        data = wire(self._last, iso(self._last.at))
        data["delta"] = "".join(self._parts)
        if len(self._parts) > 1:
            data["count"] = len(self._parts)
        self._first = self._last = None
        self._parts.clear()
        self._tell(data)

    def _due(self) -> None:
        self._timed = False
        self.flush()

    def _tell(self, data: dict[str, Any]) -> None:
        self._send(ascii_json({"jsonrpc": "2.0", "method": "event", "params": data}) + b"\n")
