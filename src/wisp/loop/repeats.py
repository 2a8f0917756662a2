"""Whether a run goes in circles: the same calls with the same results, turn after turn.  Pure."""

from __future__ import annotations

from collections.abc import Sequence

from wisp.messages.content import ToolCall
from wisp.messages.message import ToolResult

REMIND = 3
"""Turns alike after which the model is told."""
REMINDER = (
    "[The last {count} turns made the same calls and got the same results. Repeating them will not change "
    "that: try something else, or say what is missing.]"
)


class Repeats:
    """Counts, over one run, how often the last turn came again without another between."""

    def __init__(self) -> None:
        self.count = 0
        """Turns alike so far, the first included; 0 when the last turn called nothing."""
        self._last: int | None = None

    def note(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
        """A turn made these calls and got these results."""
        if not calls:
            self.count, self._last = 0, None
            return
        seen = hash(
            (
                tuple((call.name, call.arguments) for call in calls),
                tuple((result.is_error, result.text) for result in results),
            )
        )
        self.count = self.count + 1 if seen == self._last else 1
        self._last = seen
