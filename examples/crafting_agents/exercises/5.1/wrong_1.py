"""A wrong answer: it copies, but takes any answer that is not empty for a yes."""

from collections.abc import Callable

from examples.crafting_agents.core import ToolCall


def approved(call: ToolCall, ask: Callable[[ToolCall], object]) -> dict[str, str] | None:
    """Agrees to "no"."""
    own = dict(call.arguments)
    return own if ask(ToolCall(call.id, call.name, dict(own))) else None
