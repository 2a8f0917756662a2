"""Making a history lawful again before the next request.  Pure.

A run can end between a call and its result: a crash, a closed iterator, a file from elsewhere.  Every
open call gets a result that says so; a result without a call is left out, and so is a second call of the
same id; a history that lost its beginning says so first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from wisp.messages.content import AssistantBlock, Text, ToolCall
from wisp.messages.message import AssistantMessage, Message, Notice, ToolResult

LOST = "The beginning of this conversation was lost."
INTERRUPTED = "interrupted: the outcome is unknown. It may have happened; check before you repeat it."


class Repaired(msgspec.Struct, frozen=True):
    """A lawful history and what was done to get it."""

    messages: tuple[Message, ...]
    added: tuple[ToolResult, ...]
    """The results at the end of `messages` that answer its last open calls, to be kept."""
    notes: tuple[str, ...]


def interrupted(call: ToolCall, result_id: str, why: str = INTERRUPTED) -> ToolResult:
    """The result of a call whose own result was never kept."""
    return ToolResult(
        call.id, call.name, (Text(f"error (interrupted): {why}"),), True, "interrupted", result_id
    )


def repair(history: Sequence[Message], new_id: Callable[[], str]) -> Repaired:
    """Return `history` with every call answered once, in order, and nothing answered that was not asked."""
    out: list[Message] = []
    notes: list[str] = []
    waiting: dict[str, ToolCall] = {}

    def close() -> list[ToolResult]:
        made = [interrupted(call, new_id()) for call in waiting.values()]
        notes.extend(f"call {call.id} ({call.name}) had no result" for call in waiting.values())
        waiting.clear()
        out.extend(made)
        return made

    for message in history:
        if isinstance(message, ToolResult):
            if message.call_id in waiting:
                del waiting[message.call_id]
                out.append(message)
            else:
                notes.append(f"a result for the unknown call {message.call_id} was left out")
            continue
        close()
        if isinstance(message, AssistantMessage):
            if not out:
                notes.append("the beginning of the conversation is missing")
                out.append(Notice(LOST, new_id()))
            message = _each_call_once(message, notes)
            waiting = {call.id: call for call in message.calls}
        out.append(message)
    added = close()
    return Repaired(tuple(_in_call_order(out)), tuple(added), tuple(notes))


def _each_call_once(message: AssistantMessage, notes: list[str]) -> AssistantMessage:
    seen: set[str] = set()
    kept: list[AssistantBlock] = []
    for block in message.content:
        if isinstance(block, ToolCall):
            if block.id in seen:
                notes.append(f"a second call with the id {block.id} was left out")
                continue
            seen.add(block.id)
        kept.append(block)
    if len(kept) == len(message.content):
        return message
    return msgspec.structs.replace(message, content=tuple(kept), native=None)


def _in_call_order(messages: list[Message]) -> list[Message]:
    """Results directly behind their message, sorted as its calls are."""
    out: list[Message] = []
    order: dict[str, int] = {}
    results: list[ToolResult] = []

    def place(result: ToolResult) -> int:
        return order[result.call_id]

    for message in messages:
        if isinstance(message, ToolResult):
            results.append(message)
            continue
        results.sort(key=place)
        out.extend(results)
        results.clear()
        if isinstance(message, AssistantMessage):
            order.clear()
            order.update({call.id: number for number, call in enumerate(message.calls)})
        out.append(message)
    results.sort(key=place)
    out.extend(results)
    return out
