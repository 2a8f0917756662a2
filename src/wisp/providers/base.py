"""What a provider is, and what one request to it holds.

A provider turns a `ModelRequest` into a stream of `providers.events` that always ends with
`Finished` or `Failed`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, Protocol

import msgspec

from wisp.messages.message import Message
from wisp.messages.tool import ToolSpec
from wisp.messages.usage import Price
from wisp.providers.events import ProviderEvent

Api = Literal["openai-responses", "openai-chat", "anthropic-messages", "gemini", "scripted"]


class ModelInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of one model; `None` is unknown."""

    id: str
    context_window: int | None = None
    """Tokens of prompt and answer together."""
    max_output: int | None = None
    price: Price = Price()
    images: bool = False
    reasoning: bool = False
    efforts: tuple[str, ...] = ()
    """Effort levels this model understands, weakest first; empty hides the choice."""
    compat: dict[str, Any] = {}
    """Switches a dialect needs for this server, see that dialect's module."""


class ModelRequest(msgspec.Struct, frozen=True):
    """Everything one request needs.  Values only: sending it twice asks the same thing twice."""

    model: ModelInfo
    messages: Sequence[Message]
    """A lawful history; not copied, must not change while the request runs."""
    system: tuple[str, ...] = ()
    """Instruction blocks in order; request-time data that never enters the history."""
    tools: tuple[ToolSpec, ...] = ()
    max_output: int | None = None
    """Most output tokens; None leaves it to the dialect."""
    effort: str = ""
    session_id: str = ""
    """A stable key for the provider's prompt cache; empty for none."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema the final answer must follow, where the provider can enforce it."""
    compact: bool = False
    """Asks for no answer but for `messages` in short, as items that this service alone understands: the
    `native` of the message it ends with.  Fails where the service has no such thing."""


class Provider(Protocol):
    """One model service, as the loop sees it."""

    @property
    def name(self) -> str:
        """What the user calls it in settings, for instance `local`."""
        ...

    @property
    def api(self) -> str:
        """The dialect it speaks."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """Ask the model.

        The iterator obeys the grammar in `providers.events` and ends with one `Finished` or `Failed`;
        failures of the service are events, never exceptions.  Closing the iterator early must close the
        connection within 500 ms.  Nothing is sent before the first `__anext__`.
        """
        ...
