"""Types as JSON Schemas, and JSON values as theirs: dataclasses, `TypedDict`, msgspec structs, pydantic.

pydantic's models are recognised by what they can do; it is never imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec


def schema_of_type(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type; types that are used in it stand in `$defs`.

    Raises:
        TypeError: no JSON value can be made into one; says which part of it.
    """
    beside: dict[str, Any] = {}
    """Definitions that pydantic made."""

    def described(part: type) -> dict[str, Any]:
        if not is_model(part):
            raise NotImplementedError
        template = f"#/$defs/{part.__name__}__{{model}}"
        made = cast("Any", part).model_json_schema(ref_template=template)
        for key, value in made.pop("$defs", {}).items():
            beside[f"{part.__name__}__{key}"] = value
        return cast("dict[str, Any]", made)

    try:
        whole = msgspec.json.schema(kind, schema_hook=described)
    except (TypeError, NotImplementedError) as exc:
        raise TypeError(str(exc).partition("\n")[0]) from None
    definitions = whole.pop("$defs", {}) | beside
    root = str(whole.get("$ref", "")).rpartition("/")[2]
    if root in definitions and f'"#/$defs/{root}"' not in msgspec.json.encode(definitions).decode():
        whole = definitions.pop(root)
    return whole | ({"$defs": definitions} if definitions else {})


def value_of(kind: Any, value: Any) -> Any:
    """A JSON value as a `kind`; numbers that came as text are numbers.

    Raises:
        ValueError: it is none; one line that names the place.
    """
    return msgspec.convert(value, kind, strict=False, dec_hook=validated)


def validated(kind: type, value: Any) -> Any:
    """What pydantic makes of a JSON value; msgspec's `dec_hook`.

    Raises:
        ValueError: it fits no such model; pydantic's complaints in one line.
        NotImplementedError: `kind` is no model.
    """
    if not is_model(kind):
        raise NotImplementedError(f"{kind.__qualname__} cannot be made from JSON")
    try:
        return cast("Any", kind).model_validate(value)
    except ValueError as exc:
        raise ValueError(_faults(exc)) from None


def plain_value(value: Any) -> Any:
    """A pydantic model as JSON values; msgspec's `enc_hook`.

    Raises:
        TypeError: it is none.
    """
    if is_model(type(value)):
        return value.model_dump(mode="json")
    raise TypeError(f"a {type(value).__qualname__} cannot be written as JSON")


def is_model(kind: Any) -> bool:
    """Whether it is a pydantic model, or what can do the same."""
    return isinstance(kind, type) and hasattr(kind, "model_validate") and hasattr(kind, "model_json_schema")


def _faults(exc: ValueError) -> str:
    errors = getattr(exc, "errors", None)
    if not callable(errors):
        return str(exc)
    found: list[Mapping[str, Any]] = errors()
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}".lstrip(": ") for one in found)
