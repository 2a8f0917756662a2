"""Exercise 7.2: whoever is nobody's parent is a leaf."""

from collections.abc import Sequence

from examples.crafting_agents.journal import Record


def leaves(records: Sequence[Record]) -> list[int]:
    """The ids of the records that no other record came after, oldest first."""
    parents = {record.parent for record in records}
    return sorted(record.id for record in records if record.id not in parents)
