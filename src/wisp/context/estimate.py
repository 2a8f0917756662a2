"""How many tokens a request takes, estimated: four bytes of UTF-8 a token, corrected by what providers said.

An estimate, marked as one wherever it is shown.  Knows no tokenizer and no wire format.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wisp.messages.content import Image, Opaque, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, Message, Notice
from wisp.messages.tool import ToolSpec

BYTES_PER_TOKEN = 4
IMAGE_TOKENS = 1_500
"""What a picture is taken for; providers bill between a few hundred and a few thousand."""
MESSAGE_OVERHEAD = 8


def tokens_of_text(text: str) -> int:
    """Tokens of `text`, rounded up."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // BYTES_PER_TOKEN)


def tokens_of(message: Message) -> int:
    """Tokens of one message with what frames it."""
    if isinstance(message, Notice):
        items = message.native.items if message.native is not None else ()
        return MESSAGE_OVERHEAD + (sum(map(tokens_of_text, items)) or tokens_of_text(message.text))
    return MESSAGE_OVERHEAD + sum(map(_block, message.content))


def _block(block: object) -> int:
    if isinstance(block, Text | Thinking):
        return tokens_of_text(block.text)
    if isinstance(block, ToolCall):
        return MESSAGE_OVERHEAD + tokens_of_text(block.name) + tokens_of_text(block.arguments)
    if isinstance(block, Image):
        return IMAGE_TOKENS
    return tokens_of_text(block.json) if isinstance(block, Opaque) else 0


def tokens_of_frame(system: Sequence[str], tools: Sequence[ToolSpec]) -> int:
    """Tokens of what stands before the conversation: instructions and tools."""
    told = sum(map(tokens_of_text, system))
    return told + sum(
        tokens_of_text(t.name) + tokens_of_text(t.description) + _schema(t.parameters) for t in tools
    )


def _schema(parameters: dict[str, object]) -> int:
    return -(-len(msgspec.json.encode(parameters)) // BYTES_PER_TOKEN)


class Meter:
    """Adds up a growing conversation; what was counted before is not looked at again."""

    def __init__(self) -> None:
        self._count = 0
        self._total = 0
        self._last: Message | None = None

    def total(self, messages: Sequence[Message]) -> int:
        """Tokens of all `messages`, corrected by the newest answer whose real usage is known."""
        grown = 0 < self._count <= len(messages) and messages[self._count - 1] is self._last
        start = self._count if grown else 0
        if not grown:
            self._total = 0
        for message in messages[start:]:
            self._total += tokens_of(message)
        self._count = len(messages)
        self._last = messages[-1] if messages else None
        return self._total


def measured(messages: Sequence[Message], frame: int, estimated: int) -> int:
    """The size of the next request: the last answer's real usage plus what came after it, or the estimate.

    A provider's figure counts the frame too.  An answer that was carried over from before a compaction
    carries no usage any more, so a stale figure cannot speak.
    """
    after = 0
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and message.usage is not None:
            prompt, output = message.usage.prompt_tokens, message.usage.output_tokens
            if prompt is not None and output is not None:
                return prompt + output + after
        after += tokens_of(message)
        if after > estimated:
            break
    return frame + estimated
