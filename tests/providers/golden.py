"""Golden frames of the three wires, byte for byte, and how to cut and play them."""

import asyncio
import json
import random
from pathlib import Path

from wisp.messages.content import ToolCall
from wisp.messages.ids import FixedClock
from wisp.messages.message import AssistantMessage, ToolResult, user
from wisp.providers.base import ModelInfo, ModelRequest
from wisp.providers.client import HttpProvider
from wisp.providers.endpoint import Endpoint
from wisp.providers.events import Finished
from wisp.providers.grammar import StreamGrammar
from wisp.providers.registry import dialect
from wisp.providers.replayed import ReplayTransport, chunked, exchange_of

APIS = {"G": "gemini", "A": "anthropic-messages", "O": "openai-chat", "R": "openai-responses"}

FRAMES = {
    name: frame.encode()
    for name, frame in json.loads(Path(__file__).with_name("frames.json").read_text("utf-8")).items()
}

WHOLE = {"A": "A1A2A3A4A5A6", "O": "O1O2O3O4", "R": "R1R2R3R4R5"}


def golden(names):
    """The bytes of frames named one after another."""
    return b"".join(FRAMES[names[k : k + 2]] for k in range(0, len(names), 2))


CHUNKINGS = {
    "whole": lambda data: [data],
    "bytes": lambda data: chunked(data, 1),
    "pairs": lambda data: chunked(data, 2),
    "threes": lambda data: chunked(data, 3),
    "sevens": lambda data: chunked(data, 7),
    "random": lambda data: chunked(data, [random.Random(len(data)).randint(1, 40) for _ in data]),
}


GO = (user("go"),)
AFTER_A_CALL = (
    user("go"),
    AssistantMessage((ToolCall("c0", "bash", "{}"),), stop="tool_calls"),
    ToolResult("c0", "bash", ()),
)
"""Histories whose next answer must, and need not, say something."""


async def no_wait(seconds):
    """Stands for the wait between attempts."""


async def play(letter, data, rechunk=None, error="", retries=0, history=GO, tools=(), **fields):
    """Every event of `data` played as an answer of that dialect, checked by the grammar."""
    exchange = exchange_of(data, error=error, **fields)
    transport = ReplayTransport([exchange] * (retries + 1), rechunk=rechunk)
    api = APIS[letter]
    endpoint = Endpoint("golden", api, "http://golden.test/v1", max_retries=retries)
    provider = HttpProvider(endpoint, dialect(api), transport, FixedClock(), sleep=no_wait)
    grammar = StreamGrammar()
    events = []
    async for event in provider.stream(ModelRequest(ModelInfo("m"), history, (), tools)):
        grammar.feed(event)
        events.append(event)
    grammar.close()
    return events


def played(letter, data, **options):
    """`play` from a test that is not a coroutine."""
    return asyncio.run(play(letter, data, **options))


def runnable(events):
    """The calls a loop may run after these events, as (name, arguments)."""
    last = events[-1]
    if not isinstance(last, Finished) or last.message.stop != "tool_calls":
        return []
    return [(call.name, call.arguments) for call in last.message.calls if not call.fault]
