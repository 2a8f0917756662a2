"""Tools behind the harness: bad calls are observations, bugs propagate, a second edit is prepared anew."""

import asyncio
import threading
import time
from typing import Any

import pytest
from agent_world import Answering, FakeTool, check_events, gate, harness, kind, lawful

from wisp.harness.channel import Channel
from wisp.harness.mailbox import MAX_WAITING, QueueFull, Queues
from wisp.harness.toolbox import BY_PERSON
from wisp.messages.content import Text, ToolCall
from wisp.messages.ids import FixedClock
from wisp.messages.message import AssistantMessage, Notice, ToolResult, user
from wisp.messages.tool import Effect, ToolFailure, ToolOutcome, ToolSpec, plain
from wisp.providers.scripted import ScriptStep, call, raw_call
from wisp.tools.base import Prepared, RunContext


def results(agent: Any) -> list[ToolResult]:
    return [m for m in agent.messages if isinstance(m, ToolResult)]


@pytest.mark.parametrize(
    ("made", "code", "word"),
    [
        (raw_call("nothing", "{}"), "unknown_tool", "the tools are: t"),
        (raw_call("t", '{"x":1'), "invalid_arguments", "not a valid JSON object"),
        (raw_call("t", '{"x":1,"x":2}'), "invalid_arguments", "twice"),
        (raw_call("t", '{"refuse":1}'), "not_found", "no such thing"),
        (raw_call("t", '{"fail":1}'), "not_found", "expected"),
    ],
)
async def test_expected_failures_are_observations(made: ToolCall, code: str, word: str) -> None:
    agent = harness([ScriptStep(calls=(made,)), "end"], [FakeTool("t")])
    events = [event async for event in agent.prompt(user("go"))]
    check_events(events)
    assert events[-1].stop_reason == "model_finished"
    assert (results(agent)[0].code, results(agent)[0].is_error) == (code, True)
    assert word in results(agent)[0].text


@pytest.mark.parametrize("place", ["bug", "prepare_bug"])
@pytest.mark.parametrize("parallel", [False, True])
async def test_a_bug_in_a_tool_propagates_after_every_call_has_its_result(place: str, parallel: bool) -> None:
    tool = FakeTool("t", parallel=parallel)
    calls = (call("t", x="1"), call("t", x="2", **{place: 1}), call("t", x="3"))
    agent = harness([ScriptStep(calls=calls), "end"], [tool])
    seen: list[Any] = []
    with pytest.raises(ZeroDivisionError):
        async for event in agent.prompt(user("go")):
            seen.append(event)
    assert kind(seen[-1]) == "TurnCompleted"
    assert seen[-1].outcome == "failed"
    lawful(agent.messages)
    assert len(results(agent)) == 3
    if not parallel:
        assert "3" not in tool.started
    assert not agent.running
    events = [event async for event in agent.prompt(user("again"))]
    check_events(events)
    assert events[-1].stop_reason == "model_finished"
    lawful(agent.messages)


async def test_a_failing_provider_script_propagates_and_the_harness_goes_on() -> None:
    agent = harness([ScriptStep("x", after="never said"), "end"])
    with pytest.raises(AssertionError):
        [event async for event in agent.prompt(user("go"))]
    events = [event async for event in agent.prompt(user("again"))]
    assert events[-1].stop_reason == "model_finished"


class File:
    """A file in memory and an edit tool that refuses to change what it was not prepared against."""

    spec = ToolSpec("edit", "x", {"type": "object"})
    parallel_safe = False
    replay = "never"

    def __init__(self, text: str, moves_to: str = "/w/f") -> None:
        self.text = text
        self.target = "/w/f"
        self._moves_to = moves_to

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        before, (old, new) = self.text, (arguments["old"], arguments["new"])
        if before.count(old) != 1:
            raise ToolFailure("not_unique", "it must occur once")

        def run(context: Any) -> ToolOutcome:
            if self.text != before:
                raise ToolFailure("stale_input", "it changed meanwhile")
            self.text, self.target = before.replace(old, new), self._moves_to
            return plain("edited")

        exists = Effect("write", self.target, exists=bool(self.text))
        return Prepared("edit", arguments, (exists,), run, fingerprint=before, resources=("/w/f",))


