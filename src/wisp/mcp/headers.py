"""What of a message stands in HTTP headers too (2026-07-28), so that others can route without reading.

A tool may mark arguments with `x-mcp-header`; a mark that is not allowed makes the tool unusable.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

MARK = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")
_CODED = re.compile(r"=\?base64\?.*\?=", re.DOTALL | re.IGNORECASE)
_KINDS = ("string", "integer", "boolean")

Marks = dict[tuple[str, ...], str]
"""Where in the arguments, to the header's name."""


class BadMark(ValueError):
    """A mark is not allowed; the message says why."""


def standard(message: Mapping[str, Any]) -> dict[str, str]:
    """The headers that every request and notification has."""
    method, params = message.get("method"), message.get("params", {})
    if not isinstance(method, str):
        return {}
    found = {"mcp-method": encoded(method)}
    named = params.get("name") if method in ("tools/call", "prompts/get") else None
    if method.startswith("resources/"):
        named = params.get("uri")
    return found | ({"mcp-name": encoded(named)} if isinstance(named, str) else {})


def marks(schema: Mapping[str, Any]) -> Marks:
    """The marks in a tool's schema, by the path of the argument.

    Raises:
        BadMark: one is not allowed.
    """
    found: Marks = {}
    seen: set[str] = set()
    for path, name, place in _marked(schema, (), 0):
        if not isinstance(name, str) or _TOKEN.fullmatch(name) is None:
            raise BadMark(
                f"it marks an argument for the header {ascii(name)[:60]}, which is no header's name"
            )
        if place.get("type") not in _KINDS:
            raise BadMark(
                f"it marks {'.'.join(path)!r} for a header, which is no text, whole number or boolean"
            )
        if name.lower() in seen:
            raise BadMark(f"it marks two arguments for the header {name!r}")
        seen.add(name.lower())
        found[path] = name
    return found


def _marked(
    schema: Mapping[str, Any], path: tuple[str, ...], depth: int
) -> Iterator[tuple[tuple[str, ...], Any, Mapping[str, Any]]]:
    properties = schema.get("properties")
    for name, place in properties.items() if isinstance(properties, dict) and depth < 16 else ():
        if isinstance(place, dict):
            if MARK in place:
                yield (*path, name), place[MARK], place
            yield from _marked(place, (*path, name), depth + 1)


def mirrored(marked: Marks, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers for one call's arguments; those that are missing or null have none."""
    found = {}
    for path, name in marked.items():
        value: Any = arguments
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, bool):
            found[f"mcp-param-{name.lower()}"] = "true" if value else "false"
        elif isinstance(value, str | int):
            found[f"mcp-param-{name.lower()}"] = encoded(str(value))
    return found


def encoded(value: str) -> str:
    """A value as it can stand in a header."""
    if _PLAIN.fullmatch(value) and not _CODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode('ascii')}?="
