"""Which goes first where a key was pressed and a reply streams: the key's echo.  Pure; time is an argument.

Drawing a part of a reply takes some milliseconds, and a key that is pressed meanwhile waits for them.  But no
second such part begins before the key is shown.
"""

from __future__ import annotations

MOST = 0.05
"""Seconds after which a key that changes nothing on the screen holds nothing up any more."""


class Echo:
    """The last key and whether it is shown.  Times are seconds of one clock."""

    def __init__(self) -> None:
        self._pressed = -MOST
        self._taken = -MOST
        self._shown = 0.0
        self.listens = False
        """Whether there is anything that keys go to; before that they stay with the terminal."""

    def pressed(self, now: float) -> None:
        """The terminal sent a key.  May be called by the thread that reads."""
        self._pressed = now

    def taken(self, now: float) -> None:
        """What was pressed until `now` has changed what is to be shown."""
        self._taken = now

    def shown(self) -> None:
        """The screen was drawn as it is."""
        self._shown = max(self._shown, self._taken)

    def due(self) -> bool:
        """Whether a key has changed what the screen does not show."""
        return self._taken > self._shown

    def waits(self, now: float) -> bool:
        """Whether what is no echo should let one go first."""
        return self._pressed > self._shown and now - self._pressed < MOST
