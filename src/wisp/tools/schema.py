"""Arguments of a tool: from a struct to the JSON Schema a provider accepts, and from JSON to the struct.

Common misspellings are understood and never shown.  Knows nothing of what the arguments are for.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from wisp.messages.tool import ToolFailure

Arguments = TypeVar("Arguments", bound=msgspec.Struct)

ALIASES: Mapping[str, str] = {
    "file_path": "path",
    "filePath": "path",
    "filepath": "path",
    "file": "path",
    "filename": "path",
    "directory": "path",
    "dir": "path",
    "oldText": "old_text",
    "old_string": "old_text",
    "oldString": "old_text",
    "old_str": "old_text",
    "newText": "new_text",
    "new_string": "new_text",
    "newString": "new_text",
    "new_str": "new_text",
    "replaceAll": "replace_all",
    "cmd": "command",
    "script": "command",
    "text": "content",
    "contents": "content",
    "ignoreCase": "ignore_case",
    "case_insensitive": "ignore_case",
    "maxResults": "max_results",
    "head_limit": "max_results",
    "query": "pattern",
    "regex": "pattern",
    "include": "glob",
    "subagent_type": "agent",
    "agent_type": "agent",
}
"""Names models use instead, each for one of ours; a tool understands those whose target it has."""

_TYPES: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The object schema of a struct: everything inline, nothing extra allowed."""
    hints = typing.get_type_hints(kind, include_extras=True)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field in msgspec.structs.fields(kind):
        properties[field.name] = _schema(hints[field.name])
        if field.required:
            required.append(field.name)
    found: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        found["required"] = required
    return found | {"additionalProperties": False}


def decode(
    kind: type[Arguments],
    arguments: Mapping[str, Any],
    *,
    tool: str,
    dec_hook: Callable[[type, Any], Any] | None = None,
) -> Arguments:
    """`arguments` as a struct; `dec_hook` makes the values of types that msgspec does not know.

    Raises:
        ToolFailure: `invalid_arguments`, naming the argument and what was expected.
    """
    known = _normal(kind, arguments, tool, "")
    try:
        return msgspec.convert(known, kind, strict=False, dec_hook=dec_hook)
    except msgspec.ValidationError as exc:
        raise ToolFailure("invalid_arguments", f"{tool}: {_plainly(str(exc))}") from None


def _schema(hint: Any) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if typing.get_origin(hint) is typing.Annotated:
        hint, *notes = typing.get_args(hint)
        for note in notes:
            if isinstance(note, msgspec.Meta) and note.description:
                extra["description"] = note.description
    if typing.get_origin(hint) is typing.Literal:
        return {"type": "string", "enum": list(typing.get_args(hint))} | extra
    members = [member for member in typing.get_args(hint) if member is not types.NoneType]
    if typing.get_origin(hint) in (types.UnionType, typing.Union) and len(members) == 1:
        return _schema(members[0]) | extra
    if typing.get_origin(hint) is list:
        return {"type": "array", "items": _schema(members[0])} | extra
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return schema_of(hint) | extra
    return {"type": _TYPES[hint]} | extra


def _normal(kind: type[msgspec.Struct], given: Mapping[str, Any], tool: str, where: str) -> dict[str, Any]:
    """Names mapped to ours; refuses what is unknown, and two different values for one argument."""
    names, hints = _known(kind)
    found: dict[str, Any] = {}
    unknown: list[str] = []
    for name, value in given.items():
        ours = name if name in names else ALIASES.get(name, name)
        if ours not in names:
            unknown.append(name)
        elif ours in found and found[ours] != value:
            raise ToolFailure(
                "invalid_arguments", f"{tool}: {where}{ours} is given twice with different values"
            )
        elif value is not None or types.NoneType in typing.get_args(hints[ours]):
            found[ours] = value
    if unknown:
        raise ToolFailure(
            "invalid_arguments",
            f"{tool}: unknown {'arguments' if len(unknown) > 1 else 'argument'} "
            f"{', '.join(where + ascii(name)[1:-1] for name in unknown)}; it takes {', '.join(names)}",
        )
    for name, value in found.items():
        members = typing.get_args(hints[name])
        listed = typing.get_origin(hints[name]) is list
        if listed and isinstance(members[0], type) and issubclass(members[0], msgspec.Struct):
            found[name] = _items(members[0], value, tool, name)
    return found


@cache
def _known(kind: type[msgspec.Struct]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The names of its fields in order, and their types."""
    return kind.__struct_fields__, typing.get_type_hints(kind)


def _items(kind: type[msgspec.Struct], value: Any, tool: str, name: str) -> Any:
    """A list of structs; also where it came as JSON text, or as its only member."""
    if isinstance(value, str):
        import json

        try:
            value = json.loads(value)
        except ValueError:
            return value
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return value
    return [
        _normal(kind, item, tool, f"{name}[{place}].") if isinstance(item, dict) else item
        for place, item in enumerate(value)
    ]


def _plainly(message: str) -> str:
    """msgspec's words without its punctuation: `Expected int, got str, at offset`."""
    words, _, place = message.partition(" - at `")
    words = words.replace("`", "")
    if words.startswith("Object missing required field "):
        words = f"the argument {words.removeprefix('Object missing required field ')} is missing"
    place = place.rstrip("`").removeprefix("$").removeprefix(".")
    return f"{words}, at {place}" if place else words
