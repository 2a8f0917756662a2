"""Promises of chapter 6: a person can redirect, queue, take back and stop; the conversation stays lawful."""

import asyncio
from pathlib import Path

import pytest
from examples.crafting_agents.checkpoint_06 import SCENARIOS
from examples.crafting_agents.core import (
    Message,
    ToolCall,
    ToolFailure,
    ToolSpec,
    run_agent,
)
from examples.crafting_agents.person import MAX_QUEUED, Control, QueueFull, Queues, TurnInterrupted
from examples.crafting_agents.scripted import RuleProvider, step
from examples.crafting_agents.steering import (
    NOT_STARTED,
    UNKNOWN,
    Conversation,
    check_lawful,
    converse,
    run_tests_until_stopped,
    stoppable_tools,
)
from examples.crafting_agents.workbench import PROJECT, TOOLS, dispatch, make_handlers
from hypothesis import given
from hypothesis import strategies as st

PAIR = Message("assistant", "Two.", (ToolCall("1", "note", {}), ToolCall("2", "note", {})))
TOOL = (ToolSpec("note", "Do nothing."),)


@pytest.fixture
def project(tmp_path):
    for name, text in PROJECT.items():
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


class Answers:
    """Gives these messages, one per request."""

    def __init__(self, *messages):
        self.messages = list(messages)
        self.requests = []

    async def complete(self, history, tools):
        self.requests.append(history)
        await asyncio.sleep(0)
        return self.messages.pop(0)


async def talk(*messages, act=None, execute=None, control=None, max_turns=10):
    """Run with a person who acts on each line of the trace; return everything there is to know."""
    control = control or Control()
    conversation = Conversation([Message("user", "Go.")])
    provider = Answers(*messages)

    async def note(call):
        await asyncio.sleep(0)
        return f"done {call.id}"

    def report(line):
        if act:
            act(control, line)

    ending = await converse(
        conversation, provider, TOOL, execute or note, control, max_turns=max_turns, report=report
    )
    return ending, conversation.rows, provider, control


def texts(rows):
    return [row.content for row in rows]


async def test_without_a_person_the_turns_are_those_of_chapter_1(project):
    first, second = [], []
    handlers = make_handlers(project)
    plain = await run_agent(
        "Go.", RuleProvider(), TOOLS, lambda call: dispatch(call, TOOLS, handlers), report=first.append
    )
    (project / "calculator.py").write_bytes(PROJECT["calculator.py"].encode())
    conversation = Conversation([Message("user", "Go.")])
    tools = stoppable_tools(project, lambda line: None)
    ending = await converse(conversation, RuleProvider(), TOOLS, tools, Control(), report=second.append)

    def timeless(line):
        return line.split("Ran 1 test")[0]

    assert ending == plain.stop_reason
    assert list(map(timeless, first)) == list(map(timeless, second))
    assert [row.role for row in conversation.rows] == [row.role for row in plain.history]


async def test_all_steering_is_delivered_in_order_before_the_next_request():
    def act(control, line):
        if line.startswith("result 1"):
            control.queues.put("steering", "first")
        if line.startswith("result 2"):
            control.queues.put("steering", "second")

    _, rows, provider, _ = await talk(PAIR, Message("assistant", "End."), act=act)

    assert texts(rows)[-3:] == ["first", "second", "End."]
    assert texts(provider.requests[1])[-2:] == ["first", "second"]


async def test_follow_ups_come_one_by_one_when_the_model_would_stop():
    control = Control()
    for text in ("one", "two"):
        control.queues.put("follow-up", text)
    ends = [Message("assistant", f"End {number}.") for number in range(3)]
    ending, rows, _, _ = await talk(*ends, control=control)

    assert ending == "model_finished"
    assert texts(rows) == ["Go.", "End 0.", "one", "End 1.", "two", "End 2."]


async def test_steering_comes_before_a_follow_up_that_was_queued_earlier():
    def act(control, line):
        if line == "turn 1: End 0.":
            control.queues.put("follow-up", "later")
            control.queues.put("steering", "now")

    ends = [Message("assistant", f"End {number}.") for number in range(3)]
    _, rows, _, _ = await talk(*ends, act=act)

    assert texts(rows) == ["Go.", "End 0.", "now", "End 1.", "later", "End 2."]


async def test_what_is_queued_survives_an_interruption_and_a_spent_budget():
    def act(control, line):
        if line.startswith("call 1"):
            control.queues.put("follow-up", "still here")
            control.interrupt()

    ending, rows, _, control = await talk(PAIR, act=act)
    assert (ending, len(control.queues)) == ("interrupted", 1)
    assert "still here" not in texts(rows)

    ending, _, _, control = await talk(PAIR, max_turns=1, act=lambda control, line: None)
    assert ending == "turn_limit"


