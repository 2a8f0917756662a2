"""How a run goes and why it ends."""

import asyncio
from typing import Any

import pytest
from agent_world import MODEL, FakeTool, check_events, gate, harness, kind, lawful

from wisp.harness.toolbox import Toolbox
from wisp.loop.limits import Limits, Spent, exhausted
from wisp.loop.runner import RunSpec, run_agent_loop
from wisp.messages.content import ToolCall
from wisp.messages.ids import FixedClock
from wisp.messages.message import AssistantMessage, user
from wisp.messages.usage import Price, Usage
from wisp.providers.base import ModelInfo
from wisp.providers.events import Failed, Finished, Retrying, Started, TextDelta, Withdrawn
from wisp.providers.scripted import ScriptedProvider, ScriptStep, call

ROUND = ScriptStep("again", calls=(call("t", x="1"),))


async def play(
    steps: Any, *, limits: Limits | None = None, tools: Any = (), model: ModelInfo = MODEL, **more: Any
) -> Any:
    provider = more.pop("provider", None) or ScriptedProvider(steps)
    spec = RunSpec(model, limits=limits or Limits())
    loop = run_agent_loop([user("go")], spec, provider, Toolbox(tools, gate()), FixedClock(), **more)
    events = [event async for event in loop]
    check_events(events)
    return events, provider


@pytest.mark.parametrize("turns", [1, 2, 4, 7])
async def test_turn_limit_is_exactly_that_many_requests(turns: int) -> None:
    events, provider = await play([ROUND] * 9, limits=Limits(max_turns=turns), tools=[FakeTool("t")])
    assert len(provider.requests) == turns
    assert (events[-1].stop_reason, events[-1].turns, events[-1].failure_kind) == (
        "turn_limit",
        turns,
        "turns",
    )
    calls = [e for e in events if kind(e) == "ToolResultAdded"]
    assert len(calls) == turns, "the calls of the last turn have results too"


async def test_a_run_that_ends_at_its_limit_by_itself_is_finished() -> None:
    events, _ = await play([ROUND, ROUND, "done"], limits=Limits(max_turns=3), tools=[FakeTool("t")])
    assert (events[-1].stop_reason, events[-1].turns) == ("model_finished", 3)


@pytest.mark.parametrize(
    ("step", "reason", "finish"),
    [
        (ScriptStep("bye"), "model_finished", "stop"),
        (ScriptStep("cut off", stop="length"), "model_finished", "length"),
        (ScriptStep("no", stop="refusal"), "refused", "refusal"),
        (ScriptStep("", stop="content_filter"), "refused", "content_filter"),
        (ScriptStep("no", stop="refusal", calls=(call("t"),)), "refused", "refusal"),
        (ScriptStep("half", fail="overload"), "provider_failure", "error"),
        (ScriptStep("", fail="auth"), "provider_failure", "error"),
    ],
)
async def test_each_ending_has_its_reason(step: ScriptStep, reason: str, finish: str) -> None:
    tool = FakeTool("t")
    events, _ = await play([step], tools=[tool])
    assert events[-1].stop_reason == reason
    assert events[-2].finish_reason == finish
    assert tool.started == []


@pytest.mark.parametrize("stop", ["length", "stop", "pause", "error"])
async def test_a_message_that_did_not_end_to_call_tools_runs_nothing_and_the_model_is_told(stop: Any) -> None:
    tool = FakeTool("t")
    step = ScriptStep("x", calls=(call("t", x="1"), call("t", x="2")), stop=stop)
    events, provider = await play([step, "ok"], tools=[tool])
    assert tool.prepared == 0
    results = [e.result for e in events if kind(e) == "ToolResultAdded"]
    assert [r.code for r in results] == ["cut_off" if stop == "length" else "incomplete"] * 2
    assert all(r.text.startswith("error (") and "not run" in r.text for r in results)
    lawful(provider.requests[1].messages)
    assert events[-1].stop_reason == "model_finished"


async def test_a_pause_asks_again_with_what_was_said() -> None:
    events, provider = await play([ScriptStep("thinking on", stop="pause"), "done"])
    assert provider.requests[1].messages[-1].text == "thinking on"
    assert events[-1].turns == 2


async def test_two_calls_with_one_id_run_neither() -> None:
    tool = FakeTool("t")
    both = (ToolCall("same", "t"), ToolCall("same", "t"))
    events, _ = await play([ScriptStep(calls=both)], tools=[tool])
    assert tool.prepared == 0
    assert events[-1].stop_reason == "provider_failure"


