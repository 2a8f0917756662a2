"""What a program hands to an agent, functions and types, as what the engine asks for.  Owns nothing."""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar

from wisp.harness.ports import ApprovalAnswer
from wisp.host.answers import WISH, Judge
from wisp.host.events import Event, QuestionAsked, ToolApprovalRequested
from wisp.tools.base import Tool

T = TypeVar("T")

Approve = Callable[[ToolApprovalRequested], bool | ApprovalAnswer | Awaitable[bool | ApprovalAnswer]]
"""Decides about one operation; gets the whole of it."""

Answerer = Callable[[QuestionAsked], str | Awaitable[str]]
"""Answers one question, with one of its options where it has any."""


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


class Answered:
    """A function in the place of a person who is asked for words; the harness's `Questioner`."""

    def __init__(self, function: Answerer) -> None:
        self._function = function

    async def ask(self, question: QuestionAsked) -> str:
        try:
            answer = self._function(question)
            return answer if isinstance(answer, str) else await answer
        except SystemExit as exc:
            raise _left("answer", exc) from exc


class Asked:
    """A function in the place of a person; the harness's `Approver`."""

    def __init__(self, function: Approve) -> None:
        self._function = function

    async def ask(self, request: ToolApprovalRequested) -> ApprovalAnswer:
        try:
            answer = self._function(request)
            said: object = await answer if isinstance(answer, Awaitable) else answer
        except SystemExit as exc:
            raise _left("approve", exc) from exc
        if isinstance(said, ApprovalAnswer):
            return said
        if not isinstance(said, bool):  # what is neither is no yes: a word that says no counts as true
            raise TypeError(f"approve must give True, False or an ApprovalAnswer, not {said!r}")
        return ApprovalAnswer(request.digest, said)


def _left(name: str, exc: SystemExit) -> RuntimeError:
    """`sys.exit()` as a failure like others: let through, it would end the loop that others wait for."""
    return RuntimeError(f"{name} called sys.exit({exc.code!r}); end the program where the agent was asked")


def following(
    make: Callable[[T, Callable[[], bool]], AsyncGenerator[Event, None]], given: T
) -> AsyncGenerator[Event, None]:
    """What `make` makes of `given`; it is handed a way to ask whether anybody still holds what was made."""
    held: list[weakref.ref[AsyncGenerator[Event, None]]] = []
    made = make(given, lambda: bool(held) and held[0]() is None)
    held.append(weakref.ref(made))
    return made
