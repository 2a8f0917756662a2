"""Chapter 4: authored event streams, and a transport that plays them, breaks them, or does not open at all.

Owns the fixtures.  They have the shape of the real events, but were written by hand: they show what the host
does with a stream, and nothing about any provider's habits.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .core import Message, ScriptMismatch, ScriptStep, ToolCall
from .responses import TransportError
from .streaming import Event

PIECES = 2


@dataclass(frozen=True)
class Replay:
    """What one attempt to open a stream leads to."""

    events: tuple[Event, ...] = ()
    after: str | None = None
    """Text that the last row of the request must contain, as in ScriptStep."""
    refused: TransportError | None = None
    """Raised instead of opening."""
    broken: TransportError | None = None
    """Raised once the events are used up."""


class ReplayStream:
    """Hands out authored events and remembers whether it was closed."""

    def __init__(self, replay: Replay) -> None:
        self._events = iter(replay.events)
        self._broken = replay.broken
        self.closed = False

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        # A real stream waits here for the network, which is the moment at which it can be interrupted.
        await asyncio.sleep(0)
        for event in self._events:
            return event
        if self._broken is not None:
            raise self._broken
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed = True


class ReplayTransport:
    """Answers each opening with the next replay and keeps what it was asked.

    Raises:
        ScriptMismatch: The request lacks the text that the replay relies on, or no replay is left.
    """

    def __init__(self, replays: Sequence[Replay]) -> None:
        self._replays = tuple(replays)
        self.requests: list[Mapping[str, Any]] = []
        self.streams: list[ReplayStream] = []

    async def open(self, request: Mapping[str, Any]) -> ReplayStream:
        self.requests.append(request)
        if len(self.requests) > len(self._replays):
            raise ScriptMismatch(f"opening {len(self.requests)} was not expected")
        replay = self._replays[len(self.requests) - 1]
        last = request["input"][-1]
        latest = last.get("output", last.get("content", ""))
        if replay.after is not None and replay.after not in latest:
            raise ScriptMismatch(
                f"opening {len(self.requests)} needs {replay.after!r}, but the last row is {latest!r}"
            )
        if replay.refused is not None:
            raise replay.refused
        self.streams.append(ReplayStream(replay))
        return self.streams[-1]


# region: authored events
def text_item(text: str, item_id: str) -> dict[str, Any]:
    """A finished message item."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": item_id,
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def call_item(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """A finished call item.  The arguments are text here, so that a fixture can get them wrong."""
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def item_events(item: dict[str, Any]) -> list[Event]:
    """Stream one item: started empty, filled in pieces, then reported as done."""
    if item["type"] == "message":
        empty, body = {**item, "status": "in_progress", "content": []}, item["content"][0]["text"]
        delta_type = "response.output_text.delta"
    else:
        empty, body = {**item, "status": "in_progress", "arguments": ""}, item["arguments"]
        delta_type = "response.function_call_arguments.delta"
    size = max(1, -(-len(body) // PIECES))
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return [
        {"type": "response.output_item.added", "item": empty},
        *({"type": delta_type, "item_id": item["id"], "delta": piece} for piece in pieces),
        {"type": "response.output_item.done", "item": item},
    ]


def answer_events(items: Sequence[dict[str, Any]], response_id: str) -> tuple[Event, ...]:
    """Stream a whole answer; its last event repeats every item and is the only one with authority."""
    created = {"id": response_id, "status": "in_progress", "output": []}
    completed = {"id": response_id, "status": "completed", "output": list(items)}
    return (
        {"type": "response.created", "response": created},
        *(event for item in items for event in item_events(item)),
        {"type": "response.completed", "response": completed},
    )


def incomplete_event(response_id: str) -> Event:
    """The closing event of an answer that ran into the token limit."""
    details = {"reason": "max_output_tokens"}
    response = {"id": response_id, "status": "incomplete", "incomplete_details": details, "output": []}
    return {"type": "response.incomplete", "response": response}


# endregion: authored events


def message_items(message: Message) -> list[dict[str, Any]]:
    """The items that a model streaming this message would send."""
    calls = [call_item(call.id, call.name, encode(call)) for call in message.tool_calls]
    return [text_item(message.content, "msg_1"), *calls]


def encode(call: ToolCall) -> str:
    """Arguments as they travel."""
    return json.dumps(dict(call.arguments))


def replay_script(steps: Sequence[ScriptStep]) -> list[Replay]:
    """Turn a script of whole messages into streams, so that both providers tell the same story."""
    return [
        Replay(answer_events(message_items(step.message), f"resp_{number}"), step.after)
        for number, step in enumerate(steps, 1)
    ]


# region: failure fixtures
def failing_replays(scenario: str, edit: Message) -> list[Replay]:
    """Answers that contain the whole right edit, and must not lead to it.

    disconnect: the connection breaks after the call was reported as done, before the answer was complete.
    malformed: the answer is complete, but behind the good call stands one whose arguments are not JSON.
    output-limit: the answer was cut at the token limit after the call was reported as done.
    """
    items = message_items(edit)
    before_the_end = answer_events(items, "resp_1")[:-1]
    if scenario == "disconnect":
        return [Replay(before_the_end, broken=TransportError("the connection was reset"))]
    if scenario == "malformed":
        return [Replay(answer_events([*items, call_item("edit-9", "edit", '{"path": "calc')], "resp_1"))]
    if scenario == "output-limit":
        return [Replay((*before_the_end, incomplete_event("resp_1")))]
    raise ValueError(f"no failing scenario {scenario!r}")


# endregion: failure fixtures
