"""What a function takes: from annotations to a JSON Schema, and from JSON to the values it is called with.

Knows nothing of running anything.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from wisp.tools.base import RunContext
from wisp.tools.docstring import read
from wisp.tools.schema import decode
from wisp.tools.shapes import plain_value, schema_of_type, validated

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Signature:
    """The parameters of one function.

    Args:
        function: anything that can be called and has annotations.
        name: what the model calls it.

    Raises:
        TypeError: a parameter has no annotation, or one that no JSON value can be made into.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._name = name
        parameters = inspect.signature(function).parameters
        hints = _hints(function, name)
        words = read(getattr(function, "__doc__", None))
        self.about = words.about
        self._positional = tuple(n for n, p in parameters.items() if p.kind is p.POSITIONAL_ONLY)
        self.context = next((n for n, hint in hints.items() if hint is RunContext), "")
        """The parameter that is given the `RunContext`; empty for none."""
        fields = []
        for parameter in parameters.values():
            if parameter.kind in _VARIADIC:
                raise TypeError(
                    f"{name}: *{parameter.name} cannot be described to a model; name each argument"
                )
            if parameter.name not in hints:
                raise TypeError(f"{name}: the parameter {parameter.name!r} has no annotation")
            if parameter.name != self.context:
                fields.append(
                    _field(parameter, hints[parameter.name], words.arguments.get(parameter.name, ""))
                )
        self._struct = msgspec.defstruct(name.replace("-", "_"), fields, kw_only=True)
        try:
            made = schema_of_type(self._struct)
        except TypeError as exc:
            raise TypeError(f"{name}: a parameter's type cannot be described to a model: {exc}") from None
        made.pop("title", None)
        self.schema = made | {"additionalProperties": False}

    def decoded(self, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The values to call the function with: by place, and by name.

        Raises:
            ToolFailure: `invalid_arguments`, naming the argument and what was expected.
        """
        made = decode(self._struct, arguments, tool=self._name, dec_hook=validated)
        values = {field: getattr(made, field) for field in self._struct.__struct_fields__}
        return [values.pop(name) for name in self._positional if name in values], values

    def plain(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments with their defaults, as JSON values.

        Raises:
            ToolFailure: as `decoded`.
        """
        made = decode(self._struct, arguments, tool=self._name, dec_hook=validated)
        return typing.cast("dict[str, Any]", msgspec.to_builtins(made, enc_hook=plain_value))


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    source = function if inspect.isroutine(function) else vars(type(function)).get("__call__", function)
    try:
        hints = typing.get_type_hints(source, include_extras=True)
    except NameError as exc:
        raise TypeError(
            f"{name}: {exc.name!r} in its annotations is not defined where its module ends"
        ) from None
    hints.pop("return", None)
    return hints


def _field(parameter: inspect.Parameter, hint: Any, said: str) -> tuple[str, Any, Any]:
    """One parameter as a field of a struct."""
    default = parameter.default
    if default is parameter.empty and _takes_none(hint):
        default = None
    about, extra = said or _noted(hint), None
    if default is not parameter.empty:
        try:
            extra = {"default": msgspec.to_builtins(default, enc_hook=plain_value)}
        except TypeError:
            extra = None  # a default that JSON cannot say is not told
    if about or extra:
        hint = typing.Annotated[hint, msgspec.Meta(description=about or None, extra_json_schema=extra)]
    if default is parameter.empty:
        return parameter.name, hint, msgspec.NODEFAULT
    return parameter.name, hint, msgspec.field(default_factory=lambda: default)


def _noted(hint: Any) -> str:
    """The words beside a type: `Annotated[int, "how many"]`; msgspec's own `Meta` speaks for itself."""
    if typing.get_origin(hint) is not typing.Annotated:
        return ""
    notes = typing.get_args(hint)[1:]
    return next((n if isinstance(n, str) else n.description for n in notes if _says(n)), "")


def _says(note: Any) -> bool:
    return isinstance(note, str) or (
        not isinstance(note, msgspec.Meta) and isinstance(getattr(note, "description", None), str)
    )


def _takes_none(hint: Any) -> bool:
    if typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    union = typing.get_origin(hint) in (types.UnionType, typing.Union)
    return union and types.NoneType in typing.get_args(hint)
