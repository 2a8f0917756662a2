"""The trace viewer shows what a run printed, each line under its own step, and the history growing."""

import re
import sys
from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parents[2] / "book"
sys.path.insert(0, str(BOOK))

from traces import steps_of, table  # noqa: E402
from weave import printed  # noqa: E402

SHOWN = sorted(
    {
        command
        for page in (BOOK / "chapters").glob("*.md")
        for command in re.findall(r"<!-- trace: (.+?) -->", page.read_text())
    }
)

pytestmark = pytest.mark.process


def test_every_chapter_has_a_trace():
    assert [command[:13] for command in SHOWN] == [f"checkpoint_{number:02}" for number in range(1, 11)]


@pytest.mark.parametrize("command", SHOWN)
def test_nothing_that_was_printed_is_lost(command):
    output = printed(command)[0]
    shown = "\n".join(step.text for step in steps_of(output)).split()

    assert len(output.split()) > 20
    missing = [word for word in output.split() if word not in shown]
    # What begins a step is said in the table's own words.
    assert [word for word in missing if not re.fullmatch(r"[\w-]+:?", word)] == []


@pytest.mark.parametrize("command", SHOWN)
def test_a_request_stands_before_each_answer_and_holds_the_rows_so_far(command):
    steps = list(steps_of(printed(command)[0]))
    requests = [step for step in steps if step.words == "The host sends a request"]
    answers = [step for step in steps if step.words == "The model answers"]

    assert len(requests) >= len(answers)
    for number, request in enumerate(requests, 1):
        assert request.name == str(number)
    for answer in answers:
        before = [step for step in steps[: steps.index(answer)] if step in requests]
        assert before and before[-1].rows == answer.rows - 1


def test_a_piece_of_the_next_answer_is_no_part_of_a_result():
    steps = list(steps_of(printed("checkpoint_04 --scenario retry")[0]))

    assert [step.name for step in steps if step.words == "The host records a result"] == [
        "find-1",
        "read-0",
        "test-1",
        "read-1",
        "edit-1",
        "test-2",
    ]
    for step in steps:
        assert ("text delta" in step.text) == (step.words == "The answer arrives")


def test_the_rows_that_are_counted_are_those_of_the_conversation():
    steps = list(steps_of(printed("checkpoint_06 --scenario mid-tool")[0]))
    histories = [step for step in steps if step.words == "The conversation"]

    assert len(histories) == 2
    for step in histories:
        # The conversation began with one row, the prompt.
        assert len(re.findall(r"^  \w+", step.text, re.MULTILINE)) == step.rows + 1


def test_what_a_tool_printed_cannot_become_markup():
    made = table("result 1: <script>alert(1)</script>\nstopped: <b>", "A run")

    assert "<script>" not in made
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in made
