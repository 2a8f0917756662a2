"""Exercise 6.2: settle the calls of an answer that was interrupted."""

from collections.abc import Sequence

from examples.crafting_agents.core import Message, ToolCall
from examples.crafting_agents.steering import NOT_STARTED, UNKNOWN


def settle(calls: Sequence[ToolCall], done: Sequence[Message], begun: str | None) -> list[Message]:
    """One result row per call, in order: what is done; UNKNOWN for the begun call; else NOT_STARTED."""
    raise NotImplementedError
