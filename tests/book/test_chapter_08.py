"""Promises of chapter 8: every request fits or the run says why not; nothing is torn apart and nothing is lost."""

import math

import pytest
from examples.crafting_agents.core import Message, ToolCall, ToolSpec
from examples.crafting_agents.journal import DurableConversation, Journal, fold, load
from examples.crafting_agents.steering import Control, check_lawful, converse
from examples.crafting_agents.window import (
    SUMMARISE,
    SUMMARY_MARK,
    CannotFit,
    FittingProvider,
    Meter,
    WindowExceeded,
    by_source,
    choose_cut,
    count_row,
    count_tools,
    touched_files,
)
from hypothesis import given, settings
from hypothesis import strategies as st

TOOLS = (ToolSpec("read", "Read.", ("path",)), ToolSpec("edit", "Edit.", ("path", "old", "new")))


def test_a_row_costs_a_quarter_of_its_characters_rounded_up_and_its_wrapping():
    call = ToolCall("1", "read", {"path": "a.py"})

    assert count_row(Message("user", "")) == 4
    assert count_row(Message("user", "12345")) == 4 + 2
    assert count_row(Message("assistant", "1234", (call,))) == 4 + math.ceil((4 + 4 + 4 + 4) / 4)
    assert count_tools(TOOLS) == (4 + math.ceil((4 + 5 + 4) / 4)) + (4 + math.ceil((4 + 5 + 10) / 4))


def test_a_meter_is_right_about_what_it_has_just_seen():
    meter = Meter()
    rows = [Message("user", "x" * 400)]
    meter.learn(rows, TOOLS, used=333)

    assert meter.measure(rows, TOOLS) == 333


@given(st.lists(st.text(max_size=40), max_size=6))
def test_the_sources_add_up_to_the_whole(contents):
    rows = [Message("user" if number % 2 else "assistant", text) for number, text in enumerate(contents)]

    assert sum(by_source(rows, TOOLS).values()) == Meter().measure(rows, TOOLS)


class Rules:
    """A model that works through turns of a given shape, behind a window counted in its own way."""

    def __init__(self, turns, window, per_token):
        self.turns = list(turns)
        self.window = window
        self.per_token = per_token
        self.used = 0
        self.requests = []
        self.number = 0

    async def complete(self, history, tools):
        check_lawful([*history, *([Message("user", "")] if history[-1].role == "tool" else [])])
        self.used = math.ceil(sum(4 + len(repr(row)) for row in history) / self.per_token)
        if self.used > self.window:
            raise WindowExceeded(f"{self.used} of {self.window}")
        if history[-1].content == SUMMARISE:
            return Message("assistant", f"So far: {len(history)} rows.")
        self.requests.append(history)
        if not self.turns:
            return Message("assistant", "End.")
        calls = []
        for _ in range(self.turns.pop(0)):
            self.number += 1
            calls.append(ToolCall(str(self.number), "read", {"path": f"{self.number}.py"}))
        return Message("assistant", f"Turn {self.number}.", tuple(calls))


async def run(path, turns, window, per_token, result, reserve=0, prompt="Remember: Dragonfly."):
    """A whole run in a window; return its ending, the journal's records and the provider."""
    path.unlink(missing_ok=True)
    journal = Journal(path)
    conversation = DurableConversation(journal)
    conversation.add(Message("user", prompt))
    rules = Rules(turns, window, per_token)
    provider = FittingProvider(rules, conversation, window, reserve=reserve, report=lambda line: None)

    async def execute(call):
        return "r" * result

    try:
        ending = await converse(
            conversation, provider, TOOLS, execute, Control(), max_turns=200, report=lambda line: None
        )
    except CannotFit as failure:
        ending = str(failure)
    finally:
        journal.close()
    return ending, conversation, rules


@settings(max_examples=60, deadline=None)
@given(
    turns=st.lists(st.integers(1, 3), max_size=12),
    window=st.integers(60, 3_000),
    per_token=st.sampled_from([2, 3, 4, 6]),
    result=st.integers(0, 600),
)
async def test_every_request_is_lawful_and_within_the_window_or_the_run_says_why(
    tmp_path_factory, turns, window, per_token, result
):
    path = tmp_path_factory.mktemp("window") / "j.jsonl"
    ending, conversation, rules = await run(path, turns, window, per_token, result)

    assert ending == "model_finished" or ending.startswith("the request does not fit: ")
    for request in rules.requests:
        check_lawful(request)
        assert request[0].content == "Remember: Dragonfly."
    loaded = load(path.read_bytes())
    assert loaded.damage == []
    assert [row for _, row in fold(loaded.records, loaded.records[-1].id)] == conversation.rows
    if ending == "model_finished":
        said = [record.body["content"] for record in loaded.records if record.kind == "message"]
        assert said.count("End.") == 1
        assert sum(text == "r" * result for text in said) >= sum(turns)


