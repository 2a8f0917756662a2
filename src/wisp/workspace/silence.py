"""Ending a program that has said nothing for too long: a stop token that looks at the clock when asked."""

from __future__ import annotations

from collections.abc import Callable

from wisp.workspace.stop import StopToken


class SilenceLimit(StopToken):
    """Stops when `outer` does, or when nothing was heard for `limit` seconds by `now`.

    Works for whoever polls `stopped`, as running a program does several times a second.
    """

    def __init__(self, outer: StopToken, limit: float, now: Callable[[], float]) -> None:
        super().__init__()
        self._limit, self._now, self._last = limit, now, now()
        self.exceeded = False
        self.withdraw = outer.on_stop(lambda: self.stop(outer.reason))

    def endure(self) -> None:
        """From here on it may be silent as long as it likes."""
        self._limit = float("inf")

    def heard(self) -> None:
        """The program said something."""
        self._last = self._now()

    @property
    def stopped(self) -> bool:
        """Whether the work should end now."""
        if not super().stopped and self._now() - self._last >= self._limit:
            self.exceeded = True
            self.stop("it was silent for too long")
        return super().stopped
