"""A run can be stopped at every event, in every way, and the conversation goes on lawfully afterwards.

Six workflows: a stream, sequential tools, parallel tools, steering, a follow-up, a pending approval.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Any

import pytest
from agent_world import Answering, FakeTool, check_events, gate, harness, kind, lawful

from wisp.harness.runner import AgentHarness
from wisp.messages.laws import violations
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage, user
from wisp.providers.scripted import ScriptedProvider, ScriptStep, call


async def nap(arguments: dict[str, Any], context: Any) -> None:
    for _ in range(3):
        await asyncio.sleep(0)


class Flow:
    """One workflow, made anew for every place it is cut at."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tools = [
            FakeTool("seq", effect="write", work=nap),
            FakeTool("par", parallel=True, replay="safe", work=nap),
        ]
        two = {
            "sequential": (call("seq", x="a"), call("seq", x="b")),
            "parallel": tuple(call("par", x=str(n)) for n in range(3)),
            "approval": (call("seq", x="a"), call("par", x="b")),
        }.get(name, ())
        steps: list[Any] = [ScriptStep("one two three four", thinking="hm", calls=two, pause=0.0001)]
        self.approver = Answering()
        mode = "ask" if name == "approval" else "full"
        provider = ScriptedProvider([*steps, *["more words"] * 8], delta=6)
        self.agent: AgentHarness = harness([], self.tools, provider=provider, gated=gate(mode, self.approver))
        self.provider = provider

    def begin(self) -> None:
        if self.name == "steering":
            self.agent.steer("steer one")
            self.agent.steer("steer two")
        if self.name == "follow_up":
            self.agent.follow_up("later one")
            self.agent.follow_up("later two")

    @property
    def started(self) -> int:
        return sum(len(tool.started) for tool in self.tools)


FLOWS = ["stream", "sequential", "parallel", "steering", "follow_up", "approval"]


async def whole(name: str) -> list[Any]:
    flow = Flow(name)
    flow.begin()
    events = [event async for event in flow.agent.prompt(user("go"))]
    check_events(events)
    assert events[-1].stop_reason == "model_finished"
    return events


async def settled_and_usable(flow: Flow) -> None:
    """The invariants after a cut: nothing runs, the next prompt works, the transcript is lawful."""
    agent = flow.agent
    assert not agent.running
    assert all(tool.running == 0 for tool in flow.tools)
    waiting = [m.text for m in (*agent.queues.state().steering, *agent.queues.state().follow_up)]
    sent = [m.text for m in agent.messages if isinstance(m, UserMessage)]
    queued = {"steering": ["steer one", "steer two"], "follow_up": ["later one", "later two"]}
    for text in queued.get(flow.name, []):
        assert (text in waiting) != (text in sent), f"{text!r} must wait or be sent, not both or neither"
    agent.queues.clear()
    events = [event async for event in agent.prompt(user("again"))]
    check_events(events)
    assert events[-1].stop_reason == "model_finished"
    lawful(agent.messages)
    for request in flow.provider.requests:
        assert violations(request.messages) == []
    calls = [c.id for m in agent.messages if isinstance(m, AssistantMessage) for c in m.calls]
    results = [m.call_id for m in agent.messages if isinstance(m, ToolResult)]
    assert results == calls


@pytest.mark.parametrize("name", FLOWS)
async def test_abort_after_every_event(name: str) -> None:
    for place in range(len(await whole(name))):
        flow = Flow(name)
        flow.begin()
        seen: list[Any] = []
        async with aclosing(flow.agent.prompt(user("go"))) as events:
            async for event in events:
                seen.append(event)
                if len(seen) == place + 1:
                    first, second = flow.agent.abort("stop"), flow.agent.abort("again")
                    assert not second
                    if first:
                        started = flow.started
        check_events(seen)
        assert seen[-1].stop_reason in ("cancelled", "model_finished")
        if seen[-1].stop_reason == "cancelled":
            assert flow.started == started, "a call began after the cancel"
        await settled_and_usable(flow)


@pytest.mark.parametrize("name", FLOWS)
async def test_leaving_after_every_event(name: str) -> None:
    for place in range(len(await whole(name))):
        flow = Flow(name)
        flow.begin()
        events = flow.agent.prompt(user("go"))
        for _ in range(place + 1):
            await anext(events)
        await events.aclose()
        await settled_and_usable(flow)


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("times", [1, 3])
async def test_cancelling_the_task_that_listens_after_every_step_of_the_event_loop(
    name: str, times: int
) -> None:
    """Not asked for by anybody: everything is settled, then the cancellation goes on to the caller."""
    for steps in range(0, 60, 2):
        flow = Flow(name)
        flow.begin()

        async def listen(agent: AgentHarness = flow.agent) -> None:
            async with aclosing(agent.prompt(user("go"))) as events:
                async for _ in events:
                    await asyncio.sleep(0)

        task = asyncio.ensure_future(listen())
        for _ in range(steps):
            await asyncio.sleep(0)
        finished = task.done()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with suppress(asyncio.CancelledError):
            await task
        if not finished:
            assert task.cancelled()
        await settled_and_usable(flow)


@pytest.mark.parametrize("name", FLOWS)
async def test_abort_at_every_step_of_the_event_loop(name: str) -> None:
    for steps in range(60):
        flow = Flow(name)
        flow.begin()
        seen: list[Any] = []

        async def listen(agent: AgentHarness = flow.agent, seen: list[Any] = seen) -> None:
            async for event in agent.prompt(user("go")):
                seen.append(event)

        task = asyncio.ensure_future(listen())
        for _ in range(steps):
            await asyncio.sleep(0)
        flow.agent.abort("stop")
        await asyncio.sleep(0)
        flow.agent.abort("again")
        await asyncio.wait_for(task, 5)
        check_events(seen)
        await settled_and_usable(flow)


