"""Exercise 7.2: find the ends of all branches."""

from collections.abc import Sequence

from examples.crafting_agents.journal import Record


def leaves(records: Sequence[Record]) -> list[int]:
    """The ids of the records that no other record came after, oldest first."""
    raise NotImplementedError
