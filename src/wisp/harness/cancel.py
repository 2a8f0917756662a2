"""How a run is stopped: a reason first, then the cancellation of its task, once."""

from __future__ import annotations

import asyncio


class CancelSwitch:
    """One run's switch; the loop reads `requested`, owners call `request`."""

    def __init__(self) -> None:
        self.requested = ""
        self._task: asyncio.Task[None] | None = None

    def attach(self, task: asyncio.Task[None]) -> None:
        """The task that drives the run; cancelled at once if that was asked for already."""
        self._task = task
        if self.requested:
            task.cancel()

    def request(self, reason: str) -> bool:
        """Stop the run because of `reason`; returns whether this was the first request."""
        if self.requested:
            return False
        self.requested = reason or "cancelled"
        if self._task is not None:
            self._task.cancel()
        return True
