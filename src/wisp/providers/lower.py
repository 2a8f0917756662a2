"""Tools as each dialect takes them: schemas without the keywords it refuses, names in its alphabet.

Pure.  What cannot be said in a dialect leaves that one tool out, with a note that names it; the request
goes on.  References are written out; a schema that holds itself is written once, and within it stands only
its type.  Lowering may loosen a schema, never tighten it for what the tool must have: arguments are checked
by the tool itself, against its own schema.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wisp.messages.tool import ToolSpec
from wisp.providers.convert import safe_name

MOST_NODES = 4_000
"""Schemas that grow beyond this when references are written out are left out."""
DEEPEST = 64

_META = frozenset(
    ("$schema", "$id", "id", "$anchor", "$comment", "$defs", "definitions", "$vocabulary", "$dynamicAnchor")
)
_PLAIN_PROPERTY = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_MERGED = ("anyOf", "oneOf", "allOf")

_TYPES = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))
_SHAPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("title", "description", "format", "pattern", "contentEncoding", "contentMediaType"), (str,)
    ),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), (int, float)),
    **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength", "multipleOf"), (int, float)),
    **dict.fromkeys(("minProperties", "maxProperties"), (int,)),
    **dict.fromkeys(("enum", "required", "examples"), (list,)),
    **dict.fromkeys(("patternProperties", "dependentSchemas"), (dict,)),
    "uniqueItems": (bool,),
}
"""What a keyword's value has to be; where it is something else, the keyword is dropped."""


class Rules(msgspec.Struct, frozen=True):
    """What one dialect takes."""

    known: frozenset[str] | None = None
    """The only keywords it takes; None for all that JSON Schema has, but the meta keywords."""
    type_lists: bool = True
    """Whether `type` may be a list."""


_GEMINI = frozenset(
    (
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "anyOf",
        "properties",
        "additionalProperties",
        "required",
    )
)

RULES: dict[str, Rules] = {
    "openai-chat": Rules(type_lists=False),  # many servers behind one name: what all of them take
    "openai-responses": Rules(),
    "anthropic-messages": Rules(),
    "gemini": Rules(_GEMINI, type_lists=False),
}


class Offered(msgspec.Struct, frozen=True):
    """A set of tools in one dialect."""

    tools: tuple[ToolSpec, ...] = ()
    names: dict[str, str] = {}
    """From the name on the wire to the tool's own, where they differ."""
    notes: tuple[str, ...] = ()
    """Which tools were left out, and why."""


class Unsayable(ValueError):
    """A schema cannot be said in a dialect; the message says why."""


class Offering:
    """The tools of one conversation; lowered once for each set."""

    def __init__(self, api: str) -> None:
        self._rules = RULES[api]
        self._given: tuple[ToolSpec, ...] | None = None
        self._offered = Offered()

    def of(self, tools: tuple[ToolSpec, ...]) -> Offered:
        """`tools` as the dialect takes them; never raises."""
        if tools is not self._given:
            self._given, self._offered = tools, offer(self._rules, tools)
        return self._offered


def offer(rules: Rules, tools: tuple[ToolSpec, ...]) -> Offered:
    """`tools` as a dialect with these rules takes them; never raises."""
    found: dict[str, ToolSpec] = {}
    names: dict[str, str] = {}
    notes: list[str] = []
    for tool in tools:
        name = safe_name(tool.name)
        if name in found:
            notes.append(f"the tool {tool.name!r} is not offered: another tool has that name")
            continue
        try:
            found[name] = _spelled(tool, name, lowered(tool.parameters, rules))
        except Unsayable as exc:
            notes.append(f"the tool {tool.name!r} is not offered to this model: {exc}")
            continue
        if name != tool.name:
            names[name] = tool.name
    return Offered(tuple(found.values()), names, tuple(notes))


def _spelled(tool: ToolSpec, name: str, parameters: dict[str, Any]) -> ToolSpec:
    try:
        msgspec.json.encode(parameters)
    except (TypeError, ValueError, RecursionError) as exc:
        raise Unsayable(f"its schema is not JSON ({exc})") from None
    if name == tool.name and parameters == tool.parameters:
        return tool
    return msgspec.structs.replace(tool, name=name, parameters=parameters)