async def test_two_hundred_turns_fit_a_small_window_and_keep_what_was_touched(tmp_path):
    turns = [1] * 199
    ending, conversation, rules = await run(tmp_path / "j.jsonl", turns, 2_500, 4, 400, reserve=700)

    assert ending == "model_finished"
    assert len(rules.requests) == 200
    last = "\n".join(row.content for row in rules.requests[-1])
    assert "Dragonfly" in last
    assert SUMMARY_MARK in last
    files = touched_files(conversation.journal)
    assert files == "files read: " + ", ".join(sorted(f"{number}.py" for number in range(1, 200)))


async def test_a_prompt_that_cannot_fit_is_explained_by_what_takes_the_space(tmp_path):
    ending, _, rules = await run(tmp_path / "j.jsonl", [], 300, 4, 0, prompt="x" * 4_000)

    assert ending == f"the request does not fit: user 1004, tools {count_tools(TOOLS)}"
    assert rules.requests == []


async def test_a_wrong_estimate_is_recovered_from_once(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    conversation = DurableConversation(journal)
    conversation.add(Message("user", "Go."))
    for number in range(20):
        conversation.add(Message("assistant", f"Step {number}. " + "s" * 80))
        conversation.add(Message("user", "Next."))
    said = []
    rules = Rules([], 700, 2)
    # Twenty pairs of rows are about 570 tokens by the host's estimate, and more than 1,400 by the model's count.
    provider = FittingProvider(rules, conversation, 700, reserve=0, report=said.append)
    answer = await provider.complete((), TOOLS)
    journal.close()

    assert answer.content == "End."
    assert [line.partition(":")[0] for line in said] == ["overflow", "made room"]
    assert "compaction" in [record.kind for record in journal.records]


rows = st.lists(
    st.builds(
        lambda role, size: Message(role, "x" * size, tool_call_id="1" if role == "tool" else None),
        st.sampled_from(["user", "assistant", "tool"]),
        st.integers(0, 200),
    ),
    max_size=15,
)


@given(rows, st.integers(0, 3), st.integers(0, 400))
def test_a_cut_never_stands_before_a_result_and_keeps_as_much_as_it_may(some, front, keep):
    entries = list(enumerate(some))
    cut = choose_cut(entries, front, keep)
    allowed = [number for number in range(front, len(some)) if some[number].role != "tool"]

    def size(number):
        return sum(count_row(row) for row in some[number:])

    if not allowed:
        assert cut == len(some)
    elif any(size(number) <= keep for number in allowed):
        assert cut == min(number for number in allowed if size(number) <= keep)
    else:
        assert cut == allowed[-1]


def test_a_failed_read_is_no_touched_file(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    conversation = DurableConversation(journal)
    for one, result in (("1", "error: no file"), ("2", "text")):
        call = ToolCall(one, "edit", {"path": f"{one}.py", "old": "a", "new": "b"})
        conversation.add(Message("assistant", "", (call,)))
        conversation.add(Message("tool", result, tool_call_id=one))

    assert touched_files(journal) == "files edit: 2.py"
    journal.close()


@pytest.mark.parametrize("grown", [True, False])
async def test_a_summary_that_is_no_shorter_than_what_it_replaces_is_refused(tmp_path, grown):
    class Wordy(Rules):
        async def complete(self, history, tools):
            answer = await super().complete(history, tools)
            return Message("assistant", "w" * 4_000) if history[-1].content == SUMMARISE and grown else answer

    journal = Journal(tmp_path / "j.jsonl")
    conversation = DurableConversation(journal)
    conversation.add(Message("user", "Go."))
    for number in range(12):
        conversation.add(Message("assistant", f"Step {number}. " + "s" * 80))
        conversation.add(Message("user", "Next."))
    provider = FittingProvider(Wordy([], 10_000, 4), conversation, 300, reserve=0, report=lambda line: None)
    try:
        await provider.complete((), TOOLS)
    except CannotFit:
        assert grown
    kinds = [record.kind for record in journal.records]
    assert ("compaction" in kinds) is not grown
    journal.close()
