"""What a server says of one of its tools, taken with care: bounded, readable, identified by a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from wisp.mcp.headers import BadMark, Marks, marks
from wisp.mcp.names import usual
from wisp.messages.codec import ascii_json, clean
from wisp.tools.render import plain_output

MOST_TOOLS = 256
"""Of one server."""
MOST_WORDS = 4_096
"""Characters of a description."""
MOST_SCHEMA = 64 * 1024
"""Bytes of the schema of one tool's arguments."""
MOST_DEPTH = 64
"""Objects and lists of a schema inside each other: whatever walks it later must come back."""


class Definition(msgspec.Struct, frozen=True):
    """One tool as its server describes it."""

    name: str
    description: str
    schema: dict[str, Any]
    title: str = ""
    advice: dict[str, bool] = {}
    """What the server says of effects (`readOnlyHint` and so on): shown to people, believed by nobody."""
    marks: Marks = {}
    """Arguments that stand in HTTP headers too."""
    output: Any = None
    """JSON Schema of its structured results; None where it says nothing of them."""

    @property
    def digest(self) -> str:
        """Identity of name, words and schema."""
        whole = ascii_json([self.name, self.title, self.description, _sorted(self.schema)])
        return hashlib.sha256(whole).hexdigest()


def definitions(items: Iterable[Any], notes: list[str]) -> list[Definition]:
    """The usable tools among `items`, by name; `notes` gets a line for each that is not."""
    found: dict[str, Definition] = {}
    for item in items:
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not usual(name):
            notes.append(f"a tool is left out: its name {shown(name)} is not of visible ASCII letters")
        elif name in found:
            notes.append(f"a second tool {shown(name)} is left out")
        elif len(found) == MOST_TOOLS:
            notes.append(f"more than {MOST_TOOLS} tools; the rest is left out")
            break
        elif isinstance(made := _definition(name, item), str):
            notes.append(f"the tool {shown(name)} is left out: {made}")
        else:
            found[name] = made
    return [found[name] for name in sorted(found)]


def _definition(name: str, item: dict[str, Any]) -> Definition | str:
    schema = item.get("inputSchema", {"type": "object"})
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return "its arguments are no object"
    if len(ascii_json(schema)) > MOST_SCHEMA:
        return f"the schema of its arguments is longer than {MOST_SCHEMA:,} bytes"
    if _deeper(schema, MOST_DEPTH):
        return f"the schema of its arguments is deeper than {MOST_DEPTH} levels"
    try:
        marked = marks(schema)
    except BadMark as exc:
        return str(exc)
    advice = item.get("annotations")
    hints = advice if isinstance(advice, dict) else {}
    return Definition(
        name,
        words(item.get("description")),
        {"type": "object", **schema},
        words(item.get("title") or hints.get("title"), 200),
        {key: value for key, value in hints.items() if isinstance(value, bool)},
        marked,
        _output(item.get("outputSchema")),
    )


def _output(schema: Any) -> Any:
    usable = isinstance(schema, dict) and len(ascii_json(schema)) <= MOST_SCHEMA
    return schema if usable and not _deeper(schema, MOST_DEPTH) else None


def _deeper(value: Any, levels: int) -> bool:
    """Whether objects and lists of `value` stand inside each other more than `levels` deep."""
    here = [value]
    for _ in range(levels):
        boxes = [box for box in here if isinstance(box, dict | list)]
        here = [item for box in boxes for item in (box.values() if isinstance(box, dict) else box)]
    return any(isinstance(item, dict | list) for item in here)


def words(text: Any, most: int = MOST_WORDS) -> str:
    """A server's words as they can be shown: no control characters, not without end."""
    if not isinstance(text, str):
        return ""
    said = plain_output(clean(text)).strip()
    return said if len(said) <= most else said[:most] + " (cut)"


def shown(name: Any) -> str:
    """A name of any kind for a message."""
    return ascii(name[:60]) if isinstance(name, str) else "(none)"


def _sorted(value: Any) -> Any:
    """The same value with its objects in one order: an order of keys is no change."""
    if isinstance(value, dict):
        return [[key, _sorted(value[key])] for key in sorted(value)]
    return [_sorted(item) for item in value] if isinstance(value, list) else value
