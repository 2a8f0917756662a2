"""A part of the extension in a file of its own."""

from __future__ import annotations

from collections import Counter as _Counter


class Counter:
    """Counts what it is told of."""

    def __init__(self) -> None:
        self._seen: _Counter[str] = _Counter()

    def count(self, what: str) -> None:
        """Once more."""
        self._seen[what] += 1

    def told(self) -> str:
        """What was counted, in a line."""
        return ", ".join(f"{what} {n}" for what, n in sorted(self._seen.items())) or "nothing yet"
