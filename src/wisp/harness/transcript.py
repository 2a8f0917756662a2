"""The conversation's messages, kept lawful: an append-only list that refuses what breaks the laws."""

from __future__ import annotations

from collections.abc import Iterable

from wisp.messages.message import AssistantMessage, Message, ToolResult


class Unlawful(AssertionError):
    """Appending this would break the laws of `messages.laws`; always a bug of the caller."""


class Transcript:
    """Messages in order.  Hands out tuples; nothing outside can change what it holds."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = []
        self._open: list[str] = []
        for message in messages:
            self.append(message)

    def append(self, message: Message) -> None:
        """Add one message.

        Raises:
            Unlawful: a result without an open call, or anything else while a call is open.
        """
        if isinstance(message, ToolResult):
            if message.call_id not in self._open:
                raise Unlawful(f"result {message.call_id!r} answers no open call")
            self._open.remove(message.call_id)
        elif self._open:
            raise Unlawful(f"call {self._open[0]!r} has no result yet")
        elif isinstance(message, AssistantMessage):
            self._open = [call.id for call in message.calls]
        self._messages.append(message)

    def rebase(self, messages: Iterable[Message]) -> None:
        """Go on from a shorter history that stands for this one.

        Raises:
            Unlawful: it is no lawful history; nothing was changed.
        """
        other = Transcript(messages)
        self._messages, self._open = other._messages, other._open

    @property
    def open_calls(self) -> tuple[str, ...]:
        """Ids of calls that wait for their result."""
        return tuple(self._open)

    @property
    def messages(self) -> tuple[Message, ...]:
        """Everything so far."""
        return tuple(self._messages)

    def __len__(self) -> int:
        return len(self._messages)
