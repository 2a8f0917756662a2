"""The parts of one answer while it is decoded: numbered, grown, closed.

For every dialect; `Prose` is for those whose services do not mark where a text begins and ends.  Knows no
bytes and no JSON.
"""

from __future__ import annotations

from typing import Literal

from wisp.messages.codec import clean, paired
from wisp.messages.content import AssistantBlock, Text, Thinking
from wisp.providers.events import (
    PartEnded,
    PartKind,
    PartStarted,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
)


class Parts:
    """The parts of one answer while it is decoded: numbered in order of appearance, joined once."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[PartKind, list[str]]] = {}
        self._blocks: dict[int, AssistantBlock] = {}
        self._halves: dict[int, str] = {}
        self._count = 0

    def start(self, kind: PartKind, call_id: str = "", name: str = "") -> PartStarted:
        """Open the next part."""
        index = self._count
        self._count += 1
        self._open[index] = (kind, [])
        return PartStarted(index, kind, call_id, name)

    def grow(self, index: int, text: str) -> str:
        """Take the next piece of an open part; what may be shown of it now.

        Half a character at its end waits for the next piece.  A half that stays alone becomes U+FFFD, but in
        arguments stays what it is: no call may run with it.
        """
        kind, texts = self._open[index]
        if text.isascii() and not self._halves:
            texts.append(text)
            return text
        text = paired(self._halves.pop(index, "") + text)
        if "\ud800" <= text[-1:] <= "\udbff":
            self._halves[index], text = text[-1], text[:-1]
        shown = clean(text)
        texts.append(text if kind == "tool_call" else shown)
        return shown

    def rest(self, index: int) -> str:
        """No piece of an open part comes any more; what of it has not been shown."""
        half = self._halves.pop(index, "")
        if half:
            kind, texts = self._open[index]
            texts.append(half if kind == "tool_call" else clean(half))
        return clean(half)

    def joined(self, index: int) -> str:
        """All that was said in an open part."""
        self.rest(index)
        return "".join(self._open[index][1])

    def end(self, index: int, block: AssistantBlock) -> PartEnded:
        """Close a part with its authoritative content."""
        self._open.pop(index)
        self._blocks[index] = block
        return PartEnded(index, block)

    @property
    def open(self) -> list[int]:
        """The parts that have not ended."""
        return sorted(self._open)

    def kept(self) -> list[int]:
        """The parts that said something, in order; empty texts are nothing."""
        return [
            index
            for index, block in sorted(self._blocks.items())
            if not (isinstance(block, Text) and not block.text)
        ]

    def blocks(self) -> list[AssistantBlock]:
        """What was said, in order."""
        return [self._blocks[index] for index in self.kept()]


class Prose:
    """Text and thinking whose bounds the service does not mark: another kind ends what was open."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._open: tuple[Literal["text", "thinking"], int] | None = None

    def say(self, kind: Literal["text", "thinking"], text: str, events: list[ProviderEvent]) -> None:
        """Add a piece, in a part of its own where the last one was of another kind."""
        if self._open is None or self._open[0] != kind:
            self.end(events)
            started = self._parts.start(kind)
            self._open = (kind, started.index)
            events.append(started)
        index = self._open[1]
        if text := self._parts.grow(index, text):
            events.append(_delta(kind, index, text))

    def end(self, events: list[ProviderEvent]) -> None:
        """Close what is open, if anything is."""
        if self._open is not None:
            kind, index = self._open
            if rest := self._parts.rest(index):
                events.append(_delta(kind, index, rest))
            text = self._parts.joined(index)
            events.append(self._parts.end(index, Text(text) if kind == "text" else Thinking(text)))
            self._open = None


def _delta(kind: Literal["text", "thinking"], index: int, text: str) -> ProviderEvent:
    return TextDelta(index, text) if kind == "text" else ThinkingDelta(index, text)
