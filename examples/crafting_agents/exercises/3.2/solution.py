"""Exercise 3.2: the first difference ends it, whatever is equal further down."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message


def common_prefix(first: Sequence[Message], second: Sequence[Message]) -> int:
    """How many rows at the beginning are the same in both; a provider's cache is good for just these."""
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return number
    return min(len(first), len(second))
