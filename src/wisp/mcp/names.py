"""What a server's tools are called before a model: `mcp__SERVER__TOOL`, in letters every vendor takes.

The same names for the same servers and tools, whatever came up first; two that would be called the same
differ by a digest of what they are really called.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

MOST = 64
"""Characters of a tool's name."""
MOST_KEY = 30
"""Characters of a server's part of it."""
PREFIX = "mcp__"

_REST = re.compile(r"[^A-Za-z0-9_-]")
_SERVER = re.compile(r"[^A-Za-z0-9-]+|_+")
_USUAL = re.compile(r"[\x21-\x7e]{1,512}")


def usual(name: str) -> bool:
    """Whether a tool's own name is one that can be told from others by eye: visible ASCII."""
    return _USUAL.fullmatch(name) is not None


def server_keys(names: Iterable[str]) -> dict[str, str]:
    """The part of the name for each server: without `__` and `_` at its ends, so that parts can be told."""
    return _distinct({name: _SERVER.sub("_", name).strip("_") for name in sorted(set(names))}, MOST_KEY)


def tool_names(key: str, names: Iterable[str]) -> dict[str, str]:
    """The whole name for each tool of the server with that key."""
    head = f"{PREFIX}{key}__"
    cleaned = {name: _REST.sub("_", name) for name in sorted(set(names))}
    return {name: head + part for name, part in _distinct(cleaned, MOST - len(head)).items()}


def _distinct(cleaned: dict[str, str], most: int) -> dict[str, str]:
    """A part for each name: as cleaned where that is its own and fits, else with a digest of the name.

    Parts differ in more than case.  Of names that do not, the first that needed no cleaning stays as it is.
    """
    count: dict[str, int] = {}
    owner: dict[str, str] = {}
    for name, part in cleaned.items():
        count[part.lower()] = count.get(part.lower(), 0) + 1
        if part == name:
            owner.setdefault(part.lower(), name)
    found = {}
    for name, part in cleaned.items():
        taken = count[part.lower()] > 1 and owner.get(part.lower()) != name
        if not part or len(part) > most or taken:
            digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
            part = f"{part[: most - 9].rstrip('_')}_{digest}".lstrip("_")
        found[name] = part
    return found
