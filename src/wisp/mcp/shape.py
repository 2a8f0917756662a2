"""Whether a server's structured result fits the schema that it published, as far as that can be said cheaply.

Looks at `type`, `enum`, `const`, `required`, `properties`, `additionalProperties: false` and `items` of JSON
Schema 2020-12, and takes the rest as fitting: patterns, references and combinations of schemas are a server's
words too, and could cost any amount of time.  Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_DEPTH = 32

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def misfit(value: Any, schema: Any, where: str = "", depth: int = MOST_DEPTH) -> str:
    """What of `value` does not fit `schema`, in a few words; empty where nothing is found."""
    if schema is False:
        return f"{where or 'it'} must not be there"
    if not isinstance(schema, Mapping) or depth == 0:
        return ""
    here = where or "it"
    wanted = schema.get("type")
    kinds = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    if kinds and not any(_is(value, kind) for kind in kinds):
        return f"{here} is no {' or '.join(map(str, kinds))}"
    if "const" in schema and value != schema["const"]:
        return f"{here} is not the one value it may be"
    if isinstance(schema.get("enum"), list) and value not in schema["enum"]:
        return f"{here} is none of the values it may be"
    if isinstance(value, dict):
        return _of_object(value, schema, where, depth)
    if isinstance(value, list) and "prefixItems" not in schema:
        for place, item in enumerate(value):
            if found := misfit(item, schema.get("items", True), f"{where}[{place}]", depth - 1):
                return found
    return ""


def _of_object(value: Mapping[str, Any], schema: Mapping[str, Any], where: str, depth: int) -> str:
    required, known = schema.get("required"), schema.get("properties")
    for name in required if isinstance(required, list) else ():
        if name not in value:
            return f"{where or 'it'} lacks {str(name)[:60]!r}"
    known = known if isinstance(known, Mapping) else {}
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    for name, item in value.items():
        if name in known:
            if found := misfit(item, known[name], f"{where}.{name[:60]}".lstrip("."), depth - 1):
                return found
        elif closed:
            return f"{where or 'it'} has {name[:60]!r}, which is not in the schema"
    return ""


def _is(value: Any, kind: Any) -> bool:
    types = _TYPES.get(kind) if isinstance(kind, str) else None
    if types is None:
        return True
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, types) and (kind == "boolean" or not isinstance(value, bool))
