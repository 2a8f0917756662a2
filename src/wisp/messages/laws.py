"""What a lawful history is, as pure checks.

The laws: a history starts with a user message or notice; every tool call is answered by exactly one
result, in call order, directly after the message that made it; no result answers nothing.
Mending an unlawful history is the harness's work.
"""

from __future__ import annotations

from collections.abc import Sequence

from wisp.messages.message import AssistantMessage, Message, ToolResult


def open_calls(history: Sequence[Message]) -> tuple[str, ...]:
    """Ids of the calls of the last assistant message that have no result yet, in call order."""
    answered: set[str] = set()
    for message in reversed(history):
        if isinstance(message, ToolResult):
            answered.add(message.call_id)
        elif isinstance(message, AssistantMessage):
            return tuple(call.id for call in message.calls if call.id not in answered)
        else:
            return ()
    return ()


def violations(history: Sequence[Message]) -> list[str]:
    """Every breach of the laws in `history`, in order, as sentences; empty means lawful and complete."""
    found: list[str] = []
    waiting: list[str] = []
    for place, message in enumerate(history):
        if isinstance(message, ToolResult):
            if message.call_id in waiting:
                if waiting[0] != message.call_id:
                    found.append(f"message {place}: result {message.call_id!r} is out of call order")
                waiting.remove(message.call_id)
            else:
                found.append(f"message {place}: result {message.call_id!r} answers no open call")
            continue
        found += [f"message {place}: call {call!r} was left without a result" for call in waiting]
        waiting = []
        if isinstance(message, AssistantMessage):
            if place == 0:
                found.append("message 0: a history cannot begin with the model")
            waiting = [call.id for call in message.calls]
            found += [
                f"message {place}: call id {c!r} is used twice" for c in set(waiting) if waiting.count(c) > 1
            ]
    found += [f"the end: call {call!r} has no result" for call in waiting]
    return found
