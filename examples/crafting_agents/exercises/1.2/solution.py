"""Exercise 1.2: results count only where they belong, right behind the answer that asked."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message


def unanswered(history: Sequence[Message]) -> list[str]:
    """The ids of all calls that have no result before the next row of another kind, in order."""
    missing: list[str] = []
    waiting: list[str] = []
    for row in history:
        if row.role == "tool":
            waiting = [call for call in waiting if call != row.tool_call_id]
        else:
            missing += waiting
            waiting = [call.id for call in row.tool_calls]
    return missing + waiting
