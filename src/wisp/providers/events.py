"""The events of one provider stream, and the order they come in.

    before   =  Repaired | CacheBroken | Switched | Retrying
    attempt  =  Started  (PartStarted  (TextDelta | ThinkingDelta | ArgumentsDelta)*  PartEnded)*
    stream   =  before*  attempt?  (Withdrawn  (Retrying | Switched)  before*  attempt?)*  (Finished | Failed)

Parts may overlap (parallel calls are interleaved by some servers), each under its own `index`.
Exactly one `Finished` or `Failed` ends every stream; nothing follows it.
`providers.grammar` checks this order; `providers.assemble` folds it into a message.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from wisp.messages.content import AssistantBlock
from wisp.messages.message import AssistantMessage
from wisp.messages.usage import Price

PartKind = Literal["text", "thinking", "tool_call", "opaque"]


class Repaired(msgspec.Struct, frozen=True):
    """The request that is about to be made does not hold the history or the tools as they are."""

    notes: tuple[str, ...]
    """What was mended or left out, a sentence each; the same as long as the history is the same."""


class CacheBroken(msgspec.Struct, frozen=True):
    """The request does not begin as the one before it did, so that nothing cached serves it."""

    reasons: tuple[str, ...]
    """Some of `model`, `system`, `tools`, `settings`, `history`."""


class Switched(msgspec.Struct, frozen=True):
    """Another model than the one that was asked for answers from here on."""

    provider: str
    model: str
    price: Price
    reason: str = ""
    """Why the one before it did not."""
    news: bool = True
    """False where it was said already and only holds on."""


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
    Repaired
    | CacheBroken
    | Switched
    | Retrying
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