async def test_second_edit_to_the_same_file_in_one_batch_is_prepared_again() -> None:
    file, approver = File("a b c"), Answering()
    steps = [ScriptStep(calls=(call("edit", old="a", new="1"), call("edit", old="b", new="2"))), "end"]
    agent = harness(steps, [file], gated=gate("ask", approver))
    [event async for event in agent.prompt(user("go"))]
    assert file.text == "1 2 c"
    assert [r.is_error for r in results(agent)] == [False, False]
    assert len(approver.asked) == 2


async def test_a_change_by_somebody_else_while_it_was_asked_is_not_overwritten() -> None:
    file = File("a b c")

    class Drift(Answering):
        async def ask(self, request: Any) -> Any:
            file.text = "a, changed by another program"
            return await super().ask(request)

    steps = [ScriptStep(calls=(call("edit", old="a", new="1"),)), "end"]
    agent = harness(steps, [file], gated=gate("ask", Drift()))
    [event async for event in agent.prompt(user("go"))]
    assert file.text == "a, changed by another program"
    assert results(agent)[0].code == "stale_input"


async def test_a_second_edit_that_became_another_operation_is_refused() -> None:
    file = File("a b c", moves_to="/w/elsewhere")
    steps = [ScriptStep(calls=(call("edit", old="a", new="1"), call("edit", old="b", new="2"))), "end"]
    agent = harness(steps, [file])
    [event async for event in agent.prompt(user("go"))]
    assert file.text == "1 b c"
    assert [r.code for r in results(agent)] == ["", "denied"]


async def test_blocking_tools_run_off_the_event_loop_and_report_progress_in_order() -> None:
    threads: list[int] = []

    def block(arguments: dict[str, Any], context: Any) -> ToolOutcome:
        threads.append(threading.get_ident())
        for n in range(5):
            context.progress(f"line {n}")
            time.sleep(0.001)
        return plain("done")

    agent = harness([ScriptStep(calls=(call("t", x="1"),)), "end"], [FakeTool("t", blocking=block)])
    events = [event async for event in agent.prompt(user("go"))]
    check_events(events)
    assert threads != [threading.get_ident()]
    said = [e.text for e in events if kind(e) == "ToolExecutionProgress"]
    assert said == [f"line {n}" for n in range(5)]
    agent.toolbox.close()


async def test_a_stopped_blocking_tool_keeps_its_partial_outcome() -> None:
    def block(arguments: dict[str, Any], context: Any) -> ToolOutcome:
        context.stop.wait(20)
        return ToolOutcome((Text("half of it"),), True, "cancelled")

    agent = harness([ScriptStep(calls=(call("t", x="1"),)), "end"], [FakeTool("t", blocking=block)])
    async for event in agent.prompt(user("go")):
        if kind(event) == "ToolExecutionStarted":
            asyncio.get_running_loop().call_later(0.05, agent.abort, "stop")
    assert results(agent)[0].text == "half of it"
    agent.toolbox.close()


async def test_output_with_lone_surrogates_is_cleaned_before_anyone_keeps_it() -> None:
    def block(arguments: dict[str, Any], context: Any) -> ToolOutcome:
        return plain("a\ud800b")

    agent = harness([ScriptStep(calls=(call("t", x="1"),)), "end"], [FakeTool("t", blocking=block)])
    [event async for event in agent.prompt(user("go \udcff"))]
    assert agent.messages[0].text == "go \ufffd"  # type: ignore[union-attr]
    assert results(agent)[0].text == "a\ufffdb"
    agent.toolbox.close()


def asks(*ids: str) -> AssistantMessage:
    return AssistantMessage(tuple(ToolCall(name, "t") for name in ids), stop="tool_calls")


def answer(call_id: str, text: str = "x") -> ToolResult:
    return ToolResult(call_id, "t", (Text(text),))


