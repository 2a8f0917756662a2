"""What a scripted model does in one request, as values; read from JSON or made in Python.

Knows no wire format: `testing.frames` spells a step in each dialect.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool call the model makes."""

    name: str
    arguments: dict[str, Any] | str = {}
    """An object, or the exact text to stream, which may be broken."""
    id: str = ""
    """Empty: the server numbers it."""

    @property
    def text(self) -> str:
        """The arguments as they are streamed."""
        if isinstance(self.arguments, str):
            return self.arguments
        return msgspec.json.encode(self.arguments).decode()


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that goes wrong, once or several times, before or while the step is served."""

    status: int = 0
    """Answer with this HTTP status instead."""
    headers: dict[str, str] = {}
    body: str = ""
    """The body of that answer; empty: the dialect's own error shape.  With status 0: sent as an HTML page."""
    cut_after: int = -1
    """Close cleanly after so many bytes of the stream."""
    reset_after: int = -1
    """Reset the connection after so many bytes."""
    stall_after: int = -1
    """Say nothing more after so many bytes, connection open."""
    stall_head: bool = False
    """Accept the request and never answer."""
    hang_up: bool = False
    """Close before the first byte of an answer."""
    html: bool = False
    """HTTP 200 with a gateway's page."""
    insert: str = ""
    """Put this text into the stream after the first event, as it is."""
    error_event: str = ""
    """Report an error of this name in the stream after the first deltas."""
    times: int = 1
    """How many requests meet it; then the step is served whole."""


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer of the model."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    stop: str = ""
    """The dialect's own word for the ending; empty: what fits."""
    after: str = ""
    """The last tool result must contain this, else the request is a problem and answered with 400."""
    usage: dict[str, int] = {}
    """`input`, `output`, `cache_read`, `cache_write`, `reasoning`; missing figures are made up."""
    fault: Fault | None = None
    delta: int = 12
    """Characters of text or arguments in one event."""
    pause: float = 0.0
    """Seconds between two events."""
    raw: str = ""
    """These exact bytes as the stream, whatever the dialect."""


class _File(msgspec.Struct):
    steps: list[Step]


def steps_from(data: bytes) -> list[Step]:
    """Steps from JSON: a list, or an object with `steps`.

    Raises:
        msgspec.DecodeError: it is neither.
    """
    if data.lstrip().startswith(b"["):
        return msgspec.json.decode(data, type=list[Step])
    return msgspec.json.decode(data, type=_File).steps