async def test_what_a_failed_answer_had_said_is_kept_without_its_calls() -> None:
    agent = harness([ScriptStep("half a", calls=(call("t"),), fail="wire"), "ok"], [FakeTool("t")])
    events = [event async for event in agent.prompt(user("go"))]
    check_events(events)
    said = agent.messages[-1]
    assert isinstance(said, AssistantMessage)
    assert (said.text, said.calls, said.stop) == ("half a", (), "error")
    lawful(agent.messages)


class Plays:
    """A provider that plays events as they are."""

    name, api = "plays", "scripted"

    def __init__(self, *events: Any) -> None:
        self._events = events
        self.closed = False

    async def stream(self, request: Any) -> Any:
        try:
            for event in self._events:
                await asyncio.sleep(0)
                yield event
        finally:
            self.closed = True


async def test_retries_and_withdrawals_are_told_in_order() -> None:
    answer = AssistantMessage(())
    provider = Plays(
        Retrying(2, 4, 0.0, "overload", 529),
        Started(),
        TextDelta(0, "wrong"),
        Withdrawn("cut"),
        Retrying(3, 4, 0.0, "wire"),
        Started(),
        Finished(answer),
    )
    events, _ = await play([], provider=provider)
    assert [kind(e) for e in events[2:-2]] == [
        "ProviderRetrying", "MessageStarted", "MessageDelta", "MessageWithdrawn",
        "ProviderRetrying", "MessageStarted", "MessageCompleted",
    ]  # fmt: skip
    assert provider.closed


async def test_withdrawn_text_is_not_kept_of_a_run_that_fails_later() -> None:
    provider = Plays(Started(), TextDelta(0, "wrong"), Withdrawn("cut"), Failed("wire", "gone"))
    agent = harness([], provider=provider)
    [event async for event in agent.prompt(user("go"))]
    assert len(agent.messages) == 1


async def test_a_provider_that_stops_without_a_terminal_event_is_an_error() -> None:
    events, _ = await play([], provider=Plays(Started(), TextDelta(0, "x")))
    assert (events[-1].stop_reason, events[-1].failure_kind) == ("error", "protocol")


async def test_leaving_closes_the_providers_stream() -> None:
    provider = Plays(Started(), *[TextDelta(0, "x")] * 50)
    agent = harness([], provider=provider)
    async for event in agent.prompt(user("go")):
        if kind(event) == "MessageDelta":
            break
    await agent.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert provider.closed


# -- queues ----------------------------------------------------------------------------------------------


async def test_steering_joins_at_the_next_boundary_before_follow_ups_and_in_order() -> None:
    agent = harness([ROUND, "fine", "more", "bye"], [FakeTool("t")])
    agent.follow_up("later")
    agent.steer("first")
    agent.steer("second")
    events = [event async for event in agent.prompt(user("go"))]
    check_events(events)
    injected = [(e.kind, e.message.text) for e in events if kind(e) == "QueueMessageInjected"]
    assert injected == [("steer", "first"), ("steer", "second"), ("follow_up", "later")]
    place = [kind(e) for e in events].index("QueueMessageInjected")
    assert kind(events[place - 1]) == "TurnCompleted"
    assert [m.text for m in agent.provider.requests[1].messages][-2:] == ["first", "second"]  # type: ignore[attr-defined]
    updates = [e for e in events if kind(e) == "QueueUpdated"]
    assert updates[-1].follow_up == ()


async def test_a_message_queued_while_another_is_delivered_waits_for_the_next_boundary() -> None:
    agent = harness(["a", "b", "c"])
    agent.steer("one")
    async for event in agent.prompt(user("go")):
        if kind(event) == "QueueMessageInjected" and event.message.text == "one":  # type: ignore[attr-defined]
            agent.steer("two")
    requests = agent.provider.requests  # type: ignore[attr-defined]
    assert [r.messages[-1].text for r in requests] == ["go", "one", "two"]


async def test_what_no_request_of_this_run_could_answer_stays_in_the_queue() -> None:
    agent = harness([ROUND, "never"], [FakeTool("t")])
    agent.steer("wait")
    events = [event async for event in agent.prompt(user("go"), limits=Limits(max_turns=1))]
    assert events[-1].stop_reason == "turn_limit"
    assert [m.text for m in agent.queues.state().steering] == ["wait"]


