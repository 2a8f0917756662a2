"""Who watches what a run spends: asked before each request, told after each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

import msgspec

from wisp.loop.events import Event, RunStop
from wisp.loop.limits import Limits, Spent, exhausted
from wisp.messages.usage import Usage


class Halt(msgspec.Struct, frozen=True):
    """No further request may be made."""

    reason: RunStop
    message: str
    kind: str
    """`turns`, `cost`, `tokens`, `time` or `loop`."""


class Coming(msgspec.Struct, frozen=True):
    """What is known before a request."""

    spent: Spent
    """By this run so far."""
    limits: Limits
    """Of this run."""
    projected: float | None
    """US dollars that the request will cost at the least, as the last one cost; None before a first figure
    and where a price is unknown."""
    repeats: int
    """Turns in a row that made the same calls and got the same results."""


class Overseer(Protocol):
    """Keeps a run within its means."""

    def before(self, coming: Coming) -> AsyncIterator[Event | Halt]:
        """Asked before each request.  Yields what is to be told, and last a `Halt` where none may be made.
        May wait for a person; a cancellation passes through."""
        ...

    def forbids(self, coming: Coming) -> bool:
        """Whether `before` would end in a `Halt` without asking anybody; asks nobody and changes nothing."""
        ...

    def charge(self, usage: Usage | None, cost: float | None, *, turn: bool) -> None:
        """A request was made; a summary is no `turn`.  None is unknown."""
        ...


class OwnLimits:
    """A run's own limits and nothing else."""

    async def before(self, coming: Coming) -> AsyncIterator[Event | Halt]:
        """See `Overseer.before`."""
        halt = halted(coming)
        if halt is not None:
            yield halt

    def forbids(self, coming: Coming) -> bool:
        """See `Overseer.forbids`."""
        return halted(coming) is not None

    def charge(self, usage: Usage | None, cost: float | None, *, turn: bool) -> None:
        """Nothing: the run adds up by itself."""


def halted(coming: Coming) -> Halt | None:
    """What the run's own limits say."""
    over = exhausted(coming.limits, coming.spent, coming.projected)
    if over is None:
        return None
    return Halt("turn_limit" if over.which == "turns" else "budget", over.message, over.which)
