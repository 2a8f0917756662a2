"""What an MCP server asks of a person (elicitation): shown as that server's question, field by field.

Only of servers whose settings allow it, and only where somebody is there; nobody else ever answers.
Forms alone: an address that a server wants opened is declined.  Answers go to the server, not to the model.
Each question names the server, and each line of its words is marked as one, so that none passes for ours.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from wisp.harness.events import QuestionAnswered, QuestionAsked
from wisp.harness.ports import Questioner
from wisp.loop.events import Event
from wisp.messages.codec import clean
from wisp.messages.ids import Clock

MOST_FIELDS, MOST_TEXT, TRIES = 20, 2_000, 3
"""Questions of one form, characters of a text shown, and answers taken that do not fit."""
MOST_OPTIONS, MOST_LINE = 35, 200
"""Answers of one question to choose from, and characters of a name or an answer."""
PATIENCE = 3
"""Forms of one server that a person declines before the rest of them are declined unasked."""
DECLINED: dict[str, Any] = {"action": "decline"}
YES, NO = "answer", "decline"


class Eliciting:
    """Puts servers' forms to the person of one conversation, one form at a time.

    Args:
        questioner: waits for the person's words.
    """

    def __init__(self, questioner: Questioner, clock: Clock) -> None:
        self._questioner = questioner
        self._clock = clock
        self._turn = asyncio.Lock()
        self._declined: Counter[str] = Counter()
        self.tell: Callable[[Event], None] | None = None
        """Tells front ends of a question; while nobody listens everything is declined."""

    async def form(self, server: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one `elicitation/create`; `decline` unless a person filled it in."""
        fields = _fields(params)
        if self.tell is None or fields is None:
            return DECLINED
        async with self._turn:
            if self._declined[server] >= PATIENCE:
                return DECLINED
            found = await self._filled(server, params, fields)
            self._declined[server] += found is DECLINED
            return found

    async def _filled(
        self, server: str, params: Mapping[str, Any], fields: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Any]:
        names = ", ".join(map(_line, fields)) or "nothing but your consent"
        asks = f"The MCP server {_line(server)} asks:\n{_quoted(params.get('message'))}\nIt wants: {names}."
        if await self._ask(asks, (YES, NO)) != YES:
            return DECLINED
        required = params["requestedSchema"].get("required")
        content: dict[str, Any] = {}
        for name, schema in fields.items():
            must = isinstance(required, list) and name in required
            given = await self._field(server, name, schema, must)
            if given is _NONE:
                return DECLINED
            if given is not None:
                content[name] = given
        return {"action": "accept", "content": content}

    async def _field(self, server: str, name: str, schema: Mapping[str, Any], required: bool) -> Any:
        """A person's answer to one field: None where it was left empty, `_NONE` where nothing fits."""
        options = _options(schema)
        title = _line(schema.get("title") or name)
        about = _quoted(schema.get("description") or "")
        hint = "" if options else f" ({_kind(schema)}{'' if required else ', may be left empty'})"
        text = f"{_line(server)} asks: {title}{hint}" + (f"\n{about}" if about else "")
        for _ in range(TRIES):
            said = await self._ask(text, (*options, NO) if options else ())
            if options and said == NO:
                return _NONE
            if not said.strip() and not options:
                if not required:
                    return None
                continue
            if options:
                if said in options:
                    return options[said]
                continue
            value = _typed(said, schema)
            if value is not _NONE:
                return value
        return _NONE

    async def _ask(self, text: str, options: tuple[str, ...]) -> str:
        assert self.tell is not None
        question = QuestionAsked(self._clock.new_id(), text, options, about="mcp")
        self.tell(question)
        try:
            answer = await self._questioner.ask(question)
        except BaseException:
            self.tell(QuestionAnswered(question.question_id, "", "cancelled"))
            raise
        self.tell(QuestionAnswered(question.question_id, answer, "person"))
        return answer


_NONE = object()


def _fields(params: Mapping[str, Any]) -> dict[str, Mapping[str, Any]] | None:
    """The fields of a form; None where it is none that can be asked."""
    schema = params.get("requestedSchema")
    if params.get("mode", "form") != "form" or not isinstance(schema, dict):
        return None
    found = schema.get("properties", {})
    if not isinstance(found, dict) or len(found) > MOST_FIELDS:
        return None
    if not all(isinstance(field, dict) and len(_options(field)) <= MOST_OPTIONS for field in found.values()):
        return None
    return found


def _options(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What can be chosen, as it is shown, and the value that it stands for."""
    if schema.get("type") == "boolean":
        return {"yes": True, "no": False}
    titled = schema.get("oneOf")
    if isinstance(titled, list):
        pairs = [
            (one.get("title") or one.get("const"), one.get("const"))
            for one in titled
            if isinstance(one, dict)
        ]
    else:
        values = schema.get("enum")
        names = schema.get("enumNames")
        values = values if isinstance(values, list) else []
        names = names if isinstance(names, list) and len(names) == len(values) else values
        pairs = list(zip(names, values, strict=True))
    named = [(_line(name), value) for name, value in pairs if isinstance(value, str)]
    often = Counter(name.casefold() for name, _ in named)
    return {
        # What could be taken for another answer, or for ours, says what it stands for.
        name
        if often[name.casefold()] == 1 and name.casefold() not in (YES, NO, "")
        else f"{name} = {_line(value)!r}": value
        for name, value in named
    }


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if kind == "array":
        return "several, separated by commas"
    return {"integer": "a whole number", "number": "a number"}.get(str(kind), "text")


def _typed(said: str, schema: Mapping[str, Any]) -> Any:
    """What was typed as the schema's type, or `_NONE`."""
    kind = schema.get("type")
    try:
        if kind == "integer":
            return int(said)
        if kind == "number":
            number = float(said)
            return number if math.isfinite(number) else _NONE
    except ValueError:
        return _NONE
    if kind == "array":
        items = schema.get("items")
        allowed = items.get("enum") if isinstance(items, dict) else None
        parts = [part.strip() for part in said.split(",") if part.strip()]
        return parts if not isinstance(allowed, list) or all(part in allowed for part in parts) else _NONE
    return said


def _line(value: Any) -> str:
    """A server's words as they may stand in one of our lines."""
    return _cut(" ".join(clean(str(value if value is not None else "")).split()), MOST_LINE)


def _quoted(value: Any) -> str:
    """A server's words as lines of their own, each marked as its."""
    text = _cut(clean(str(value if value is not None else "")).strip(), MOST_TEXT)
    return "\n".join(f"> {line}" for line in text.splitlines())


def _cut(text: str, most: int) -> str:
    return (
        text if len(text) <= most else f"{text[:most]} [{len(text) - most:,} characters more are not shown]"
    )