def test_a_full_queue_refuses_and_forgets_nothing():
    queues = Queues()
    for number in range(MAX_QUEUED):
        queues.put("steering", str(number))
    with pytest.raises(QueueFull):
        queues.put("steering", "one too many")

    assert [queued.text for queued in queues.deliver(stopping=False)] == list(map(str, range(MAX_QUEUED)))


@given(st.lists(st.sampled_from(["steering", "follow-up", "take back", "boundary", "stop"]), max_size=40))
def test_every_message_is_delivered_once_or_taken_back_and_kinds_keep_their_order(actions):
    queues, said, gone, got = Queues(), [], set(), []
    for action in actions:
        if action in ("steering", "follow-up"):
            if len(queues) < MAX_QUEUED:
                said.append((queues.put(action, str(len(said))), action))
        elif action == "take back" and said:
            if queues.take_back(said[-1][0]) is not None:
                gone.add(said[-1][0])
        else:
            got += queues.deliver(stopping=action == "stop")
    while len(queues):
        got += queues.deliver(stopping=True)

    for kind in ("steering", "follow-up"):
        expected = [ticket for ticket, said_kind in said if said_kind == kind and ticket not in gone]
        assert [queued.ticket for queued in got if queued.kind == kind] == expected


LINES = ("turn 1: Two.", "call 1: note {}", "result 1: done 1", "call 2: note {}", "result 2: done 2")


@pytest.mark.parametrize("line", LINES)
async def test_stopping_at_any_line_leaves_one_result_for_each_call(line):
    def act(control, seen):
        if seen == line:
            control.interrupt()

    ending, rows, _, _ = await talk(PAIR, act=act)

    assert ending == "interrupted"
    check_lawful(rows)
    results = texts(rows)[2:]
    done = {"turn 1: Two.": 0, "call 1: note {}": 0, "result 1: done 1": 1, "call 2: note {}": 1}.get(line, 2)
    began = line.startswith("call")
    expected = ["done 1", "done 2"][:done] + [UNKNOWN] * began
    assert results == expected + [NOT_STARTED] * (2 - len(expected))


async def test_a_bug_in_the_host_leaves_a_lawful_conversation_and_is_not_swallowed():
    async def broken(call):
        raise KeyError(call.id)

    conversation = Conversation([Message("user", "Go.")])
    with pytest.raises(KeyError):
        await converse(conversation, Answers(PAIR), TOOL, broken, Control(), report=lambda line: None)

    check_lawful(conversation.rows)
    assert texts(conversation.rows)[2:] == [UNKNOWN, NOT_STARTED]


async def test_a_failed_tool_is_still_an_observation():
    async def failing(call):
        raise ToolFailure("no")

    _, rows, _, _ = await talk(PAIR, Message("assistant", "End."), execute=failing)

    assert texts(rows)[2:4] == ["error: no", "error: no"]


async def test_a_cancellation_from_outside_is_not_taken_for_the_button():
    started = asyncio.Event()

    async def forever(call):
        started.set()
        await asyncio.Event().wait()

    conversation = Conversation([Message("user", "Go.")])
    run = asyncio.ensure_future(
        converse(conversation, Answers(PAIR), TOOL, forever, Control(), report=lambda line: None)
    )
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    check_lawful(conversation.rows)


async def test_a_button_that_was_pressed_before_starts_nothing():
    control = Control()
    control.interrupt()
    began = False

    async def work():
        nonlocal began
        began = True

    with pytest.raises(TurnInterrupted):
        await control.guard(work())
    assert not began


async def test_stopping_the_tests_ends_what_they_started(project):
    (project / "test_calculator.py").write_text(
        "import pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "pathlib.Path('child').write_text(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    work = asyncio.ensure_future(run_tests_until_stopped(project, lambda line: None))
    while not (project / "child").exists() or not (project / "child").read_text():
        await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    state = Path(f"/proc/{(project / 'child').read_text()}/stat")
    for _ in range(500):
        try:
            if state.read_text().split(") ")[1][0] == "Z":
                break
        except FileNotFoundError:
            break
        await asyncio.sleep(0.01)
    else:
        pytest.fail("the child of the tests is still running")


@pytest.mark.parametrize(
    "rows",
    [
        [PAIR],
        [PAIR, Message("tool", "x", tool_call_id="2")],
        [PAIR, Message("tool", "x", tool_call_id="1"), Message("user", "hm")],
        [Message("tool", "x", tool_call_id="1")],
        [step("End.").message, Message("tool", "x", tool_call_id="1")],
    ],
)
def test_an_unlawful_conversation_is_recognised(rows):
    with pytest.raises(ValueError, match=r"row|result"):
        check_lawful(rows)


def test_every_point_of_interruption_has_a_scenario():
    points = {"before-request", "mid-text", "mid-arguments", "mid-tool", "after-tool"}

    assert {name for name, scenario in SCENARIOS.items() if scenario.ending == "interrupted"} == points
