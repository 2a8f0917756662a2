"""A final answer that has to be JSON of a given shape: checked when the run would end, mended once.

Owns the reading of the schema and the one repair round; the shape may also be a program's own type.  The
validator is `jsonschema`, imported only where a schema is given.  Follows JSON Schema in the draft that the
schema names, else 2020-12.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from wisp.host.client import OpenFailed
from wisp.host.events import AnswerChecked
from wisp.host.given import whole_file
from wisp.loop.boundary import At, Boundary, Decision, NoBoundary
from wisp.loop.events import Event
from wisp.messages.content import Text
from wisp.messages.ids import Clock
from wisp.messages.message import AssistantMessage, UserMessage

WISH = (
    "Your final answer is read by a program: nothing but one JSON value, valid against this JSON Schema, "
    "without any text around it.\n"
)
_BROKEN = "the schema cannot be applied: "
_PROBES: tuple[Any, ...] = (None, {}, [], "", 0)
"""One value of each type: a schema that fails on these fails on every answer."""
_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n\s*```\s*", re.DOTALL)


def read_schema(path: str) -> Any:
    """The schema in a file.

    Raises:
        OpenFailed: it cannot be read, is no JSON, or no schema.
    """
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    try:
        schema = msgspec.json.decode(whole_file(path))
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except OSError as exc:
        raise OpenFailed(f"{path}: {exc.strerror or exc}", 2) from None
    except msgspec.DecodeError as exc:
        raise OpenFailed(f"{path} is no JSON: {exc}", 2) from None
    except SchemaError as exc:
        raise OpenFailed(f"{path} is no JSON Schema: {exc.message}", 2) from None
    judge = schema_judge(schema)
    if broken := next((said for value in _PROBES if (said := judge(value)).startswith(_BROKEN)), ""):
        raise OpenFailed(f"{path}: {broken}", 2)
    return schema


Judge = Callable[[Any], str]
"""What is wrong with a JSON value as an answer; empty for nothing."""


def schema_judge(schema: Any) -> Judge:
    """Holds values against what `read_schema` gave; nothing that it refers to is fetched."""
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    nothing: Registry[Any] = Registry()
    validator = validator_for(schema, default=Draft202012Validator)(schema, registry=nothing)

    def judge(value: Any) -> str:
        try:
            error = next(iter(validator.iter_errors(value)), None)
        except Unresolvable as exc:
            return f"{_BROKEN}{exc.ref!r} is not in it"
        except RecursionError:
            return f"{_BROKEN}a $ref in it leads back to itself"
        return f"{error.message[:300]} (at {error.json_path})" if error is not None else ""

    return judge


class AnswerCheck:
    """The boundary of a run whose answer has a shape.

    Args:
        judge: None to let every answer pass; may be another one for the next run.
        clock: for the id of the message that asks for a better answer.
        inner: a boundary of the program that started the run; its decisions come first.
    """

    def __init__(self, judge: Judge | None, clock: Clock, inner: Boundary | None) -> None:
        self.judge = judge
        self._clock = clock
        self._inner = inner or NoBoundary()
        self._asked = False
        self.tell: Callable[[Event], None] = lambda event: None
        """Where the verdict goes, just before the run ends."""

    async def decide(self, at: At) -> Decision:
        """Ask once for an answer that fits; after that, tell whether it does."""
        decision = await self._inner.decide(at)
        if at.turn <= 1:
            self._asked = False  # an earlier run may have ended in the middle of its repair
        if self.judge is None or not at.would_stop or decision != Decision():
            return decision
        last = at.messages[-1] if at.messages else None
        value, problem = _judged(self.judge, last.text if isinstance(last, AssistantMessage) else "")
        if problem and not self._asked:
            self._asked = True
            text = f"{WISH}This answer is not: {problem}. Give it again, corrected."
            return Decision(extra=(UserMessage((Text(text),), id=self._clock.new_id()),))
        self._asked = False
        self.tell(AnswerChecked(value, problem))
        return Decision()


def _judged(judge: Judge, text: str) -> tuple[Any, str]:
    """The value of an answer and what is wrong with it; a fence around the whole of it is no fault."""
    fenced = _FENCED.fullmatch(text)
    try:
        value = msgspec.json.decode((fenced[1] if fenced else text).encode())
    except (msgspec.DecodeError, UnicodeEncodeError) as exc:
        return None, f"it is no JSON ({exc})"
    problem = judge(value)
    return (None, problem) if problem else (value, "")
