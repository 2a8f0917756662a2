"""Chapter 6: what a person holds while a run is going on: two queues of messages, and a stop button.

Owns what has been said and not yet delivered, and the piece of work that the button ends.  When a message is
due is decided by the loop in steering.py.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

MAX_QUEUED = 8
Result = TypeVar("Result")


# region: queues
class QueueFull(Exception):
    """Nothing was queued.  Refusing is better than forgetting an older message."""


@dataclass(frozen=True)
class Queued:
    """A message that has not been delivered, and can therefore still be taken back."""

    ticket: int
    kind: Literal["steering", "follow-up"]
    text: str


class Queues:
    """What the person has said while the run was busy.

    Steering changes what the run is doing: all of it is delivered before the next request.  A follow-up is
    new work: one is delivered when the model would otherwise stop.  Both keep their order.
    """

    def __init__(self) -> None:
        self._waiting: deque[Queued] = deque()
        self._tickets = 0

    def put(self, kind: Literal["steering", "follow-up"], text: str) -> int:
        """Queue a message and return the ticket that takes it back."""
        if len(self._waiting) == MAX_QUEUED:
            raise QueueFull(f"{MAX_QUEUED} messages are already waiting")
        self._tickets += 1
        self._waiting.append(Queued(self._tickets, kind, text))
        return self._tickets

    def take_back(self, ticket: int) -> str | None:
        """Return the text of a message that had not been delivered; None when it is too late."""
        found = next((queued for queued in self._waiting if queued.ticket == ticket), None)
        if found is not None:
            self._waiting.remove(found)
        return found.text if found else None

    def deliver(self, *, stopping: bool) -> list[Queued]:
        """Take what is due now.  What is put in afterwards waits for the next boundary."""
        due = [queued for queued in self._waiting if queued.kind == "steering"]
        if stopping and not due:
            due = [queued for queued in self._waiting if queued.kind == "follow-up"][:1]
        for queued in due:
            self._waiting.remove(queued)
        return due

    def __len__(self) -> int:
        return len(self._waiting)


# endregion: queues


# region: control
class TurnInterrupted(Exception):
    """The person pressed stop.  Only Control.guard raises it, and only converse catches it."""


class Control:
    """What a person holds while a run is going on: two queues and a stop button."""

    def __init__(self) -> None:
        self.queues = Queues()
        self.draft = ""
        """The text of the answer that is arriving, as far as it has come."""
        self.interrupted = False
        self._current: asyncio.Future[Any] | None = None

    def interrupt(self) -> None:
        """Stop the request or the call in progress, or the next one.  Pressing twice changes nothing."""
        self.interrupted = True
        if self._current is not None:
            self._current.cancel()

    def resume(self) -> None:
        """Allow the next run.  What is queued was not part of what was stopped, and stays queued."""
        self.interrupted = False

    def hear(self, piece: str) -> None:
        """Keep text that was shown; give this to the provider as on_text."""
        self.draft += piece

    async def guard(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do a piece of work that the stop button ends.

        The work becomes a task of its own, so that the button cancels it and not the loop, which still has
        rows to settle.  A cancellation that comes from elsewhere passes through as what it is.
        """
        if self.interrupted:
            work.close()
            raise TurnInterrupted
        self._current = task = asyncio.ensure_future(work)
        try:
            return await task
        except asyncio.CancelledError:
            ourselves = asyncio.current_task()
            if ourselves is not None and ourselves.cancelling():
                raise
            raise TurnInterrupted from None
        finally:
            self._current = None


# endregion: control
