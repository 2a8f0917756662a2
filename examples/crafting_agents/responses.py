"""Chapter 4: a streamed, Responses-style model behind the same complete() that chapter 1 asked for.

Owns the encoding of a request, the retry of its opening, and the life of the stream.  Knows no network: a
transport opens streams of events.  What the events add up to is decided in streaming.py.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .core import Message, ToolSpec
from .streaming import Event, ProviderFailure, StreamAssembly, release

__all__ = [
    "EventStream",
    "ProviderFailure",
    "ResponsesProvider",
    "StreamAssembly",
    "Transport",
    "TransportError",
    "encode_request",
    "open_with_retry",
    "release",
]

MAX_OUTPUT_TOKENS = 2_048
OPENING_ATTEMPTS = 3
FIRST_DELAY_SECONDS = 0.25
JITTER = 0.1


class TransportError(Exception):
    """No stream could be opened, or an open one broke.  Carries the HTTP status when there was an answer."""

    def __init__(self, detail: str, status: int | None = None) -> None:
        super().__init__(detail)
        self.status = status


class EventStream(Protocol):
    """One open answer.  Iterating may raise TransportError; closing must not, and may be repeated."""

    def __aiter__(self) -> AsyncIterator[Event]: ...

    async def aclose(self) -> None: ...


class Transport(Protocol):
    """Sends one request and returns once the answer has begun.  May raise TransportError."""

    async def open(self, request: Mapping[str, Any]) -> EventStream: ...


# region: request encoding
def encode_request(history: Sequence[Message], tools: Sequence[ToolSpec], model: str) -> dict[str, Any]:
    """Say everything in every request: nothing is stored at the provider or referred to there."""
    return {
        "model": model,
        "input": [item for message in history for item in encode_message(message)],
        "tools": [encode_tool(spec) for spec in tools],
        "stream": True,
        "store": False,
        "parallel_tool_calls": False,
        "max_output_tokens": MAX_OUTPUT_TOKENS,
    }


def encode_message(message: Message) -> list[dict[str, Any]]:
    """One row becomes a message item, a result item, or, for an assistant, its text and each of its calls."""
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}]
    items: list[dict[str, Any]] = []
    if message.content or not message.tool_calls:
        items.append({"type": "message", "role": message.role, "content": message.content})
    for call in message.tool_calls:
        arguments = json.dumps(dict(call.arguments))
        items.append({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
    return items


def encode_tool(spec: ToolSpec) -> dict[str, Any]:
    """A strict schema: every parameter is required, is a string, and is the only one of its name."""
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in spec.parameters},
        "required": list(spec.parameters),
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": schema,
        "strict": True,
    }


# endregion: request encoding


# region: retry
async def open_with_retry(
    transport: Transport,
    request: Mapping[str, Any],
    report: Callable[[str], None],
    sleep: Callable[[float], Awaitable[None]],
) -> EventStream:
    """Try up to three times to get an answer started.

    Retrying is safe here only because nothing has been received: no text was shown and no call was buffered.
    A missing answer or a server error may pass by itself; a 4xx says that this request will not do.
    """
    delay = FIRST_DELAY_SECONDS
    for attempt in range(1, OPENING_ATTEMPTS + 1):
        try:
            return await transport.open(request)
        except TransportError as error:
            temporary = error.status is None or error.status >= 500
            if not temporary or attempt == OPENING_ATTEMPTS:
                raise ProviderFailure("opening", str(error)) from error
        report(f"retry opening: attempt {attempt + 1}/{OPENING_ATTEMPTS}")
        await sleep(delay * random.uniform(1 - JITTER, 1 + JITTER))
        delay *= 2
    raise AssertionError("the last attempt returns or raises")


# endregion: retry


@dataclass(frozen=True)
class ResponsesProvider:
    """The provider that run_agent sees: it streams inside, and hands out whole messages only."""

    transport: Transport
    model: str
    report: Callable[[str], None] = print
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    on_text: Callable[[str], object] = len

    async def complete(self, history: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """Ask once and return the released message.

        Raises:
            ProviderFailure: For every way in which the answer cannot be had.  Once a stream was acquired
                nothing is tried again, since the model may have been paid for and shown.
        """
        used_ids = {call.id for message in history for call in message.tool_calls}
        request = encode_request(history, tools, self.model)
        stream = await open_with_retry(self.transport, request, self.report, self.sleep)
        assembly = StreamAssembly(self.report, self.on_text)
        try:
            async for event in stream:
                assembly.accept(event)
                if assembly.final is not None:
                    break
        except TransportError as error:
            raise ProviderFailure("disconnect", str(error)) from error
        finally:
            # Before anything is released: a message in use and its connection still open have two owners.
            await stream.aclose()
        return release(assembly, tools, used_ids)
