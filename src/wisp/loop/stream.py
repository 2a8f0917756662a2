"""One request as loop events, and what is left of it when it is cut.

Turns provider events into loop events; releases nothing before the provider's terminal event.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import cast

import msgspec

from wisp.loop.events import (
    CacheBroken,
    Event,
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    ProviderRetrying,
    ProviderSwitched,
    RepairReported,
)
from wisp.messages.content import AssistantBlock, Text, Thinking
from wisp.messages.message import AssistantMessage, StopReason
from wisp.messages.usage import Price
from wisp.providers import events as provided
from wisp.providers.base import ModelRequest, Provider
from wisp.providers.events import (
    ArgumentsDelta,
    Failed,
    Finished,
    Repaired,
    Retrying,
    Started,
    Switched,
    TextDelta,
    ThinkingDelta,
    Withdrawn,
)


class AnswerStream:
    """Drives one `Provider.stream`.

    After `events()` has ended normally, `final` is set.  After it was cut by an exception, `partial()`
    is what had been said.
    """

    def __init__(self, provider: Provider, request: ModelRequest, turn: int, message_id: str) -> None:
        self._provider = provider
        self._request = request
        self._turn = turn
        self._id = message_id
        self._said: dict[int, tuple[type[Text] | type[Thinking], list[str]]] = {}
        self._answering = provider.name
        self.price: Price = request.model.price
        """List prices of the model that answers, which need not be the one that was asked for."""
        self.final: Finished | Failed | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        """The request's loop events; the iterator closes the provider's stream however it is left."""
        turn = self._turn
        stream = self._provider.stream(self._request)
        try:
            async for event in stream:
                kind = type(event)
                if kind is TextDelta:
                    delta = cast(TextDelta, event)
                    self._keep(delta.index, Text, delta.text)
                    yield MessageDelta(turn, delta.text, delta.index)
                elif kind is ThinkingDelta:
                    thought = cast(ThinkingDelta, event)
                    self._keep(thought.index, Thinking, thought.text)
                    yield MessageDelta(turn, thought.text, thought.index, "thinking")
                elif kind is ArgumentsDelta:
                    piece = cast(ArgumentsDelta, event)
                    yield MessageDelta(turn, piece.text, piece.index, "arguments")
                elif isinstance(event, Finished | Failed):
                    self.final = event
                else:
                    translated = self._rare(event)
                    if translated is not None:
                        yield translated
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    def _rare(self, event: object) -> Event | None:
        if isinstance(event, Started):
            return MessageStarted(self._turn, self._id)
        if isinstance(event, Withdrawn):
            self._said.clear()
            return MessageWithdrawn(self._turn, self._id, event.reason)
        if isinstance(event, Retrying):
            return ProviderRetrying(
                self._turn,
                self._answering,
                event.attempt,
                event.max_attempts,
                event.delay,
                event.reason,
                event.status,
            )
        if isinstance(event, Repaired):
            return RepairReported(event.notes)
        if isinstance(event, provided.CacheBroken):
            return CacheBroken(self._turn, event.reasons)
        if isinstance(event, Switched):
            self._answering, self.price = event.provider, event.price
            if event.news:
                return ProviderSwitched(self._turn, event.provider, event.model, event.reason)
        return None

    def _keep(self, index: int, kind: type[Text] | type[Thinking], text: str) -> None:
        entry = self._said.get(index)
        if entry is None:
            self._said[index] = (kind, [text])
        else:
            entry[1].append(text)

    def partial(self, stop: StopReason, why: str) -> AssistantMessage | None:
        """What was said before the cut, calls left out; None when no text had arrived."""
        if isinstance(self.final, Failed) and self.final.partial is not None:
            return _worth_keeping(msgspec.structs.replace(self.final.partial, id=self._id, error=why))
        blocks: tuple[AssistantBlock, ...] = tuple(
            kind("".join(parts)) for _, (kind, parts) in sorted(self._said.items())
        )
        return _worth_keeping(AssistantMessage(blocks, self._id, stop, error=why))


def _worth_keeping(message: AssistantMessage) -> AssistantMessage | None:
    """A cut message without words is of no use to anyone and unlawful for some providers."""
    return message if message.text.strip() else None
