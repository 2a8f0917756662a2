"""A final answer that has to be JSON of a given shape: checked when the run would end, mended once.

Owns the reading of the schema and the one repair round; the shape may also be a program's own type.  The
validator (`judging`) is imported only where a schema is given.  Follows JSON Schema in the draft that the
schema names, else 2020-12.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from wisp.host.client import OpenFailed
from wisp.host.events import AnswerChecked
from wisp.host.given import whole_file
from wisp.loop.boundary import At, Boundary, Decision, NoBoundary
from wisp.loop.events import Event
from wisp.messages.codec import ascii_json
from wisp.messages.content import Text
from wisp.messages.ids import Clock
from wisp.messages.message import AssistantMessage, UserMessage

WISH = (
    "Your final answer is read by a program: nothing but one JSON value, valid against this JSON Schema, "
    "without any text around it.\n"
)
_PROBES: tuple[Any, ...] = (None, {}, [], "", 0)
"""One value of each type: a schema that fails on these fails on every answer."""
SECONDS = 5
"""Of the processor's time, for the regular expressions of a schema on one answer."""
_PATTERNS = frozenset({"pattern", "patternProperties"})
_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n\s*```\s*", re.DOTALL)


def read_schema(path: str) -> Any:
    """The schema in a file.

    Raises:
        OpenFailed: it cannot be read, is no JSON, or no schema.
    """
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    from wisp.host.judging import BROKEN, judge_of

    try:
        schema = msgspec.json.decode(whole_file(path))
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except OSError as exc:
        raise OpenFailed(f"{path}: {exc.strerror or exc}", 2) from None
    except msgspec.DecodeError as exc:
        raise OpenFailed(f"{path} is no JSON: {exc}", 2) from None
    except SchemaError as exc:
        raise OpenFailed(f"{path} is no JSON Schema: {exc.message}", 2) from None
    except RecursionError:
        raise OpenFailed(f"{path} is nested too deeply", 2) from None
    judge = judge_of(schema)
    if broken := next((said for value in _PROBES if (said := judge(value)).startswith(BROKEN)), ""):
        raise OpenFailed(f"{path}: {broken}", 2)
    return schema


Judge = Callable[[Any], str]
"""What is wrong with a JSON value as an answer; empty for nothing."""


def schema_judge(schema: Any) -> Judge:
    """Holds values against what `read_schema` gave; nothing that it refers to is fetched.

    Regular expressions are applied by a process of its own, which has `SECONDS` of the processor's time.
    """
    from wisp.host.judging import judge_of

    return judge_of(schema) if not _has_patterns(schema) else lambda value: _apart(schema, value)


def _has_patterns(schema: Any) -> bool:
    if isinstance(schema, dict):
        return not _PATTERNS.isdisjoint(schema) or any(map(_has_patterns, schema.values()))
    return isinstance(schema, list) and any(map(_has_patterns, schema))


def _apart(schema: Any, value: Any) -> str:
    """The same verdict from a process that is ended when it takes too long."""
    import tempfile

    from wisp.host import judging
    from wisp.workspace.process import run
    from wisp.workspace.stop import StopToken

    said = bytearray()
    needed = ("jsonschema", "referencing", "attrs", "rpds")
    folders = {os.path.dirname(os.path.dirname(str(sys.modules[name].__file__))) for name in needed}
    nowhere = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with tempfile.TemporaryFile() as given:
            given.write(ascii_json([schema, value]))
            given.seek(0)
            run(
                [sys.executable, "-I", "-S", os.path.abspath(judging.__file__), *folders, str(SECONDS)],
                cwd=nowhere,
                env={"LC_ALL": "C.UTF-8"},
                timeout=float("inf"),  # the processor's time bounds it, and it waits for nobody
                stop=StopToken(),
                now=lambda: 0.0,
                output=said.extend,
                errors=len,
                guarded=False,
                stdin=given.fileno(),
            )
        verdict: str = msgspec.json.decode(said, type=str)
        return verdict
    except msgspec.MsgspecError:
        return f"holding it against the schema takes more than {SECONDS} s, or more memory than it is worth"
    finally:
        os.close(nowhere)


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
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as exc:
        return None, f"it is no JSON ({exc})"
    problem = judge(value)
    return (None, problem) if problem else (value, "")
