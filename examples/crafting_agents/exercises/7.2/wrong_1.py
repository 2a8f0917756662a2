"""A wrong answer: it knows only the newest branch."""

from collections.abc import Sequence

from examples.crafting_agents.journal import Record


def leaves(records: Sequence[Record]) -> list[int]:
    """Forgets where one could go back to."""
    return [records[-1].id] if records else []
