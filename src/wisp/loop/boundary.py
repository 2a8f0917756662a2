"""What may be decided between two requests, and what comes before what.  Pure but for the port.

    stop  >  messages (a replacement)  >  rebase  >  extra messages

A stop wins over everything: nothing else of the same decision happens.  A replacement puts other messages in
the place of all, without what providers keep for themselves; a rebase puts others in the place of the
older part and keeps what follows as it is.  Extra messages come after either.  All of it concerns what the
following requests of this run hold; what is kept of the conversation is never rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from wisp.messages.laws import violations
from wisp.messages.message import AssistantMessage, Message, UserMessage


class Rebase(msgspec.Struct, frozen=True):
    """Other messages instead of everything up to one message."""

    until: str
    """Id of the last message they stand for; a base that is no longer there is refused."""
    messages: tuple[Message, ...]


class Decision(msgspec.Struct, frozen=True):
    """What is to happen at a boundary; the default is nothing."""

    stop: str = ""
    """End the run, and why."""
    refused: bool = False
    """With `stop`: somebody forbids what comes, rather than cancelling it."""
    messages: tuple[Message, ...] | None = None
    rebase: Rebase | None = None
    extra: tuple[UserMessage, ...] = ()


class At(msgspec.Struct, frozen=True):
    """Where the run stands when a decision is asked for."""

    turn: int
    would_stop: bool
    """The model finished: without further messages the run ends here."""
    messages: tuple[Message, ...]
    """What the next request would hold; a copy."""


class Boundary(Protocol):
    """Decides between two requests, after a turn that neither failed nor was cancelled."""

    async def decide(self, at: At) -> Decision:
        """What is to happen.  Cancelled with the run; an exception ends the run as a bug does."""
        ...


class NoBoundary:
    """Never decides anything."""

    async def decide(self, at: At) -> Decision:
        """Nothing."""
        return Decision()


class Stale(ValueError):
    """A replacement or rebase cannot be taken; the message says why, the history is as it was."""


def reshaped(history: Sequence[Message], decision: Decision) -> list[Message] | None:
    """The history after a replacement or a rebase; None when neither was decided.

    Raises:
        Stale: the base of a rebase is gone, or the result would be no lawful history.
    """
    if decision.messages is not None:
        made = [_portable(message) for message in decision.messages]
    elif decision.rebase is not None:
        until = decision.rebase.until
        place = next((n for n, message in enumerate(history) if message.id == until), None)
        if place is None or not until:
            raise Stale(f"the message {until!r} is not in the history any more")
        made = [*map(_portable, decision.rebase.messages), *history[place + 1 :]]
    else:
        return None
    wrong = violations(made) or ([] if made else ["it is empty"])
    if wrong:
        raise Stale(f"the new history is not lawful: {wrong[0]}")
    return made


def _portable(message: Message) -> Message:
    """Without what a provider keeps for itself, and without figures that counted another history."""
    if isinstance(message, AssistantMessage):
        return msgspec.structs.replace(message, native=None, usage=None)
    return message
