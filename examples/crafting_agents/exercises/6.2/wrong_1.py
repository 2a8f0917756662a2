"""A wrong answer: it says that a call which was begun was never started, and it will be done twice."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message, ToolCall
from examples.crafting_agents.steering import NOT_STARTED


def settle(calls: Sequence[ToolCall], done: Sequence[Message], begun: str | None) -> list[Message]:
    """Forgets the one that matters."""
    finished = {row.tool_call_id for row in done}
    missing = [call for call in calls if call.id not in finished]
    return [*done, *(Message("tool", NOT_STARTED, tool_call_id=call.id) for call in missing)]
