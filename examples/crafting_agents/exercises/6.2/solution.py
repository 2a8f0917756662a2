"""Exercise 6.2: a result that exists wins; a call that was begun may have acted; the rest has not."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message, ToolCall
from examples.crafting_agents.steering import NOT_STARTED, UNKNOWN


def settle(calls: Sequence[ToolCall], done: Sequence[Message], begun: str | None) -> list[Message]:
    """One result row per call, in order."""
    finished = {row.tool_call_id: row for row in done}
    return [
        finished.get(call.id)
        or Message("tool", UNKNOWN if call.id == begun else NOT_STARTED, tool_call_id=call.id)
        for call in calls
    ]
