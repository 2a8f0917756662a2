"""Exercise 5.1: copy first, show the copy of the copy, and accept nothing but True."""

from collections.abc import Callable

from examples.crafting_agents.core import ToolCall


def approved(call: ToolCall, ask: Callable[[ToolCall], object]) -> dict[str, str] | None:
    """Show the call to a person and return the arguments to use, or None when it was not agreed to."""
    own = dict(call.arguments)
    shown = ToolCall(call.id, call.name, dict(own))
    return own if ask(shown) is True else None
