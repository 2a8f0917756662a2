"""A function is a tool: the model is told what its annotations say, and gets back what it did."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import docstring_parser
import jsonschema
import msgspec
import pydantic
import pytest

from wisp.messages.content import Text
from wisp.messages.tool import Effect, ToolFailure, ToolOutcome
from wisp.tools.base import RunContext
from wisp.tools.docstring import read
from wisp.tools.functions import FunctionTool, as_tool, tool
from wisp.workspace.stop import StopToken


class Unit(enum.Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


@dataclass
class Place:
    name: str
    height: float = 0.0


class Span(msgspec.Struct):
    first: int
    last: Annotated[int, msgspec.Meta(ge=0)]


class Child(pydantic.BaseModel):
    age: int = pydantic.Field(gt=0, description="in years")


class Family(pydantic.BaseModel):
    children: list[Child]


class Keyed(TypedDict):
    key: str


def everything(
    place: Place,
    span: Span,
    family: Family,
    keyed: Keyed,
    day: dt.date,
    words: list[str],
    counts: dict[str, int],
    unit: Unit = Unit.KELVIN,
    mode: Literal["fast", "slow", 3] = "fast",
    note: str | None = None,
    many: Annotated[int, "how many"] = 2,
    tags: list[str] = ["a"],  # noqa: B006
) -> Any:
    """Take everything.

    Args:
        place: where
        words: what is
            said
    """
    assert isinstance(place, Place) and isinstance(span, Span) and isinstance(family, Family)
    assert isinstance(day, dt.date) and isinstance(unit, Unit)
    return [place, span, family, keyed, day, words, counts, unit, mode, note, many, tags]


WHOLE: dict[str, Any] = {
    "place": {"name": "x", "height": 2.5},
    "span": {"first": 1, "last": 2},
    "family": {"children": [{"age": 3}]},
    "keyed": {"key": "k"},
    "day": "2026-01-31",
    "words": ["a"],
    "counts": {"a": 1},
}


def context(progress: list[str] | None = None) -> RunContext:
    return RunContext(StopToken(), (progress if progress is not None else []).append, None, "c1")


async def run(made: FunctionTool[..., Any], **arguments: Any) -> ToolOutcome:
    """As the toolbox runs a call."""
    try:
        return await made.prepare(arguments).run(context())  # type: ignore[misc]
    except ToolFailure as failure:
        return failure.outcome()


def test_the_schema_is_one_and_says_types_defaults_and_words() -> None:
    """It is a schema by the standard's own check, and takes what the function takes."""
    schema = tool(everything).spec.parameters
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(WHOLE)
    for wrong in ({"place": {}}, {"family": {"children": [{"age": 0}]}}, {"mode": "other"}, {"more": 1}):
        assert not validator.is_valid({**WHOLE, **wrong}), wrong
    said = schema["properties"]
    assert schema["required"] == ["place", "span", "family", "keyed", "day", "words", "counts"]
    assert said["words"]["description"] == "what is said"
    assert (said["many"]["description"], said["many"]["default"], said["unit"]["default"]) == (
        "how many",
        2,
        "kelvin",
    )


async def test_the_function_gets_values_of_its_types_and_its_result_is_told_as_json() -> None:
    """One call with every type there is; what comes back is what was sent, and the defaults."""
    outcome = await run(tool(everything), **WHOLE)

    assert not outcome.is_error, outcome.text
    assert json.loads(outcome.text) == [*WHOLE.values(), "kelvin", "fast", None, 2, ["a"]]


def test_the_arguments_of_a_call_are_whole_and_prepare_to_the_same_operation() -> None:
    """What a person approves holds for what will run: also when it is prepared once more."""
    first = tool(everything).prepare(WHOLE)
    again = tool(everything).prepare(first.arguments)

    assert first.arguments == WHOLE | {
        "unit": "kelvin", "mode": "fast", "note": None, "many": 2, "tags": ["a"],
    }  # fmt: skip
    assert first.digest() == again.digest()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"day": None}, "day"),
        ({"span": {"first": 1, "last": -1}}, ">= 0, at span.last"),
        ({"family": {"children": [{"age": 0}]}}, "children.0.age: Input should be greater than 0"),
        ({"family": "none"}, "at family"),
        ({"unit": "furlong"}, "Invalid enum value 'furlong', at unit"),
        ({"surprise": 1}, "unknown argument surprise; it takes place"),
    ],
)
def test_wrong_arguments_are_refused_by_name_before_anything_runs(change: dict[str, Any], words: str) -> None:
    """Of whatever library the type is."""
    with pytest.raises(ToolFailure, match="(?s)" + words.replace(".", r"\.")) as failed:
        tool(everything).prepare({**WHOLE, **change})
    assert failed.value.code == "invalid_arguments"
    assert "\n" not in failed.value.message


