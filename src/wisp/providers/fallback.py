"""Several models in order: the first that can be reached answers.

A provider made of providers.  The next one is asked when one is overloaded, cannot be reached or has used
up its quota, and only while nothing of its answer has been shown.  It then answers until the user speaks
again; every user message begins with the first model anew.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing

import msgspec

from wisp.messages.message import Message, UserMessage
from wisp.providers.base import ModelInfo, ModelRequest, Provider
from wisp.providers.events import Failed, PartStarted, ProviderEvent, Started, Switched, Withdrawn

WORTH_ANOTHER = frozenset(("overload", "connect", "quota"))
"""Failures that are the service's own: another service may do better."""


class Alternative(msgspec.Struct, frozen=True):
    """A model that may stand in."""

    provider: str
    model: ModelInfo
    make: Callable[[], Provider]
    """Makes its provider, on first use."""


class FallbackProvider:
    """Asks `primary`, and where that fails the alternatives in their order."""

    def __init__(self, primary: Provider, alternatives: Sequence[Alternative]) -> None:
        self._primary = primary
        self._alternatives = tuple(alternatives)
        self._made: dict[int, Provider] = {0: primary}
        self._place = 0
        self._turn: Message | None = None

    @property
    def name(self) -> str:
        """The first model's provider."""
        return self._primary.name

    @property
    def api(self) -> str:
        """The first model's dialect."""
        return self._primary.api

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """Ask; see `providers.base.Provider.stream`."""
        if request.compact:  # only who will read it can make it
            async for event in self._compacted(request):
                yield event
            return
        if self._place:
            spoken = _last_said(request.messages)
            if spoken is not self._turn and spoken != self._turn:
                self._place = 0
        if self._place:
            yield self._switched("", news=False)
        while True:
            failed: Failed | None = None
            begun = shown = False
            events = self._ask(request)
            try:
                async for event in events:
                    if isinstance(event, Failed) and self._another(event, shown):
                        failed = event
                        break
                    if isinstance(event, Started):
                        begun = True
                    elif isinstance(event, PartStarted):
                        shown = True
                    elif isinstance(event, Withdrawn):
                        begun = shown = False
                    yield event
            finally:
                close = getattr(events, "aclose", None)
                if close is not None:
                    await close()
            if failed is None:
                return
            if begun:
                yield Withdrawn(failed.message)
            self._place += 1
            self._turn = _last_said(request.messages)
            yield self._switched(failed.message, news=True)

    async def _compacted(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        if self._place:
            yield Failed("request", "another model answers for the moment")
            return
        async with aclosing(self._primary.stream(request)) as events:  # type: ignore[type-var]
            async for event in events:
                yield event

    def _another(self, failed: Failed, shown: bool) -> bool:
        more = self._place < len(self._alternatives)
        return more and not shown and failed.partial is None and failed.kind in WORTH_ANOTHER

    def _ask(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        place = self._place
        if not place:
            return self._primary.stream(request)
        other = self._alternatives[place - 1]
        if place not in self._made:
            self._made[place] = other.make()
        ceiling = request.max_output
        if ceiling is not None and other.model.max_output is not None:
            ceiling = min(ceiling, other.model.max_output)
        asked = msgspec.structs.replace(request, model=other.model, max_output=ceiling)
        return self._made[place].stream(asked)

    def _switched(self, reason: str, *, news: bool) -> Switched:
        other = self._alternatives[self._place - 1]
        return Switched(other.provider, other.model.id, other.model.price, reason, news)


def _last_said(messages: Sequence[Message]) -> Message | None:
    """The user's last message: what divides one user turn from the next."""
    return next((message for message in reversed(messages) if isinstance(message, UserMessage)), None)
