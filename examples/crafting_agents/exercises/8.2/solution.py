"""Exercise 8.2: one result at a time, from the top, and only those that get shorter by it."""

from collections.abc import Sequence
from dataclasses import replace

from examples.crafting_agents.core import Message

MARK = "[left out]"


def prune_to(rows: Sequence[Message], limit: int) -> list[Message]:
    """The same rows, with the content of as few results as possible replaced."""
    kept = list(rows)
    size = sum(len(row.content) for row in kept)
    for number, row in enumerate(kept):
        if size <= limit:
            break
        if row.role == "tool" and len(row.content) > len(MARK):
            kept[number] = replace(row, content=MARK)
            size -= len(row.content) - len(MARK)
    return kept
