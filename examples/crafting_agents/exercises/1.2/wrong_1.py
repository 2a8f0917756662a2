"""A wrong answer: it looks for the results anywhere in the conversation."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message


def unanswered(history: Sequence[Message]) -> list[str]:
    """Compares all calls with all results."""
    answered = {row.tool_call_id for row in history if row.role == "tool"}
    return [call.id for row in history for call in row.tool_calls if call.id not in answered]
