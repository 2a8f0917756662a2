"""A model that does what a seed says: words, calls, retries, withdrawals, failures.  Obeys the grammar."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

from wisp.messages.codec import ascii_json
from wisp.messages.content import AssistantBlock, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, Native
from wisp.messages.usage import Usage
from wisp.providers.base import ModelRequest
from wisp.providers.events import (
    ArgumentsDelta,
    Failed,
    Finished,
    PartEnded,
    PartStarted,
    ProviderEvent,
    Retrying,
    Started,
    TextDelta,
    ThinkingDelta,
    Withdrawn,
)
from wisp.providers.grammar import StreamGrammar

WORDS = [
    "plain",
    "naïve",
    "漢字",
    "🙂",
    "two\nlines",
    "<tag>",
    "a `code`",
    "tab\there",
    "end.",
    "\\",
    '"quoted"',
]
CALLS = [
    ("read", {"path": "here.txt"}),
    ("read", {"path": "missing.txt"}),
    ("write", {"path": "new.txt", "content": "x\n"}),
    ("bash", {"command": "touch made"}),
    ("picture", {"number": 3}),
    ("ls", {"path": "."}),
    ("nothing", {}),
    ("read", {"path": 3.5}),
]


class RandomModel:
    """Ends after at most `most` messages with calls."""

    name, api = "random", "random"

    def __init__(self, seed: int, most: int = 4) -> None:
        self._random = random.Random(seed)
        self._left = most
        self.summaries = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """One message, perhaps after attempts that fail; checked by the grammar."""
        grammar = StreamGrammar()
        async for event in self._events(request):
            grammar.feed(event)
            await asyncio.sleep(0)
            yield event
        grammar.close()

    async def _events(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        pick = self._random
        if not request.tools:
            self.summaries += 1
            yield Started("s", request.model.id)
            yield Finished(self._message([Text("What happened before.")], request))
            return
        for attempt in range(2, 2 + pick.choice([0, 0, 0, 1, 2])):
            if pick.random() < 0.5:
                yield Started("x", request.model.id)
                async for event in self._parts(self._blocks(calls=False)):
                    yield event
                yield Withdrawn("the connection was lost")
            yield Retrying(attempt, 4, 0.0, "the service is busy", 529)
        if pick.random() < 0.06:
            yield Failed(pick.choice(["overload", "auth", "wire"]), "the service failed")
            return
        yield Started("m", request.model.id)
        blocks = self._blocks(calls=True)
        async for event in self._parts(blocks):
            yield event
        yield Finished(self._message(blocks, request))

    def _blocks(self, *, calls: bool) -> list[AssistantBlock]:
        pick, made = self._random, list[AssistantBlock]()
        if pick.random() < 0.3:
            made.append(Thinking(self._words()))
        calling = calls and self._left > 0 and pick.random() < 0.75
        if not calling or pick.random() < 0.5:
            made.append(Text(self._words()))
        if calling:
            self._left -= 1
            for number in range(pick.randint(1, 3)):
                name, arguments = pick.choice(CALLS)
                made.append(ToolCall(f"c{self._left}-{number}", name, ascii_json(arguments).decode()))
        return made

    def _words(self) -> str:
        return " ".join(self._random.choice(WORDS) for _ in range(self._random.randint(1, 30)))

    async def _parts(self, blocks: list[AssistantBlock]) -> AsyncIterator[ProviderEvent]:
        for index, block in enumerate(blocks):
            if isinstance(block, ToolCall):
                yield PartStarted(index, "tool_call", block.id, block.name)
                yield ArgumentsDelta(index, block.arguments)
            elif isinstance(block, Thinking | Text):
                kind, delta = ("text", TextDelta) if isinstance(block, Text) else ("thinking", ThinkingDelta)
                yield PartStarted(index, kind)  # type: ignore[arg-type]
                place = 0
                while place < len(block.text):
                    step = self._random.randint(1, 9)
                    yield delta(index, block.text[place : place + step])
                    place += step
            yield PartEnded(index, block)

    def _message(self, blocks: list[AssistantBlock], request: ModelRequest) -> AssistantMessage:
        calling = any(isinstance(block, ToolCall) for block in blocks)
        known = self._random.random() < 0.8
        usage = Usage(self._random.randint(1, 999), self._random.randint(1, 99), 5, 3, 2) if known else None
        native = Native("random", "random", request.model.id)
        return AssistantMessage(
            tuple(blocks), stop="tool_calls" if calling else "stop", usage=usage, native=native
        )
