"""A wrong answer: it drops what was not done, and the conversation can never be sent again."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message, ToolCall
from examples.crafting_agents.steering import UNKNOWN


def settle(calls: Sequence[ToolCall], done: Sequence[Message], begun: str | None) -> list[Message]:
    """Leaves calls without a result."""
    return [*done, *([Message("tool", UNKNOWN, tool_call_id=begun)] if begun else [])]
