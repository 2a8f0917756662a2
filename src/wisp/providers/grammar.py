"""The order of a provider's events, as tables: what may follow what, and what ends a stream.

Checks order and part bookkeeping only.  It does not know what the parts mean, who produces them, or
what is done about a violation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

from wisp.providers.errors import WireError
from wisp.providers.events import (
    ArgumentsDelta,
    CacheBroken,
    Failed,
    Finished,
    PartEnded,
    PartKind,
    PartStarted,
    ProviderEvent,
    Repaired,
    Retrying,
    Started,
    Switched,
    TextDelta,
    ThinkingDelta,
    Withdrawn,
)

State = Literal["before", "attempt", "withdrawn", "ended"]

_NEXT: dict[tuple[State, type], State] = {
    ("before", Repaired): "before",
    ("before", CacheBroken): "before",
    ("before", Switched): "before",
    ("before", Retrying): "before",
    ("before", Started): "attempt",
    ("before", Failed): "ended",
    ("attempt", PartStarted): "attempt",
    ("attempt", PartEnded): "attempt",
    ("attempt", Withdrawn): "withdrawn",
    ("attempt", Finished): "ended",
    ("attempt", Failed): "ended",
    ("withdrawn", Retrying): "before",
    ("withdrawn", Switched): "before",
    ("withdrawn", Failed): "ended",
}
"""Transitions; a missing key is a violation.  Deltas are legal in `attempt` only, see `_DELTA_OF`."""

_DELTA_OF: dict[type, PartKind] = {
    TextDelta: "text",
    ThinkingDelta: "thinking",
    ArgumentsDelta: "tool_call",
}

_BLOCK_OF: dict[str, PartKind] = {
    "Text": "text",
    "Thinking": "thinking",
    "ToolCall": "tool_call",
    "Opaque": "opaque",
}


class StreamGrammar:
    """Checks one stream, event by event."""

    def __init__(self) -> None:
        self.state: State = "before"
        self._open: dict[int, PartKind] = {}
        self._used: set[int] = set()

    def feed(self, event: ProviderEvent) -> None:
        """Accept the next event.

        Raises:
            WireError: the event may not come here; not worth a retry of its own.
        """
        kind = type(event)
        part = _DELTA_OF.get(kind)
        if part is not None:
            if self._open.get(event.index) != part:  # type: ignore[union-attr]
                raise violation(f"{kind.__name__} for part {event.index}, which is not open as {part}")  # type: ignore[union-attr]
            return
        following = _NEXT.get((self.state, kind))
        if following is None:
            raise violation(f"{kind.__name__} may not come {_WHERE[self.state]}")
        if isinstance(event, PartStarted):
            self._begin(event)
        elif isinstance(event, PartEnded):
            self._end(event)
        elif isinstance(event, Finished) and self._open:
            raise violation(f"the message ended while part {min(self._open)} was still open")
        elif following != "attempt":
            self._open.clear()
            self._used.clear()
        self.state = following

    def close(self) -> None:
        """The producer says nothing more.

        Raises:
            WireError: the stream had not ended.
        """
        if self.state != "ended":
            raise violation(f"the stream stopped {_WHERE[self.state]}")

    @property
    def begun(self) -> bool:
        """Whether something of the current attempt has been announced."""
        return self.state == "attempt"

    def _begin(self, event: PartStarted) -> None:
        if event.index in self._used:
            raise violation(f"part {event.index} was started twice")
        self._used.add(event.index)
        self._open[event.index] = event.kind

    def _end(self, event: PartEnded) -> None:
        kind = self._open.pop(event.index, None)
        if kind is None:
            raise violation(f"part {event.index} ended without having been open")
        if _BLOCK_OF.get(type(event.block).__name__) != kind:
            raise violation(f"part {event.index} began as {kind} and ended as {type(event.block).__name__}")


_WHERE: dict[State, str] = {
    "before": "before the answer began",
    "attempt": "in the middle of an answer",
    "withdrawn": "after a withdrawn attempt",
    "ended": "after the end",
}


def violation(what: str) -> WireError:
    """A breach of the protocol, as the error it is."""
    return WireError(f"protocol error: {what}")


async def checked(events: AsyncIterator[ProviderEvent]) -> AsyncIterator[ProviderEvent]:
    """`events` as they are; for providers that nobody has checked yet.

    Raises:
        WireError: at the first event out of order, or when the events stop before the end.
    """
    grammar = StreamGrammar()
    async for event in events:
        grammar.feed(event)
        yield event
    grammar.close()
