"""The promises of the runtime, held against random scripts.

Every call has exactly one result, in call order; nothing runs before the provider's terminal event; the
history that was given is not touched; events come in their documented order; a run ends for one reason.
"""

import copy
from typing import Any

from agent_world import MODEL, FakeTool, check_events, gate, harness, kind, lawful
from hypothesis import given, settings
from hypothesis import strategies as st

from wisp.harness.toolbox import Toolbox
from wisp.loop.limits import Limits
from wisp.loop.runner import RunSpec, run_agent_loop
from wisp.messages.ids import FixedClock
from wisp.messages.laws import violations
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage, user
from wisp.providers.scripted import ScriptedProvider, ScriptStep, raw_call

ARGUMENTS = st.sampled_from(
    [
        '{"x":1}',
        '{"x":2,"file":"a"}',
        '{"fail":1}',
        '{"refuse":1}',
        '{"x":1',
        '{"x":1,"x":2}',
        "",
        '{"x":"3"}',
    ]
)
CALL = st.tuples(st.sampled_from(["par", "seq", "eff", "unknown"]), ARGUMENTS)
STOPS = [None, "tool_calls", "length", "stop", "refusal", "content_filter", "pause"]
STEP = st.builds(
    lambda text, thinking, calls, stop, fail: ScriptStep(
        text,
        thinking=thinking,
        calls=tuple(raw_call(name, arguments) for name, arguments in calls),
        stop=stop,
        fail=fail,
    ),
    st.sampled_from(["", "some words", "x" * 40]),
    st.sampled_from(["", "a thought"]),
    st.lists(CALL, max_size=4),
    st.sampled_from(STOPS),  # type: ignore[arg-type]
    st.sampled_from(["", "", "", "", "overload"]),
)


def tools() -> list[FakeTool]:
    return [
        FakeTool("par", parallel=True, replay="safe"),
        FakeTool("seq"),
        FakeTool("eff", effect="write"),
    ]


@given(st.lists(STEP, min_size=1, max_size=5), st.integers(1, 6))
@settings(max_examples=150, deadline=None)
async def test_every_run_of_a_random_script_keeps_the_promises(steps: list[ScriptStep], turns: int) -> None:
    provider = ScriptedProvider([*steps, *["the end"] * (turns + 1)])
    mine = tools()
    history = [user("go")]
    before = copy.deepcopy(history)
    events: list[Any] = []
    whole = 0
    loop = run_agent_loop(
        history,
        RunSpec(MODEL, limits=Limits(max_turns=turns)),
        provider,
        Toolbox(mine, gate()),
        FixedClock(),
    )
    async for event in loop:
        if kind(event) == "MessageDelta":
            assert sum(len(tool.started) for tool in mine) == whole, (
                "a call began before its message was whole"
            )
        elif kind(event) == "TurnStarted":
            whole = sum(len(tool.started) for tool in mine)
        events.append(event)
    assert history == before
    check_events(events)
    _each_call_has_one_result(events)
    _only_released_calls_ran(events, mine)
    _the_reason_fits(events, turns, len(provider.requests))
    for request in provider.requests:
        assert violations(request.messages) == []


def _each_call_has_one_result(events: list[Any]) -> None:
    calls = [call.id for e in events if kind(e) == "MessageCompleted" for call in e.message.calls]
    results = [e.result for e in events if kind(e) == "ToolResultAdded"]
    assert [result.call_id for result in results] == calls
    assert len({result.id for result in results}) == len(results)


def _only_released_calls_ran(events: list[Any], mine: list[FakeTool]) -> None:
    released = sum(
        len(e.message.calls)
        for e in events
        if kind(e) == "MessageCompleted" and e.finish_reason == "tool_calls"
    )
    assert sum(len(tool.started) for tool in mine) <= released
    ran = [e for e in events if kind(e) == "ToolExecutionEnded" and not e.is_error]
    assert len(ran) == sum(len(tool.done) for tool in mine)
    for event in events:
        if kind(event) == "MessageCompleted" and event.finish_reason != "tool_calls":
            ids = {call.id for call in event.message.calls}
            ended = [e for e in events if kind(e) == "ToolExecutionEnded" and e.call_id in ids]
            assert all(e.is_error for e in ended)


def _the_reason_fits(events: list[Any], turns: int, requests: int) -> None:
    last = events[-1]
    answers = [e for e in events if kind(e) == "MessageCompleted"]
    assert last.turns == requests <= turns
    if last.stop_reason == "turn_limit":
        assert requests == turns
    elif last.stop_reason == "model_finished":
        assert answers[-1].message.calls == ()
        assert answers[-1].finish_reason not in ("refusal", "content_filter")
    elif last.stop_reason == "refused":
        assert answers[-1].finish_reason in ("refusal", "content_filter")
    else:
        assert last.stop_reason == "provider_failure"
        assert kind(events[-2]) == "TurnCompleted"
        assert events[-2].outcome == "failed"


@given(st.lists(st.lists(STEP, min_size=1, max_size=3), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
async def test_a_harness_stays_lawful_over_several_prompts(prompts: list[list[ScriptStep]]) -> None:
    provider = ScriptedProvider([])
    agent = harness([], tools(), provider=provider)
    said: list[str] = []
    for number, steps in enumerate(prompts):
        provider = ScriptedProvider([*steps, *["end"] * 5])
        agent.provider = provider
        said.append(f"prompt {number}")
        events = [event async for event in agent.prompt(user(said[-1]), limits=Limits(max_turns=4))]
        check_events(events)
        lawful(agent.messages)
        sent = [m.text for m in agent.messages if isinstance(m, UserMessage)]
        assert sent == said
    kept = [m for m in agent.messages if isinstance(m, ToolResult)]
    asked = [c for m in agent.messages if isinstance(m, AssistantMessage) for c in m.calls]
    assert [r.call_id for r in kept] == [c.id for c in asked]
    agent.toolbox.close()
