"""A change of which only some hunks are made: how many there are, and what is left of it with some alone.

Counts as `tools.diff` draws; knows nothing of who chooses.
"""

from __future__ import annotations

from collections.abc import Sequence

from wisp.messages.tool import ToolFailure
from wisp.tools.diff import MAX_SHOWN, Span, parts


def count(diff: str) -> int:
    """Hunks of a diff that can be told apart by who sees it; 0 where it is one, or was shortened."""
    if len(diff) >= MAX_SHOWN:
        return 0
    found = diff.count("\n@@ -")  # every other line of a hunk begins with another character
    return found if found > 1 else 0


def kept(old: str, spans: list[Span], chosen: frozenset[int]) -> list[Span]:
    """The replacements of the chosen hunks, counted from 0.

    Raises:
        ToolFailure: none of them is there.
    """
    hunks = parts(old, spans)
    found = [span for number, hunk in enumerate(hunks) if number in chosen for span in hunk]
    if not found:
        raise ToolFailure("denied", "there are no such parts of this change")
    return found


def applied(old: str, spans: Sequence[Span]) -> str:
    """`old` with replacements that are in order and apart."""
    pieces, done = [], 0
    for span in spans:
        pieces += [old[done : span.start], span.new]
        done = span.end
    return "".join([*pieces, old[done:]])
