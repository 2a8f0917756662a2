"""How a run is stopped: a reason first, then the cancellation of its task, once."""

from __future__ import annotations

import asyncio


class CancelSwitch:
    """One run's switch; the loop reads `requested`, owners call `request`."""

    def __init__(self) -> None:
        self.requested = ""
        self._task: asyncio.Task[None] | None = None

    def attach(self, task: asyncio.Task[None] | None) -> None:
        """The task that drives the run, once it has begun; a task cancelled before that would never settle.

        A request made earlier is found in `requested` by the loop.
        """
        self._task = task

    def request(self, reason: str) -> bool:
        """Stop the run because of `reason`; returns whether this was the first request."""
        if self.requested:
            return False
        self.requested = reason or "cancelled"
        if self._task is not None:
            self._task.cancel()
        return True