def test_an_optional_argument_may_be_left_out_or_null_and_null_is_not_the_default() -> None:
    def ask(first: int | None, second: int | None = 5) -> None:
        """Ask."""

    assert tool(ask).prepare({}).arguments == {"first": None, "second": 5}
    assert tool(ask).prepare({"second": None}).arguments == {"first": None, "second": None}


def add(a: int, b: int = 2, /, *, c: int = 3) -> int:
    """Add."""
    return a * 100 + b * 10 + c


async def test_the_tool_can_still_be_called_and_methods_and_positions_work() -> None:
    """Bound methods keep their object; positional-only parameters get their place."""

    class Shop:
        def __init__(self) -> None:
            self.sold: list[str] = []

        def sell(self, item: str) -> str:
            """Sell."""
            self.sold.append(item)
            return f"sold {item}"

    shop = Shop()
    assert tool(add)(1) == 123
    assert (await run(tool(add), a=1, c=9)).text == "129"
    assert (await run(tool(shop.sell), item="x")).text == "sold x"
    assert shop.sold == ["x"]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_what_a_function_raises_is_told_to_the_model(asynchronous: bool) -> None:
    """With its kind; `ToolFailure` says its own code; even an exit does not end the program."""

    def fails(how: str) -> None:
        if how == "exit":
            raise SystemExit(3)
        if how == "known":
            raise ToolFailure("not_found", "there is no such city; ask for another")
        if how == "stop":
            raise StopIteration
        raise ValueError(how)

    async def fails_later(how: str) -> None:
        await asyncio.sleep(0)
        fails(how)

    made: Any = tool(fails_later) if asynchronous else tool(fails)
    assert (await run(made, how="bad luck")).text == "error (failed): ValueError: bad luck"
    known = await run(made, how="known")
    assert (known.code, known.is_error) == ("not_found", True)
    assert (await run(made, how="exit")).text == "error (failed): SystemExit: 3"
    assert (await run(made, how="stop")).code == "failed"
    long = (await run(made, how="x" * 1_000_000)).text
    assert len(long) < 50_100, "no more than of a result"
    assert long.endswith(" bytes]")


class _Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("it has no words")


class _Hollow:
    def __repr__(self) -> str:
        raise RuntimeError("it has no words either")


def _nested() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("make", [_nested, _endless, _Hollow, lambda: {"\udcff": 1}, lambda: 10**6000])
async def test_what_cannot_be_told_of_a_result_is_an_error_of_its_call(
    make: Callable[[], Any], asynchronous: bool
) -> None:
    """Whatever a program returns, the run it belongs to goes on."""

    def give() -> Any:
        return make()

    async def give_later() -> Any:
        return make()

    outcome = await run(tool(give_later) if asynchronous else tool(give))
    assert (outcome.code, outcome.is_error) == ("failed", True)
    assert "cannot be told" in outcome.text


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_exception_that_fails_to_speak_is_told_by_its_kind(asynchronous: bool) -> None:
    """Nobody waits for ever for what was lost with it."""

    def fails() -> None:
        raise _Mute

    async def fails_later() -> None:
        raise _Mute

    async with asyncio.timeout(30):
        outcome = await run(tool(fails_later) if asynchronous else tool(fails))
    assert outcome.text == "error (failed): _Mute"


async def test_results_are_text_json_or_as_they_are_and_never_too_long() -> None:
    returned: Any = None

    def give() -> Any:
        """Give."""
        return returned

    async def told() -> ToolOutcome:
        return await run(tool(give))

    for value, text in ((None, "done"), ("as is", "as is"), (3, "3"), ({"a": [1]}, '{"a":[1]}')):
        returned = value
        assert (await told()).text == text
    returned = ToolOutcome((Text("x"),), True, "odd")
    assert await told() == returned
    returned = "ä" * 60_000
    assert len((await told()).text.encode()) < 50_100
    assert (await told()).text.endswith("[cut: the first 50,000 of 120,000 bytes]")
    returned = object()
    assert "cannot be told: a object cannot be written as JSON" in (await told()).text


