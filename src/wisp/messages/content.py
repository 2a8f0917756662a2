"""The blocks that messages are made of: text, thinking, images, tool calls, and what we do not know.

Values only.  Blocks are frozen and compare by value, so a history can be shared without copying.
How a provider spells a block on the wire is that provider's business.
"""

from __future__ import annotations

import msgspec

from wisp.messages.codec import clean


class Text(msgspec.Struct, frozen=True, tag="text", omit_defaults=True):
    """Words, from a person, a model or a tool."""

    text: str


class Thinking(msgspec.Struct, frozen=True, tag="thinking", omit_defaults=True):
    """A model's reasoning, shown apart from its answer."""

    text: str
    signature: str = ""
    """Proof the provider wants back with the text; empty means unsigned: never sent back as thinking."""
    redacted: str = ""
    """Encrypted reasoning the provider showed us only as data; then `text` is empty."""


class Image(msgspec.Struct, frozen=True, tag="image", omit_defaults=True):
    """A picture, carried as base64 so that it survives JSON."""

    media_type: str
    """For instance `image/png`."""
    data: str
    """Standard base64, no line breaks."""


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call", omit_defaults=True):
    """A request by the model to run one named tool.  Data, until the host validates and runs it."""

    id: str
    """Unique within its message; the result that answers it carries the same id."""
    name: str
    arguments: str = "{}"
    """A JSON object as text, exactly as the provider sent it.  Always valid JSON: see `fault`."""
    fault: str = ""
    """Why the arguments the model sent could not be accepted; then `arguments` is `{}` and nothing runs."""


class Opaque(msgspec.Struct, frozen=True, tag="opaque", omit_defaults=True):
    """A part we do not interpret (a server-side tool, a future kind), kept as the JSON it came in."""

    kind: str
    json: str


UserBlock = Text | Image
ResultBlock = Text | Image
AssistantBlock = Text | Thinking | ToolCall | Opaque


def text_of(blocks: tuple[object, ...]) -> str:
    """All plain text among `blocks`, joined without separators.  Thinking is not text."""
    return "".join(block.text for block in blocks if isinstance(block, Text))


def clean_blocks(blocks: tuple[UserBlock, ...]) -> tuple[UserBlock, ...]:
    """`blocks` with every lone surrogate in their text replaced; the same blocks where there is none."""
    return tuple(Text(clean(block.text)) if isinstance(block, Text) else block for block in blocks)