@pytest.mark.parametrize(
    "history",
    [
        [user("a"), asks("1", "2"), answer("2")],
        [user("a"), asks("1"), user("b")],
        [user("a"), answer("9"), asks("1"), answer("1"), answer("1")],
        [user("a"), asks("1", "2"), answer("2"), answer("1")],
        [user("a"), asks("1", "1"), answer("1")],
        [asks("1"), answer("1")],
        [answer("1")],
        [AssistantMessage((Text("x"),))],
        [user("a"), asks("1"), asks("2")],
        [],
    ],
)
async def test_any_history_is_made_lawful_before_the_next_request(history: list[Any]) -> None:
    agent = harness(["end", "end"], history=history)
    events = [event async for event in agent.prompt(user("go"))]
    check_events(events)
    lawful(agent.messages)
    lawful(agent.provider.requests[0].messages)  # type: ignore[attr-defined]
    kept = [m for m in history if isinstance(m, type(user("")))]
    assert [m for m in agent.messages if m in kept] == kept
    again = [event async for event in agent.prompt(user("more"))]
    assert "RepairReported" not in [kind(e) for e in again], "a repair is told once"


async def test_a_lost_beginning_is_said() -> None:
    agent = harness(["end"], history=[AssistantMessage((Text("x"),))])
    [event async for event in agent.prompt(user("go"))]
    assert isinstance(agent.messages[0], Notice)


def test_queues_are_first_in_first_out_bounded_and_steering_goes_first() -> None:
    queues = Queues(FixedClock())
    for n in range(MAX_WAITING):
        queues.steer(f"s{n}")
        queues.follow_up(f"f{n}")
    for put in (queues.steer, queues.follow_up):
        with pytest.raises(QueueFull):
            put("too many")
    assert [m.message.text for m in queues.collect(would_stop=True)] == [f"s{n}" for n in range(MAX_WAITING)]  # type: ignore[union-attr]
    assert queues.collect(would_stop=False) == ()
    assert queues.take_back().text == f"f{MAX_WAITING - 1}"  # type: ignore[union-attr]
    assert [m.kind for m in queues.collect(would_stop=True)] == ["follow_up"] * (MAX_WAITING - 1)
    assert queues.take_back() is None


def test_one_at_a_time_delivers_one() -> None:
    queues = Queues(FixedClock(), "one_at_a_time")
    queues.steer("a")
    queues.steer("b")
    assert [m.message.text for m in queues.collect(would_stop=False)] == ["a"]  # type: ignore[union-attr]
    assert [m.text for m in queues.state().steering] == ["b"]
    queues.clear()
    assert queues.state().steering == ()


async def test_a_channel_delivers_what_was_put_before_it_was_closed() -> None:
    channel = Channel[int]()
    waiting = asyncio.ensure_future(channel.next())
    await asyncio.sleep(0)
    channel.put(1)
    channel.put(2)
    channel.close()
    channel.put(3)
    assert [await waiting, await channel.next(), await channel.next()] == [1, 2, None]


async def test_a_call_that_a_person_stops_is_told_and_the_run_goes_on() -> None:
    """One scope for one stop: the second call of the message runs, and the model is asked again."""
    begun = threading.Event()

    def work(arguments: dict[str, Any], context: RunContext) -> ToolOutcome:
        if arguments["x"] == "second":
            return plain("done")
        begun.set()
        assert context.stop.wait(30)
        return ToolOutcome((Text("half of it"),), True, "cancelled")

    tool = FakeTool("t", blocking=work)
    agent = harness([ScriptStep(calls=(call("t", x="first"), call("t", x="second"))), "end"], [tool])

    async def stop() -> list[bool]:
        await asyncio.to_thread(begun.wait, 30)
        return [agent.toolbox.stop_calls(), agent.toolbox.stop_calls()]

    stopping = asyncio.ensure_future(stop())
    events = [event async for event in agent.prompt(user("go"))]

    assert await stopping == [True, False]
    assert events[-1].stop_reason == "model_finished"
    assert [(r.code, r.text) for r in results(agent)] == [
        ("cancelled", f"[{BY_PERSON}]\nhalf of it"),
        ("", "done"),
    ]
    assert not agent.toolbox.stop_calls()
