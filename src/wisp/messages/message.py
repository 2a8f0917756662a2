"""The messages of a conversation: from the user, from the model, from a tool, and the host's notices.

A history is a sequence of these.  What makes a sequence lawful is in `messages.laws`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from wisp.messages.content import AssistantBlock, ResultBlock, Text, ToolCall, UserBlock, text_of
from wisp.messages.usage import Usage

StopReason = Literal[
    "stop", "tool_calls", "length", "refusal", "content_filter", "pause", "error", "cancelled"
]
"""Why the model's message ended.  Calls of a message run only after `tool_calls`; `error` and `cancelled`
mark a message that was cut, kept for what it already said."""


class UserMessage(msgspec.Struct, frozen=True, tag="user", omit_defaults=True):
    """What a person, or a program in a person's place, said."""

    content: tuple[UserBlock, ...]
    id: str = ""

    @property
    def text(self) -> str:
        """The words, without images."""
        return text_of(self.content)


class Native(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the provider itself said, kept to be sent back unchanged to the same provider and model."""

    api: str
    """The dialect, for instance `anthropic-messages`."""
    provider: str
    model: str
    items: tuple[str, ...] = ()
    """JSON texts of its items, blocks or parts, in order, byte for byte."""
    response_id: str = ""
    request: str = ""
    """SHA-256 of the bytes that were sent for it, as hex digits; empty where nobody noted it."""


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant", omit_defaults=True):
    """One complete (or, by `stop`, cut) response of the model."""

    content: tuple[AssistantBlock, ...]
    id: str = ""
    stop: StopReason = "stop"
    usage: Usage | None = None
    native: Native | None = None
    error: str = ""
    """For a cut message: one sentence that says what happened."""

    @property
    def text(self) -> str:
        """The answer's words, without thinking."""
        return text_of(self.content)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(block for block in self.content if isinstance(block, ToolCall))


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """What one call led to.  Every call gets exactly one, with the call's id."""

    call_id: str
    name: str
    content: tuple[ResultBlock, ...]
    is_error: bool = False
    code: str = ""
    """A machine code such as `not_found` or `denied` when `is_error`."""
    id: str = ""

    @property
    def text(self) -> str:
        """The words the model reads."""
        return text_of(self.content)


class Notice(msgspec.Struct, frozen=True, tag="notice", omit_defaults=True):
    """Something the host tells the model between turns (a file changed, a process ended)."""

    text: str
    id: str = ""
    native: Native | None = None
    """What a provider's own compaction made of what this tells in short: goes to that provider and model in
    place of the text."""


Message = UserMessage | AssistantMessage | ToolResult | Notice


def user(text: str) -> UserMessage:
    """A user message of one text."""
    return UserMessage((Text(text),))
