"""Named, ordered instruction blocks, each with a budget, and what was left out of them."""

from __future__ import annotations

import msgspec

MARK = "\n[truncated]"


class Block(msgspec.Struct, frozen=True):
    """One block of instructions."""

    name: str
    text: str
    source: str
    """`built-in`, a path, or `--append-system-prompt`."""
    size: int
    """Bytes of the source before any cut."""


def block(name: str, text: str, source: str, limit: int = 0) -> Block:
    """A block of `text`, cut at `limit` characters (0 for no limit) with a mark that counts."""
    size = len(text.encode())
    if limit and len(text) > limit:
        text = text[: limit - len(MARK)] + MARK
    return Block(name, text, source, size)


def render(blocks: tuple[Block, ...]) -> tuple[str, ...]:
    """The texts in order, empty ones left out."""
    return tuple(b.text for b in blocks if b.text.strip())
