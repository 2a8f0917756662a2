"""The view is a pure fold over events; the wire form is one flat object per event."""

import json
from typing import Any

import msgspec
import pytest
from agent_world import Answering, FakeTool, gate, harness

import wisp.host.events as wire_events
from wisp.harness.events import ToolApprovalRequested
from wisp.host.events import Envelope, SessionOpened, wire
from wisp.host.view import View, reduce
from wisp.loop.events import AgentCompleted, Event, MessageStarted, ProviderRetrying
from wisp.messages.codec import ascii_json
from wisp.messages.message import user
from wisp.messages.usage import Usage
from wisp.providers.scripted import ScriptStep, call


async def story(mode: str = "full", approver: Any = None) -> list[Event]:
    steps = [
        ScriptStep("I look", calls=(call("eff", x="1"), call("eff", fail=1)), usage=Usage(1, 2, 0, 0, 0)),
        ScriptStep("Done.", usage=Usage(10, 20, 0, 0, 0)),
    ]
    agent = harness(steps, [FakeTool("eff", effect="write")], gated=gate(mode, approver))
    return [event async for event in agent.prompt(user("go"))]


def shown(events: list[Event]) -> View:
    view = View()
    for seq, event in enumerate(events, 1):
        reduce(view, Envelope(seq, "s", float(seq), event))
    return view


async def test_a_run_is_added_up() -> None:
    view = shown(await story())
    run = view.run
    assert (run.stop_reason, run.turns, run.answer) == ("model_finished", 2, "Done.")
    assert (run.usage.input_tokens, run.usage.output_tokens) == (11, 22)
    assert run.cost_usd is None
    assert (run.effects, run.denials, run.headless_refusals) == (1, [], 0)
    assert (view.phase, view.pending, view.running_tool) == ("idle", None, "")
    assert 0 < run.provider_seconds < run.ended_at - run.started_at


async def test_refusals_are_counted_and_are_no_effects() -> None:
    view = shown(await story("ask"))
    assert (view.run.effects, view.run.headless_refusals) == (0, 2)
    assert [d.tool for d in view.run.denials] == ["eff", "eff"]
    assert view.run.stop_reason == "model_finished"


async def test_a_question_is_pending_exactly_while_it_is_open() -> None:
    view = View()
    pending = []
    for seq, event in enumerate(await story("ask", Answering()), 1):
        reduce(view, Envelope(seq, "s", float(seq), event))
        pending.append((view.phase == "approval", view.pending is not None))
    assert (True, True) in pending
    assert all(a == b for a, b in pending)


async def test_each_run_begins_anew_and_a_view_can_be_made_twice() -> None:
    events = await story()
    once, twice = shown(events).run, shown([*events, *events]).run
    once.started_at, once.ended_at = twice.started_at, twice.ended_at
    assert twice == once
    opened = SessionOpened("/path", True, 3)
    assert shown([opened]).session_path == "/path"


def test_a_retry_is_shown_until_the_answer_begins() -> None:
    view = shown([ProviderRetrying(1, "p", 2, 4, 0.1, "overload")])
    assert view.phase == "retrying"
    reduce(view, Envelope(2, "s", 2.0, MessageStarted(1, "m")))
    assert view.phase == "thinking"


def test_an_end_without_a_beginning_closes_everything() -> None:
    asked = ToolApprovalRequested("c", "t", "d", "s", "p", "r")
    view = shown([asked, AgentCompleted("error", 1, "broke")])
    assert (view.phase, view.pending, view.run.error) == ("idle", None, "broke")


async def test_the_wire_form_is_flat_json_that_names_its_type_first() -> None:
    for seq, event in enumerate(await story("ask", Answering()), 1):
        flat = wire(Envelope(seq, "s1", 0.0, event), "1970-01-01T00:00:00.000Z")
        assert list(flat)[:4] == ["type", "session_id", "seq", "at"]
        back = json.loads(ascii_json(flat))
        assert back["type"] == type(event).__struct_config__.tag
        assert back["seq"] == seq
        kind = type(event)
        assert (
            msgspec.convert({k: v for k, v in back.items() if k not in ("session_id", "seq", "at")}, kind)
            == event
        )


CONTRACT = [
    "agent.started",
    "agent.completed",
    "turn.started",
    "turn.completed",
    "provider.retrying",
    "message.started",
    "message.delta",
    "message.withdrawn",
    "message.completed",
    "tool.call",
    "tool.approval.requested",
    "tool.approval.resolved",
    "tool.execution.started",
    "tool.execution.progress",
    "tool.execution.ended",
    "tool.result",
    "context.estimated",
    "compaction.started",
    "compaction.completed",
    "question.asked",
    "question.answered",
    "queue.updated",
    "queue.message.injected",
    "question.asked",
    "question.answered",
    "process.ended",
    "context.pressure",
    "context.overflow",
    "session.saved",
    "trust.requested",
    "trust.resolved",
    "repair.reported",
    "error",
]


def test_wire_types_are_those_of_the_contract() -> None:
    tags = {
        str(value.__struct_config__.tag)
        for name in wire_events.__all__
        if isinstance(value := getattr(wire_events, name), type)
        and issubclass(value, Event)
        and value is not Event
    }
    assert set(CONTRACT) <= tags
    assert tags - set(CONTRACT) <= {
        "session.opened",
        "cache.broken",
        "provider.switched",
        "plan.saved",
        "answer.checked",
        "credentials.shown",
        "subagent.reported",
        "shell.ended",
        "shell.started",
    }


@pytest.mark.parametrize("name", wire_events.__all__)
def test_no_event_has_a_field_of_the_envelope(name: str) -> None:
    value = getattr(wire_events, name)
    if isinstance(value, type) and issubclass(value, Event):
        assert not {"type", "session_id", "seq", "at"} & set(value.__struct_fields__)
