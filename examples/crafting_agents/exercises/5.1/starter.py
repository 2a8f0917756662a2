"""Exercise 5.1: ask before an edit, and do exactly what was agreed to."""

from collections.abc import Callable

from examples.crafting_agents.core import ToolCall


def approved(call: ToolCall, ask: Callable[[ToolCall], object]) -> dict[str, str] | None:
    """Show the call to a person and return the arguments to use, or None when it was not agreed to.

    Whoever is asked gets the call itself and may hold on to its arguments, and even change them.
    """
    return dict(call.arguments) if ask(call) else None
