"""A wrong answer: it counts equal rows behind the first difference too."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message


def common_prefix(first: Sequence[Message], second: Sequence[Message]) -> int:
    """Adds up what does not count."""
    return sum(one == other for one, other in zip(first, second, strict=False))