async def test_abort_before_the_first_step_ends_the_run_at_once() -> None:
    agent = harness(["never said"])
    seen: list[Any] = []

    async def listen() -> None:
        async for event in agent.prompt(user("go")):
            seen.append(event)

    task = asyncio.ensure_future(listen())
    await asyncio.sleep(0)
    assert agent.abort("stop")
    await asyncio.wait_for(task, 5)
    assert [kind(e) for e in seen] == ["AgentStarted", "AgentCompleted"]
    assert seen[-1].stop_reason == "cancelled"
    assert [m.text for m in agent.messages] == ["go"]  # type: ignore[union-attr]


async def test_a_pending_approval_is_taken_back_and_never_runs() -> None:
    tool = FakeTool("seq", effect="write")
    approver = Answering(lambda request: None)
    agent = harness([ScriptStep(calls=(call("seq", x="1"),)), "end"], [tool], gated=gate("ask", approver))
    seen: list[Any] = []
    async for event in agent.prompt(user("go")):
        seen.append(event)
        if kind(event) == "ToolApprovalRequested":
            agent.abort("stop")
    check_events(seen)
    resolved = next(e for e in seen if kind(e) == "ToolApprovalResolved")
    assert (resolved.approved, resolved.by) == (False, "cancelled")
    assert tool.started == []
    assert agent.messages[-1].code == "cancelled"  # type: ignore[union-attr]


async def test_steering_and_follow_ups_that_were_not_delivered_survive_the_cancel() -> None:
    agent = harness(["a b c d e f", "x"])
    async for event in agent.prompt(user("go")):
        if kind(event) == "MessageDelta":
            agent.steer("s")
            agent.follow_up("f")
            agent.abort("stop")
            break
    await agent.wait()
    state = agent.queues.state()
    assert [m.text for m in state.steering][:1] == ["s"]
    assert [m.text for m in state.follow_up][:1] == ["f"]


async def test_what_was_said_before_the_cut_is_kept_and_marked() -> None:
    provider = ScriptedProvider([ScriptStep("one two three", pause=0.001), "next"], delta=4)
    agent = harness([], provider=provider)
    async for event in agent.prompt(user("go")):
        if kind(event) == "MessageDelta" and event.delta == "two ":  # type: ignore[attr-defined]
            agent.abort("stop")
    partial = agent.messages[-1]
    assert isinstance(partial, AssistantMessage)
    assert (partial.stop, partial.text.startswith("one two"), partial.error) == ("cancelled", True, "stop")


class StubbornGuard:
    """A recorder every method of which takes a while and cannot be hurried."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    async def accepted(self, messages: Any) -> None:
        await asyncio.sleep(0.002)
        self.kept += [m.text for m in messages]

    async def about_to(self, intent: Any) -> None:
        await asyncio.sleep(0.002)

    async def settled(self, outcome: Any) -> None:
        await asyncio.sleep(0.002)
        self.kept.append(outcome.text)

    async def audit(self, kind: str, facts: Any) -> None:
        await asyncio.sleep(0)

    async def ended(self, how: Any) -> None:
        await asyncio.sleep(0.002)
        self.kept.append(f"ended {how.stop_reason}")


@pytest.mark.parametrize("delay", [n / 1000 for n in range(0, 34, 2)])
async def test_record_and_transcript_agree_wherever_the_cancel_falls_into_the_recording(delay: float) -> None:
    recorder = StubbornGuard()
    flow_tools = [FakeTool("par", parallel=True, replay="safe", work=nap)]
    steps = [ScriptStep("hi", calls=(call("par", x="1"), call("par", x="2"))), "more", "even more"]
    agent = harness(steps, flow_tools, recorder=recorder)
    agent.steer("steer")
    agent.follow_up("follow")
    seen: list[Any] = []

    async def listen() -> None:
        async for event in agent.prompt(user("go")):
            seen.append(event)

    task = asyncio.ensure_future(listen())
    await asyncio.sleep(delay)
    agent.abort("stop")
    await asyncio.wait_for(task, 5)
    check_events(seen)
    lawful(agent.messages)
    assert recorder.kept == [*[m.text for m in agent.messages], f"ended {seen[-1].stop_reason}"]


async def test_a_cancel_settles_within_half_a_second_and_blocking_tools_see_the_token() -> None:
    stopped: list[bool] = []

    def block(arguments: dict[str, Any], context: Any) -> Any:
        stopped.append(context.stop.wait(30))
        context.stop.check()

    tool = FakeTool("slow", effect="execute", blocking=block)
    agent = harness([ScriptStep(calls=(call("slow", x="1"),)), "end"], [tool])
    clock: Callable[[], float] = asyncio.get_running_loop().time
    began = 0.0
    async for event in agent.prompt(user("go")):
        if kind(event) == "ToolExecutionStarted":
            await asyncio.sleep(0.05)
            began = clock()
            agent.abort("stop")
    assert clock() - began < 0.5
    assert stopped == [True]
    assert agent.messages[-1].code == "cancelled"  # type: ignore[union-attr]
    agent.toolbox.close()


async def test_a_second_prompt_during_a_run_is_refused_until_it_is_settled() -> None:
    async def long(arguments: Any, context: Any) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.02)

    agent = harness([ScriptStep(calls=(call("t", x="1"),)), "end"], [FakeTool("t", work=long)])
    events = agent.prompt(user("go"))
    while kind(await anext(events)) != "ToolExecutionProgress":
        pass
    closing = asyncio.ensure_future(events.aclose())
    await asyncio.sleep(0.005)
    assert agent.running
    with pytest.raises(RuntimeError, match="in progress"):
        await anext(agent.prompt(user("too early")))
    await closing
    assert not agent.running
