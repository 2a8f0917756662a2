"""Folds the events of a stream into one assistant message, whole or cut.

Deltas are collected in lists and joined once.  Knows the events, not the wire they came over.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wisp.messages.content import AssistantBlock, Opaque, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, Native
from wisp.providers.events import (
    ArgumentsDelta,
    Finished,
    PartEnded,
    PartKind,
    PartStarted,
    ProviderEvent,
    Started,
    TextDelta,
    ThinkingDelta,
    Withdrawn,
)


class Assembler:
    """The message so far.  `feed` every event of a stream; ask at any time."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[PartKind, list[str]]] = {}
        self._blocks: dict[int, AssistantBlock] = {}
        self._message: AssistantMessage | None = None

    def feed(self, event: ProviderEvent) -> None:
        """Take one event; the order is `providers.grammar`'s business."""
        kind = type(event)
        if kind is TextDelta or kind is ThinkingDelta or kind is ArgumentsDelta:
            part = self._parts.get(event.index)  # type: ignore[union-attr]
            if part is not None:
                part[1].append(event.text)  # type: ignore[union-attr]
        elif isinstance(event, PartStarted):
            self._parts[event.index] = (event.kind, [])
        elif isinstance(event, PartEnded):
            self._blocks[event.index] = event.block
        elif isinstance(event, Withdrawn | Started):
            self._parts.clear()
            self._blocks.clear()
        elif isinstance(event, Finished):
            self._message = event.message

    @property
    def message(self) -> AssistantMessage | None:
        """The whole message, once `Finished` was seen."""
        return self._message

    @property
    def shown(self) -> bool:
        """Whether any text or thinking of this attempt has reached a reader."""
        return any(texts for _, texts in self._parts.values())

    def arguments(self, index: int) -> str:
        """The argument text of a call so far; for display."""
        part = self._parts.get(index)
        return "".join(part[1]) if part is not None else ""

    def partial(self, error: str, native: Native | None = None) -> AssistantMessage | None:
        """What a cut stream had said: text, and thinking that is provably the model's; no calls.

        Thinking whose signature never came is kept only where nothing else was said, so that a reader
        sees why there is no answer; it is never sent back.  None where nothing was said at all.
        """
        blocks: list[AssistantBlock] = []
        unsigned: list[AssistantBlock] = []
        for index in sorted(self._parts):
            kind, texts = self._parts[index]
            block = self._blocks.get(index)
            if kind == "tool_call" or isinstance(block, ToolCall):
                continue
            if block is None:
                block = _open_block(kind, texts)
            if block is None:
                continue
            if isinstance(block, Thinking) and not (block.signature or block.redacted):
                unsigned.append(block)
            else:
                blocks.append(block)
        kept = tuple(blocks) if any(_says(block) for block in blocks) else (*unsigned, *blocks)
        if not kept:
            return None
        return AssistantMessage(kept, stop="error", error=error, native=native)


def _open_block(kind: PartKind, texts: list[str]) -> AssistantBlock | None:
    text = "".join(texts)
    if not text:
        return None
    if kind == "text":
        return Text(text)
    if kind == "thinking":
        return Thinking(text)
    return None


def _says(block: AssistantBlock) -> bool:
    return isinstance(block, Text | Opaque)


def partial_arguments(text: str) -> dict[str, Any]:
    """What can be read of an unfinished argument object; for display only, nothing may act on it."""
    import jiter

    if not text.strip():
        return {}
    try:
        value = jiter.from_json(text.encode("utf-8", "replace"), partial_mode="trailing-strings")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def with_unique_calls(blocks: list[AssistantBlock]) -> tuple[AssistantBlock, ...]:
    """`blocks`, where every call that shares its id with another carries a fault: none of them may run.

    The ids are told apart as well, because each call still needs a result of its own.
    """
    ids = [block.id for block in blocks if isinstance(block, ToolCall)]
    if len(set(ids)) == len(ids):
        return tuple(blocks)
    taken = set(ids)
    seen: set[str] = set()
    made: list[AssistantBlock] = []
    for block in blocks:
        if isinstance(block, ToolCall) and ids.count(block.id) > 1:
            fresh, number = block.id, 2
            while block.id in seen and fresh in taken:
                fresh, number = f"{block.id}_{number}", number + 1
            seen.add(block.id)
            taken.add(fresh)
            fault = block.fault or f"two calls of one message carry the id {block.id!r}"
            block = msgspec.structs.replace(block, id=fresh, arguments="{}", fault=fault)
        made.append(block)
    return tuple(made)
