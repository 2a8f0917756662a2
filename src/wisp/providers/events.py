"""The events of one provider stream, and the order they come in.

    attempt  =  Started  (PartStarted  (TextDelta | ThinkingDelta | ArgumentsDelta)*  PartEnded)*
    stream   =  Retrying*  attempt?  (Withdrawn  Retrying+  attempt?)*  (Finished | Failed)

Parts may overlap (parallel calls are interleaved by some servers), each under its own `index`.
Exactly one `Finished` or `Failed` ends every stream; nothing follows it.
`providers.grammar` checks this order; `providers.assemble` folds it into a message.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from wisp.messages.content import AssistantBlock
from wisp.messages.message import AssistantMessage

PartKind = Literal["text", "thinking", "tool_call", "opaque"]


class Retrying(msgspec.Struct, frozen=True):
    """The attempt failed and another follows after `delay` seconds."""

    attempt: int
    """The attempt about to be made; the first one that is announced is 2."""
    max_attempts: int
    delay: float
    reason: str
    status: int = 0


class Started(msgspec.Struct, frozen=True):
    """The server began to answer."""

    response_id: str = ""
    model: str = ""


class PartStarted(msgspec.Struct, frozen=True):
    """A block of the message begins."""

    index: int
    kind: PartKind
    call_id: str = ""
    name: str = ""


class TextDelta(msgspec.Struct, frozen=True):
    """More of a text part."""

    index: int
    text: str


class ThinkingDelta(msgspec.Struct, frozen=True):
    """More of a thinking part."""

    index: int
    text: str


class ArgumentsDelta(msgspec.Struct, frozen=True):
    """More of a call's argument text; for display only, nothing may act on it."""

    index: int
    text: str


class PartEnded(msgspec.Struct, frozen=True):
    """A block is complete; `block` is authoritative over the deltas."""

    index: int
    block: AssistantBlock


class Withdrawn(msgspec.Struct, frozen=True):
    """What this attempt has shown so far does not count: it was cut and will be tried again."""

    reason: str


class Finished(msgspec.Struct, frozen=True):
    """The provider's own terminal event was seen.  `message` is the whole response, ready for history."""

    message: AssistantMessage


class Failed(msgspec.Struct, frozen=True):
    """The stream is over without a complete message."""

    kind: str
    """`ProviderError.kind`."""
    message: str
    status: int = 0
    partial: AssistantMessage | None = None
    """What had been said before the cut, its calls dropped, marked by `stop="error"`."""
    retryable: bool = False


ProviderEvent = (
    Retrying
    | Started
    | PartStarted
    | TextDelta
    | ThinkingDelta
    | ArgumentsDelta
    | PartEnded
    | Withdrawn
    | Finished
    | Failed
)