async def test_a_refused_run_takes_no_follow_up() -> None:
    agent = harness([ScriptStep("no", stop="refusal")])
    agent.follow_up("and now?")
    [event async for event in agent.prompt(user("go"))]
    assert [m.text for m in agent.queues.state().follow_up] == ["and now?"]


# -- budgets ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "usage", "price", "requests", "which"),
    [
        (Limits(max_tokens=100), Usage(30, 10), Price(), 3, "tokens"),
        (Limits(max_tokens=80), Usage(30, 10), Price(), 2, "tokens"),
        (Limits(max_tokens=81), Usage(30, 10), Price(), 3, "tokens"),
        (Limits(max_tokens=10), None, Price(), 1, "tokens"),
        (Limits(max_tokens=100), Usage(10, 10, 80, 0), Price(), 1, "tokens"),
        (
            Limits(max_cost=0.0001),
            Usage(30, 10),
            Price(1, 1),
            2,
            "cost",
        ),  # 80 millionths spent, 40 more to come
        (Limits(max_cost=1.0), Usage(30, 10), Price(), 1, "cost"),
        (Limits(max_turns=2, max_cost=1.0), Usage(30, 10), Price(1, 1), 2, "turns"),
    ],
)
async def test_budgets_are_checked_before_each_request(
    limits: Limits, usage: Usage | None, price: Price, requests: int, which: str
) -> None:
    step = ScriptStep("again", calls=(call("t", x="1"),), usage=usage)
    model = ModelInfo("m", price=price)
    events, provider = await play([step] * 9, limits=limits, tools=[FakeTool("t")], model=model)
    assert len(provider.requests) == requests
    assert events[-1].stop_reason == ("turn_limit" if which == "turns" else "budget")
    assert events[-1].failure_kind == which


def test_no_ceiling_is_never_reached() -> None:
    assert exhausted(Limits(), Spent(10**6, Usage(), None)) is None


# -- order of calls --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 8, 9, 20])
async def test_parallel_safe_calls_overlap_up_to_eight_with_results_in_call_order(
    count: int,
) -> None:
    everyone = asyncio.Event()

    async def meet(arguments: Any, context: Any) -> None:
        expected = min(8, count - int(arguments["x"]) // 8 * 8)
        if tool.running == expected:
            everyone.set()
        await everyone.wait()
        await asyncio.sleep(0)
        everyone.clear()
        await asyncio.sleep(0.001 * (count - int(arguments["x"])))

    tool = FakeTool("p", parallel=True, work=meet)
    calls = tuple(call("p", x=str(n)) for n in range(count))
    events, _ = await asyncio.wait_for(play([ScriptStep(calls=calls), "ok"], tools=[tool]), 20)
    assert tool.most_running == min(8, count)
    results = [e.result.text for e in events if kind(e) == "ToolResultAdded"]
    assert results == [f"did {n}" for n in range(count)]


@pytest.mark.parametrize("other", ["seq", "eff"])
async def test_one_call_that_is_not_parallel_safe_makes_the_whole_batch_sequential(other: str) -> None:
    most = 0
    running = 0

    async def watch(arguments: Any, context: Any) -> None:
        nonlocal most, running
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    tools = [
        FakeTool("par", parallel=True, work=watch),
        FakeTool("seq", work=watch),
        FakeTool("eff", parallel=True, effect="write", work=watch),
    ]
    order: list[str] = []
    calls = (call("par", x="1"), call(other, x="2"), call("par", x="3"))
    events, _ = await play([ScriptStep(calls=calls), "ok"], tools=tools)
    order = [e.output for e in events if kind(e) == "ToolExecutionEnded"]
    assert most == 1
    assert order == ["did 1", "did 2", "did 3"]


async def test_a_failed_call_does_not_make_its_neighbours_sequential_or_stop_them() -> None:
    tool = FakeTool("p", parallel=True, work=lambda arguments, context: asyncio.sleep(0.001))
    calls = (call("p", x="1"), call("p", refuse=1), call("nothing"), call("p", x="2"))
    events, _ = await play([ScriptStep(calls=calls), "ok"], tools=[tool])
    assert tool.most_running == 2
    assert [e.result.code for e in events if kind(e) == "ToolResultAdded"] == [
        "",
        "not_found",
        "unknown_tool",
        "",
    ]
