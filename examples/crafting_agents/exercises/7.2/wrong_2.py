"""A wrong answer: it takes every record that the next one does not follow for a leaf."""

from collections.abc import Sequence

from examples.crafting_agents.journal import Record


def leaves(records: Sequence[Record]) -> list[int]:
    """Takes a fork's beginning for its end."""
    found = []
    for number, record in enumerate(records):
        after = records[number + 1] if number + 1 < len(records) else None
        if after is None or after.parent != record.id:
            found.append(record.id)
    return found
