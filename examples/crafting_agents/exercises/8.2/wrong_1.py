"""A wrong answer: it removes the rows themselves, and calls are left without their results."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message


def prune_to(rows: Sequence[Message], limit: int) -> list[Message]:
    """Tears exchanges apart."""
    kept = list(rows)
    while sum(len(row.content) for row in kept) > limit:
        result = next((row for row in kept if row.role == "tool"), None)
        if result is None:
            break
        kept.remove(result)
    return kept
