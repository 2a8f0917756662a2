"""What a program hands to an agent, functions and types, as what the engine asks for.  Owns nothing."""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeVar

from wisp.host.answers import WISH, Judge
from wisp.host.events import Event
from wisp.tools.base import Tool

T = TypeVar("T")


def shape_of(kind: Any) -> tuple[str, Judge]:
    """What the model is told of a type, and what holds its answer against it."""
    import msgspec

    from wisp.tools.shapes import schema_of_type, value_of

    def judge(value: Any) -> str:
        try:
            value_of(kind, value)
        except ValueError as exc:
            return str(exc)
        return ""

    return WISH + msgspec.json.encode(schema_of_type(kind)).decode(), judge


def tool_of(given: Tool | Callable[..., Any]) -> Tool:
    """A function as a tool; what is one already needs nothing of that room."""
    if hasattr(given, "prepare"):
        return given  # type: ignore[return-value]
    from wisp.tools.functions import as_tool

    return as_tool(given)


def following(
    make: Callable[[T, Callable[[], bool]], AsyncGenerator[Event, None]], given: T
) -> AsyncGenerator[Event, None]:
    """What `make` makes of `given`; it is handed a way to ask whether anybody still holds what was made."""
    held: list[weakref.ref[AsyncGenerator[Event, None]]] = []
    made = make(given, lambda: bool(held) and held[0]() is None)
    held.append(weakref.ref(made))
    return made