async def test_the_context_is_given_and_not_shown() -> None:
    """For progress, questions and stopping."""

    def slow(context: RunContext, steps: int) -> str:
        for step in range(steps):
            context.progress(f"step {step}\n")
        return context.call_id

    made, heard = tool(slow), list[str]()
    assert list(made.spec.parameters["properties"]) == ["steps"]
    outcome = await made.prepare({"steps": 2}).run(context(heard))  # type: ignore[misc]
    assert (outcome.text, heard) == ("c1", ["step 0\n", "step 1\n"])


async def test_a_function_that_does_not_listen_neither_delays_a_stop_nor_is_taken_for_finished() -> None:
    """The call ends within its grace; one that listens gives what it has."""
    release = threading.Event()

    def deaf() -> str:
        """Deaf."""
        release.wait(60)
        return "late"

    def listens(context: RunContext) -> str:
        """Listens."""
        context.stop.wait(60)
        return "half"

    for made, text in ((tool(deaf), "does not listen"), (tool(listens), "half")):
        task = asyncio.ensure_future(run(made))
        await asyncio.sleep(0)
        began = time.monotonic()
        task.cancel()
        assert text in (await task).text
        assert time.monotonic() - began < 30  # it would wait a minute
    release.set()


@pytest.mark.parametrize("effect", ["read", "ask"])
def test_effects_are_declared_and_unknown_ones_are_asked_about(effect: Literal["read", "ask"]) -> None:
    """By class, or for each call by a function of its arguments."""
    made = tool(effect=effect, parallel=effect == "read")(add)
    assert made.prepare({"a": 1}).effects == (Effect(effect, "add"),)
    assert (made.replay, made.parallel_safe) == (("safe", True) if effect == "read" else ("never", False))
    assert tool(add).prepare({"a": 1}).effects == (Effect("ask", "add"),)
    hosts = tool(effect=lambda given: [Effect("network", f"host-{given['a']}")])(add)
    assert hosts.prepare({"a": 1}).effects == (Effect("network", "host-1"),)


def test_the_preview_shows_the_whole_call() -> None:
    def say(text: str) -> None:
        """Say."""

    assert tool(say).prepare({"text": "x" * 500}).preview == "call the function say\ntext: " + "x" * 500


def bare(x) -> None:  # type: ignore[no-untyped-def]
    """Bare."""


def variadic(*x: int) -> None:
    """Variadic."""


def odd(x: threading.Thread) -> None:
    """Odd."""


def generates(x: int) -> Any:
    """Generates."""
    yield x


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (bare, "'x' has no annotation"),
        (variadic, "name each argument"),
        (odd, "cannot be described to a model"),
        (generates, "a generator cannot be a tool"),
        (lambda: None, "'<lambda>' is no tool's name"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_when_it_is_made_one(function: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        tool(function)


def test_only_calls_without_effects_may_run_beside_others() -> None:
    with pytest.raises(TypeError, match="effect='read'"):
        tool(parallel=True)(add)


def test_tools_and_functions_are_taken_and_nothing_else() -> None:
    made = tool(add)
    assert as_tool(made) is made
    assert as_tool(add).spec == made.spec
    with pytest.raises(TypeError, match="neither a tool nor a function"):
        as_tool(3)  # type: ignore[arg-type]


GOOGLE = """Add two numbers
and say so.

With care.

Args:
    a: the first
        of the two: mind it
    b (int, optional): the second
    *c: more

Returns:
    d: nothing
"""
NUMPY = """Add two numbers
and say so.

With care.

Parameters
----------
a : int
    the first
    of the two: mind it
b : int, optional
    the second
c
    more

Returns
-------
d : int
    nothing
"""
FIELDS = """Add two numbers
and say so.

With care.

:param a: the first
    of the two: mind it
:param int b: the second
:param c: more
:type c: int
:returns: nothing
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, FIELDS])
def test_every_form_of_docstring_is_read_as_the_library_for_it_reads_it(text: str) -> None:
    """The reference is `docstring_parser`."""
    ours, theirs = read(text), docstring_parser.parse(text)
    expected = {p.arg_name.lstrip("*"): " ".join((p.description or "").split()) for p in theirs.params}
    assert ours.arguments == expected
    about = f"{theirs.short_description or ''} {theirs.long_description or ''}"
    assert ours.about.split() == about.split()
    assert ours.about == "Add two numbers and say so.\n\nWith care."


@pytest.mark.parametrize("text", [None, "", "Args:", "x: y", ":param", "Parameters\n---", "Args:\n\n\n  :\n"])
def test_no_docstring_is_an_error(text: str | None) -> None:
    assert read(text).arguments == {}
