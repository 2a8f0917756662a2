"""What every format is made from and every foreign file becomes: messages with the times they were said."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from wisp.messages.codec import NotAnObject, strict_object
from wisp.messages.content import ToolCall
from wisp.messages.message import AssistantMessage, Message
from wisp.messages.usage import ZERO, Usage


class Said(msgspec.Struct, frozen=True):
    """One message."""

    message: Message
    at: str
    """RFC 3339."""
    cost_usd: float | None = None


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """A call's arguments as an object; what is none, as it was written."""
    try:
        return strict_object(call.arguments)
    except NotAnObject:
        return {"arguments": call.arguments}


class Transcript(msgspec.Struct, frozen=True):
    """One conversation, from its beginning to where it stands."""

    session_id: str
    cwd: str
    title: str
    version: str
    """Of the program that exports it."""
    said: tuple[Said, ...]

    @property
    def usage(self) -> Usage:
        """Of all requests together."""
        total = ZERO
        for one in self.said:
            if isinstance(one.message, AssistantMessage):
                total = total.plus(one.message.usage or Usage())
        return total

    @property
    def cost_usd(self) -> float | None:
        """US dollars; None once one request's cost is unknown."""
        costs = [one.cost_usd for one in self.said if isinstance(one.message, AssistantMessage)]
        return None if any(cost is None for cost in costs) else sum(cost or 0.0 for cost in costs)

    @property
    def model(self) -> str:
        """The model that answered last, where it is known."""
        for one in reversed(self.said):
            if isinstance(one.message, AssistantMessage) and one.message.native is not None:
                return one.message.native.model
        return ""


class Imported(msgspec.Struct, frozen=True):
    """What could be taken from another program's file."""

    source: str
    """The program, as a person calls it."""
    session_id: str
    cwd: str
    title: str
    said: tuple[Said, ...]
    lost: dict[str, int]
    """What could not be taken along, and how often."""


class NotThatFormat(ValueError):
    """The bytes are not what the reader is for; the message says what was missing."""


Losses = Counter[str]
