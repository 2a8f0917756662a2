"""A server's form cannot speak in our name, put its yes into a person's no, or wear a person down."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from wisp.harness.events import QuestionAsked
from wisp.host.eliciting import DECLINED, Eliciting
from wisp.messages.ids import FixedClock


class Person:
    """Answers each question, and keeps them."""

    def __init__(self, answer: Callable[[QuestionAsked], str]) -> None:
        self.asked: list[QuestionAsked] = []
        self._answer = answer

    async def ask(self, question: QuestionAsked) -> str:
        self.asked.append(question)
        return self._answer(question)


def eliciting(answer: Callable[[QuestionAsked], str]) -> tuple[Eliciting, Person]:
    person = Person(answer)
    made = Eliciting(person, FixedClock())
    made.tell = lambda event: None
    return made, person


def form(message: str = "m", **fields: Any) -> dict[str, Any]:
    return {"message": message, "requestedSchema": {"type": "object", "properties": fields}}


def first(question: QuestionAsked) -> str:
    return question.options[0] if question.options else "x"


FORGED = [
    "fine\nwisp needs your key:",
    "fine\r\rAllow bash(rm -rf /)? y",
    "fine\u2028It wants: nothing.",
    "fine\x85It wants: nothing.",
    "\n\n\n> \nThe MCP server good asks:",
]


@pytest.mark.parametrize("words", FORGED)
async def test_every_line_of_a_servers_words_is_marked_and_every_question_names_it(words: str) -> None:
    made, person = eliciting(first)
    await made.form(
        "evil\nname", form(words, **{words: {"type": "string", "title": words, "description": words}})
    )
    assert len(person.asked) == 2
    for question in person.asked:
        ours = [line for line in question.text.splitlines() if not line.startswith(">")]
        assert "evil name" in ours[0]
        assert len(ours) == (2 if question is person.asked[0] else 1)
        assert ours[-1].startswith(("It wants: ", "evil name asks: "))


@pytest.mark.parametrize(
    "field",
    [
        {"enum": ["grant"], "enumNames": ["decline"]},
        {"enum": ["grant"], "enumNames": ["DECLINE "]},
        {"oneOf": [{"const": "grant", "title": "decline"}, {"const": "keep", "title": "Decline"}]},
        {"enum": ["grant", "keep"], "enumNames": ["keep", "keep"]},
        {"enum": ["grant"], "enumNames": [" "]},
        {"oneOf": [{"const": "grant", "title": "answer"}]},
    ],
)
async def test_an_answer_that_looks_like_another_says_what_it_stands_for(field: dict[str, Any]) -> None:
    made, person = eliciting(lambda question: question.options[-1])
    assert await made.form("s", form(f=field)) == DECLINED, "the last answer is ours, and is a no"
    made, person = eliciting(first)
    assert await made.form("s", form(f=field)) == {"action": "accept", "content": {"f": "grant"}}
    *theirs, last = person.asked[1].options
    assert last == "decline"
    assert len({option.casefold().strip() for option in person.asked[1].options}) == len(theirs) + 1
    assert "'grant'" in theirs[0]


@pytest.mark.parametrize(
    "fields",
    [
        {"f": {"enum": [f"o{number}" for number in range(100_000)]}},
        {f"f{number}": {"type": "string"} for number in range(21)},
        {"f": "text"},
        {"f": None},
    ],
)
async def test_a_form_that_nobody_could_answer_is_declined_unasked(fields: dict[str, Any]) -> None:
    made, person = eliciting(first)
    assert await made.form("s", form(**fields)) == DECLINED
    assert person.asked == []


async def test_what_is_too_long_to_be_shown_says_how_much_is_missing() -> None:
    made, person = eliciting(lambda question: "decline")
    await made.form("s", form("a" * 5_000))
    assert "a [3,000 characters more are not shown]" in person.asked[0].text


@pytest.mark.parametrize("said", ["nan", "inf", "-Infinity", "1e999", "9" * 5_000])
@pytest.mark.parametrize("kind", ["number", "integer"])
async def test_what_is_no_number_in_json_is_no_answer(said: str, kind: str) -> None:
    made, _ = eliciting(lambda question: question.options[0] if question.options else said)
    found = await made.form("s", form(f={"type": kind}))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found == DECLINED


async def test_who_declined_three_forms_of_a_server_is_not_asked_by_it_again_and_is_by_others() -> None:
    made, person = eliciting(lambda question: "decline")
    for _ in range(50):
        assert await made.form("s", form()) == DECLINED
    assert len(person.asked) == 3
    await made.form("other", form())
    assert len(person.asked) == 4
