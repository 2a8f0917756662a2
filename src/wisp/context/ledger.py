"""What takes the space of a request: tokens by source, estimated, corrected by what a provider said.  Pure.

Every figure of a part is an estimate and is marked as one where it is shown; the total is the provider's own
as far as the last answer reached.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wisp.context.blocks import Block
from wisp.context.estimate import measured, tokens_of, tokens_of_frame, tokens_of_text
from wisp.messages.message import AssistantMessage, Message, Notice, ToolResult, UserMessage
from wisp.messages.tool import ToolSpec


class Part(msgspec.Struct, frozen=True):
    """One source."""

    kind: str
    """`system`, `instructions`, `skills`, `tools`, `user`, `assistant`, `tool_results`, `summary` or
    `notices`."""
    name: str
    """A block's or file's name, or what a message is; for a person."""
    tokens: int
    """Estimated."""
    message_id: str = ""


class Ledger(msgspec.Struct, frozen=True):
    """All sources of the next request."""

    parts: tuple[Part, ...]
    total: int
    measured: bool
    """Whether `total` rests on a provider's figure; otherwise it is the sum of the estimates."""
    window: int | None
    """Tokens of prompt and answer together; None where the model's window is unknown."""
    reserve: int = 0
    """Tokens kept free for the answer."""

    def by_kind(self) -> dict[str, int]:
        """Tokens of each kind, largest first."""
        sums: dict[str, int] = {}
        for part in self.parts:
            sums[part.kind] = sums.get(part.kind, 0) + part.tokens
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def sentence(self) -> str:
        """What takes the space, for an error."""
        kinds = ", ".join(f"{_WORDS[kind]} {tokens:,}" for kind, tokens in self.by_kind().items() if tokens)
        largest = max((part for part in self.parts if part.message_id), key=lambda p: p.tokens, default=None)
        one = f"; the largest single message is {largest.name} with {largest.tokens:,}" if largest else ""
        return f"estimated tokens by source: {kinds}{one}"


_WORDS = {
    "system": "system prompt",
    "instructions": "instruction files",
    "skills": "skills",
    "tools": "tool descriptions",
    "user": "your messages",
    "assistant": "answers and calls",
    "tool_results": "tool results",
    "summary": "summary",
    "notices": "notices",
}


def ledger(
    blocks: Sequence[Block],
    tools: Sequence[ToolSpec],
    messages: Sequence[Message],
    window: int | None = None,
    reserve: int = 0,
) -> Ledger:
    """Where the tokens of a request with these go.

    Estimates are scaled so that they add up to what the provider counted, where it did.
    """
    parts = [_block(block) for block in blocks if block.text.strip()]
    parts += [Part("tools", tool.name, tokens_of_frame((), (tool,))) for tool in tools]
    parts += [_message(message) for message in messages]
    estimated = sum(part.tokens for part in parts)
    frame = sum(part.tokens for part in parts if not part.message_id)
    own = sum(map(tokens_of, messages))
    total = measured(messages, frame, own)
    known = any(isinstance(m, AssistantMessage) and m.usage is not None for m in messages)
    told = known and total != frame + own
    if told and estimated:
        parts = [msgspec.structs.replace(p, tokens=round(p.tokens * total / estimated)) for p in parts]
    return Ledger(tuple(parts), total if told else estimated, told, window, reserve)


def _block(block: Block) -> Part:
    tokens = tokens_of_text(block.text)
    if block.name.startswith("skill"):
        return Part("skills", block.name, tokens)
    if block.source == "built-in":
        return Part("system", block.name, tokens)
    return Part("instructions", block.source or block.name, tokens)


def _message(message: Message) -> Part:
    tokens = tokens_of(message)
    if isinstance(message, UserMessage):
        return Part("user", f"a message of yours ({_start(message.text)})", tokens, message.id or "-")
    if isinstance(message, AssistantMessage):
        what = ", ".join(call.name for call in message.calls)
        said = f"an answer that calls {what}" if what else "an answer"
        return Part("assistant", said, tokens, message.id or "-")
    if isinstance(message, ToolResult):
        return Part("tool_results", f"a result of {message.name}", tokens, message.id or "-")
    assert isinstance(message, Notice)
    if message.id == "summary":
        return Part("summary", "the summary of what went before", tokens, message.id)
    return Part("notices", "a notice", tokens, message.id or "-")


def _start(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:37] + "..."