def lowered(schema: Any, rules: Rules) -> dict[str, Any]:
    """An object schema with everything inline and nothing in it that the dialect refuses.

    Raises:
        Unsayable: it cannot be had.
    """
    if not isinstance(schema, dict):
        raise Unsayable("its schema is not an object")
    work = _Lowering(schema, rules)
    root = work.root(schema)
    if root.get("type", "object") != "object":
        raise Unsayable(f"its schema describes {root['type']!r}, not an object")
    return {"type": "object", **root, "properties": root.get("properties", {})}


class _Lowering:
    """The work on one schema."""

    def __init__(self, document: dict[str, Any], rules: Rules) -> None:
        self._document = document
        self._rules = rules
        self._nodes = 0
        self._following: list[str] = []

    def root(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The root: no choices there, since most services refuse them; their branches are laid together."""
        made = self.schema(schema, 0, merge=True)
        kinds = made.get("type")
        if isinstance(kinds, list) and "object" in kinds:
            made["type"] = "object"
        return made

    def schema(self, given: Any, depth: int, *, merge: bool = False) -> dict[str, Any]:
        """One schema, written anew."""
        self._nodes += 1
        if self._nodes > MOST_NODES or depth > DEEPEST:
            raise Unsayable("its schema is too large when written out")
        if given is True:
            return {}
        if not isinstance(given, dict):
            raise Unsayable(f"its schema holds {given!r} where a schema belongs")
        if "$ref" in given:
            return self._reference(given, depth, merge)
        for name in ("$dynamicRef", "$recursiveRef"):
            if name in given:
                raise Unsayable(f"its schema uses {name}")
        made: dict[str, Any] = {}
        for name, value in given.items():
            if name in _META or (name == "allOf" and self._flat(merge)) or (merge and name in _MERGED):
                continue
            self._keyword(made, name, value, depth)
        for name in _MERGED:
            if name in given and (merge or (name == "allOf" and self._flat(merge))):
                self._lay_together(made, name, given[name], depth, merge)
        return self._tidy(made)

    def _flat(self, merge: bool) -> bool:
        """Whether `allOf` has to be laid together."""
        return merge or (self._rules.known is not None and "allOf" not in self._rules.known)

    def _reference(self, given: dict[str, Any], depth: int, merge: bool) -> dict[str, Any]:
        pointer = given["$ref"]
        target = self._target(pointer)
        if pointer in self._following:
            return self._cut(target, given)
        beside = {name: value for name, value in given.items() if name != "$ref"}
        self._following.append(pointer)
        try:
            made = self.schema(target, depth + 1, merge=merge)
        finally:
            self._following.pop()
        return {**made, **self.schema(beside, depth + 1)} if beside else made

    def _cut(self, target: Any, given: dict[str, Any]) -> dict[str, Any]:
        """A schema inside itself: no more than its type is said there, the tool checks the rest."""
        made: dict[str, Any] = {}
        if isinstance(target, dict):
            if _is_type(target.get("type")):
                made["type"] = target["type"]
            elif "properties" in target:
                made["type"] = "object"
            described = given.get("description", target.get("description"))
            if isinstance(described, str):
                made["description"] = described
        return self._tidy(made)

    def _target(self, pointer: Any) -> Any:
        if not isinstance(pointer, str) or not (pointer == "#" or pointer.startswith("#/")):
            raise Unsayable(f"its schema refers to another document ({pointer})")
        place: Any = self._document
        for step in pointer.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(place, list) and key.isdigit() and int(key) < len(place):
                place = place[int(key)]
            elif isinstance(place, dict) and key in place:
                place = place[key]
            else:
                raise Unsayable(f"its schema refers to {pointer}, which is not there")
        return place

    def _keyword(self, made: dict[str, Any], name: str, value: Any, depth: int) -> None:
        known = self._rules.known
        if name == "type" and not _is_type(value):
            raise Unsayable(f"its schema has the type {value!r}"[:120])
        if name == "properties" and not isinstance(value, dict):
            raise Unsayable("its schema holds properties that are no object")
        shape = _SHAPES.get(name)
        if shape is not None and (
            not isinstance(value, shape) or (isinstance(value, bool) and bool not in shape)
        ):
            return
        if name in ("properties", "patternProperties", "dependentSchemas") and isinstance(value, dict):
            if known is None or name in known:
                made[name] = self._named(value, depth) if name == "properties" else self._each(value, depth)
        elif known is not None and name == "const":
            made.setdefault("enum", [value])
        elif known is not None and name == "oneOf":
            made["anyOf"] = self._list(name, value, depth)
        elif known is not None and name not in known:
            return
        elif name in ("anyOf", "oneOf", "allOf", "prefixItems"):
            made[name] = self._list(name, value, depth)
        elif name == "additionalProperties" or name in ("unevaluatedProperties", "additionalItems"):
            made[name] = value if isinstance(value, bool) else self.schema(value, depth + 1)
        elif name in ("items", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems"):
            if isinstance(value, list):
                made["prefixItems"] = self._list(name, value, depth)
            elif value is not False:
                made[name] = self.schema(value, depth + 1)
        elif name in _SHAPES or name in ("type", "const", "default"):
            made[name] = value  # whatever else there is means nothing to a service

    def _list(self, name: str, value: Any, depth: int) -> list[Any]:
        if not isinstance(value, list):
            raise Unsayable(f"its schema holds {name} that is no list")
        return [self.schema(item, depth + 1) for item in value if item is not False]

    def _each(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        return {name: self.schema(item, depth + 1) for name, item in value.items() if item is not False}

    def _named(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        """Properties; one whose name no service takes is None until `_tidy` has looked whether it must be."""
        found: dict[str, Any] = {}
        for name, item in value.items():
            if item is False:
                continue
            plain = 0 < len(name) <= 64 and all(char in _PLAIN_PROPERTY for char in name)
            found[name] = self.schema(item, depth + 1) if plain else None
        return found

    def _lay_together(self, made: dict[str, Any], name: str, value: Any, depth: int, merge: bool) -> None:
        """Branches as one object: the properties of all; demanded is what every branch demands."""
        if not isinstance(value, list):
            raise Unsayable(f"its schema holds {name} that is no list")
        branches = [self.schema(item, depth + 1, merge=merge) for item in value if item is not False]
        demanded = [list(branch.get("required", ())) for branch in branches]
        properties: dict[str, Any] = dict(made.get("properties", {}))
        for branch in branches:
            for key, item in branch.get("properties", {}).items():
                properties.setdefault(key, item)
            for key, item in branch.items():
                if key not in ("properties", "required", "additionalProperties"):
                    made.setdefault(key, item)
        if properties:
            made["properties"] = properties
            made.pop("additionalProperties", None)
        if name == "allOf":
            must = [key for keys in demanded for key in keys]
        else:
            must = [key for key in (demanded[0] if demanded else []) if all(key in keys for keys in demanded)]
        if must:
            made["required"] = list(dict.fromkeys([*made.get("required", ()), *must]))

    def _tidy(self, made: dict[str, Any]) -> dict[str, Any]:
        """What several services insist on: the required exists, arrays say of what, lists are not empty."""
        required = made.get("required")
        properties = made.get("properties")
        if isinstance(properties, dict):
            demanded = required if isinstance(required, list) else []
            refused = [name for name, item in properties.items() if item is None]
            for name in refused:
                if name in demanded:
                    raise Unsayable(f"no service takes the name of its argument {name[:80]!r}")
                del properties[name]
        if isinstance(required, list):
            required = list(dict.fromkeys(name for name in required if isinstance(name, str)))
            if isinstance(properties, dict):
                required = [name for name in required if name in properties]
            made["required"] = required
        if not made.get("required", True):
            del made["required"]
        for name in ("enum", "anyOf", "oneOf", "allOf", "prefixItems"):
            if name in made and not made[name]:
                del made[name]
        kinds = made.get("type")
        if isinstance(kinds, list) and not self._rules.type_lists:
            self._one_type(made, [kind for kind in kinds if kind != "null"] or ["null"])
        if made.get("type") == "array" and "items" not in made:
            made["items"] = {}
        if self._rules.known is not None and isinstance(made.get("enum"), list):
            made["enum"] = [item for item in made["enum"] if isinstance(item, str | int | float)]
            if not made["enum"]:
                del made["enum"]
        return made

    @staticmethod
    def _one_type(made: dict[str, Any], kinds: list[Any]) -> None:
        """Null is not offered: what may be null may be left out, or has another value."""
        if len(kinds) == 1:
            made["type"] = kinds[0]
        else:
            del made["type"]
            made.setdefault("anyOf", [{"type": kind} for kind in kinds])


def _is_type(value: Any) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return bool(kinds) and all(isinstance(kind, str) and kind in _TYPES for kind in kinds)
