"""A wrong answer: it compares the text alone and misses a changed role or call."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message


def common_prefix(first: Sequence[Message], second: Sequence[Message]) -> int:
    """Looks at half of a row."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one.content != other.content:
            break
        count += 1
    return count
