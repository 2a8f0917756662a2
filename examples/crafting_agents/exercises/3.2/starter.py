"""Exercise 3.2: compare two requests, row by row."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message


def common_prefix(first: Sequence[Message], second: Sequence[Message]) -> int:
    """How many rows at the beginning are the same in both; a provider's cache is good for just these."""
    raise NotImplementedError
