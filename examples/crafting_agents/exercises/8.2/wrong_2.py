"""A wrong answer: it leaves out every result, also those that would have fitted."""

from collections.abc import Sequence
from dataclasses import replace

from examples.crafting_agents.core import Message


def prune_to(rows: Sequence[Message], limit: int) -> list[Message]:
    """Throws away what the model is just looking at."""
    if sum(len(row.content) for row in rows) <= limit:
        return list(rows)
    return [replace(row, content="[left out]") if row.role == "tool" else row for row in rows]
