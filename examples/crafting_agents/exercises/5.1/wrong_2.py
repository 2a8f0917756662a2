"""A wrong answer: it copies after the question, when the arguments may be different."""

from collections.abc import Callable

from examples.crafting_agents.core import ToolCall


def approved(call: ToolCall, ask: Callable[[ToolCall], object]) -> dict[str, str] | None:
    """Copies too late."""
    return dict(call.arguments) if ask(call) is True else None
