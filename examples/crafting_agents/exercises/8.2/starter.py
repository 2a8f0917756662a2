"""Exercise 8.2: leave out old output, oldest first, until it fits."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message


def prune_to(rows: Sequence[Message], limit: int) -> list[Message]:
    """The same rows, with the content of old results replaced by "[left out]", from the oldest until it fits.

    The size of rows is the sum of the lengths of their contents.  A result that would not get shorter stays,
    and other rows are never changed.  When nothing more can be left out, the rows may stay too large.
    """
    raise NotImplementedError
