"""After a crash: what each call without a result gets.  Pure.

no intent            it never started                      -> a result that says so
intent, replay safe  running it again changes nothing       -> run it again, under the reserved id
intent, replay never nobody knows whether it happened       -> "interrupted", under the reserved id
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from wisp.harness.repair import interrupted
from wisp.messages.content import Text, ToolCall
from wisp.messages.laws import open_calls
from wisp.messages.message import AssistantMessage, ToolResult
from wisp.session.state import State

NOT_STARTED = "not run: the program ended before this call started."


class Recovery(msgspec.Struct, frozen=True):
    """One open call and what to do about it: exactly one of the last two is set."""

    call: ToolCall
    result_id: str
    result: ToolResult | None = None
    rerun: bool = False


def plan(state: State, new_id: Callable[[], str]) -> tuple[Recovery, ...]:
    """What the open calls of the last message need, in call order; empty when nothing is open."""
    waiting = open_calls(state.messages)
    if not waiting:
        return ()
    last = next(m for m in reversed(state.messages) if isinstance(m, AssistantMessage))
    steps: list[Recovery] = []
    for call in last.calls:
        if call.id not in waiting:
            continue
        intent = state.intents.get(call.id)
        if intent is None:
            said = (Text(f"error (not_started): {NOT_STARTED}"),)
            fresh = new_id()
            unrun = ToolResult(call.id, call.name, said, True, "not_started", fresh)
            steps.append(Recovery(call, fresh, unrun))
        elif intent.replay == "safe":
            steps.append(Recovery(call, intent.result_id, rerun=True))
        else:
            steps.append(Recovery(call, intent.result_id, interrupted(call, intent.result_id)))
    return tuple(steps)
