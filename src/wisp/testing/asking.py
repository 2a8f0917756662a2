"""Asking a real provider of the local model server, and looking at what came of it.

Waits between attempts are recorded, not waited.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wisp.messages.content import Text
from wisp.messages.ids import FixedClock
from wisp.messages.message import AssistantMessage, Message, ToolResult
from wisp.messages.tool import ToolSpec
from wisp.providers.base import Api, ModelInfo, ModelRequest
from wisp.providers.client import HttpProvider
from wisp.providers.endpoint import Endpoint, Secret, Timeouts
from wisp.providers.events import Failed, Finished, ProviderEvent
from wisp.providers.grammar import StreamGrammar
from wisp.providers.http import HttpTransport
from wisp.providers.registry import dialect
from wisp.testing.model_server import ModelServer

APIS: tuple[Api, ...] = ("openai-chat", "openai-responses", "anthropic-messages", "gemini")
KEY = "sk-case-0123456789abcdef"

MODEL = ModelInfo("scripted-model", context_window=200_000, max_output=4_000, reasoning=True, images=True)
READ = ToolSpec(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


class Outcome(msgspec.Struct):
    """What one request led to."""

    events: list[ProviderEvent]
    server: ModelServer
    waits: list[float]
    """Seconds the provider would have waited between attempts."""

    @property
    def message(self) -> AssistantMessage:
        """The whole message; an AssertionError where there is none."""
        last = self.events[-1]
        assert isinstance(last, Finished), last
        return last.message

    @property
    def failed(self) -> Failed:
        """The failure; an AssertionError where there is none."""
        last = self.events[-1]
        assert isinstance(last, Failed), last
        return last

    @property
    def runnable(self) -> int:
        """Calls that a loop may run."""
        last = self.events[-1]
        if not isinstance(last, Finished) or last.message.stop != "tool_calls":
            return 0
        return sum(not call.fault for call in last.message.calls)

    def count(self, kind: type) -> int:
        """Events of one kind."""
        return sum(isinstance(event, kind) for event in self.events)


async def ask(
    provider: HttpProvider, messages: Sequence[Message], model: ModelInfo = MODEL
) -> list[ProviderEvent]:
    """Every event of one request, checked by the grammar."""
    grammar = StreamGrammar()
    events: list[ProviderEvent] = []
    request = ModelRequest(model, tuple(messages), ("You are a test.",), (READ,))
    async for event in provider.stream(request):
        grammar.feed(event)
        events.append(event)
    grammar.close()
    return events


def provider_for(
    server: ModelServer,
    api: Api,
    *,
    waits: list[float] | None = None,
    retries: int = 3,
    timeouts: Timeouts | None = None,
    dead_after: float | None = None,
) -> HttpProvider:
    """A provider that talks to `server` and does not really wait between attempts."""

    async def sleep(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    endpoint = Endpoint(
        "case",
        api,
        server.base_url(api),
        Secret(KEY),
        max_retries=retries,
        timeouts=timeouts or Timeouts(),
        dead_after=dead_after,
    )
    return HttpProvider(
        endpoint, dialect(api), HttpTransport(), FixedClock(), sleep=sleep, jitter=lambda: 0.0
    )


def results_for(message: AssistantMessage, text: str = "done") -> list[ToolResult]:
    """A result for every call of `message`."""
    return [ToolResult(call.id, call.name, (Text(text),)) for call in message.calls]
