"""A person who allows something else than what was asked: that runs, nothing more, and the model is told."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from agent_world import Answering, FakeTool, check_events, gate, harness, kind, lawful

from wisp.harness.events import ToolApprovalRequested
from wisp.harness.ports import ApprovalAnswer
from wisp.host.client import CommandRefused
from wisp.host.commands import Approve
from wisp.host.questions import PendingApprovals
from wisp.messages.message import ToolResult, user
from wisp.providers.scripted import ScriptStep, call
from wisp.tools.base import Prepared


class Parted(FakeTool):
    """Four hunks, the chosen of which it writes down."""

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        whole = super().prepare(arguments)

        def only(some: frozenset[int]) -> Prepared:
            return super(Parted, self).prepare({**arguments, "x": f"hunks {sorted(some)}"})

        return dataclasses.replace(whole, parts=4, only=only)


async def run(agent: Any) -> list[Any]:
    events = [event async for event in agent.prompt(user("go"))]
    check_events(events)
    lawful(agent.messages)
    return events


def result(agent: Any) -> ToolResult:
    return next(m for m in agent.messages if isinstance(m, ToolResult))


def once(**arguments: Any) -> list[Any]:
    return [ScriptStep(calls=(call("write", **arguments),)), "end"]


def answering(**more: Any) -> Answering:
    return Answering(lambda request: ApprovalAnswer(request.digest, True, **more))


async def test_the_arguments_of_the_person_run_and_the_model_is_told_them() -> None:
    """Not the ones that were asked about; the person is not asked about their own words."""
    tool, approver = FakeTool("write", effect="write"), answering(arguments='{"x": "mine"}')
    agent = harness(once(x="the model's"), [tool], gated=gate("ask", approver))
    await run(agent)

    assert tool.done == ["mine"]
    assert len(approver.asked) == 1
    assert "the user changed this call before allowing it" in result(agent).text
    assert "mine" in result(agent).text


async def test_what_policy_denies_a_person_cannot_write_into_a_call() -> None:
    """The changed call is judged as any other."""
    tool = FakeTool("write", effect="write")
    agent = harness(
        once(x="/w/good"),
        [tool],
        gated=gate("ask", answering(arguments='{"x": "/w/secret"}'), deny=["edit(/w/secret)"]),
    )
    await run(agent)

    assert tool.started == []
    assert result(agent).code == "denied"


async def test_changed_arguments_that_are_wrong_are_a_failure_that_says_who_wrote_them() -> None:
    """Nothing runs."""
    tool = FakeTool("write", effect="write")
    agent = harness(once(x="a"), [tool], gated=gate("ask", answering(arguments='{"refuse": 1}')))
    await run(agent)

    assert tool.started == []
    assert result(agent).is_error and "the user changed this call" in result(agent).text


async def test_only_the_allowed_hunks_run_and_the_model_is_told_which() -> None:
    """Counted from 1 for the model, as people do."""
    tool, approver = Parted("write", effect="write"), answering(parts=(0, 2))
    agent = harness(once(x="all"), [tool], gated=gate("ask", approver))
    await run(agent)

    assert approver.asked[0].parts == 4
    assert tool.done == ["hunks [0, 2]"]
    assert "the user allowed only hunk 1, 3 of the 4" in result(agent).text


@pytest.mark.parametrize("parts", [(), (4,), (0, -1)])
async def test_hunks_that_are_not_there_allow_nothing(parts: tuple[int, ...]) -> None:
    """Also none at all."""
    tool = Parted("write", effect="write")
    agent = harness(once(x="all"), [tool], gated=gate("ask", answering(parts=parts)))
    await run(agent)

    assert tool.started == []
    assert result(agent).code == "denied"


async def test_all_hunks_are_the_call_itself() -> None:
    """Nothing was changed, so nothing is told."""
    tool = Parted("write", effect="write")
    agent = harness(once(x="all"), [tool], gated=gate("ask", answering(parts=(0, 1, 2, 3))))
    events = await run(agent)

    assert tool.done == ["all"]
    assert "the user" not in result(agent).text
    assert sum(kind(event) == "ToolApprovalRequested" for event in events) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"parts": ()},
        {"parts": (2,)},
        {"arguments": "[1]"},
        {"arguments": '{"x": 1'},
        {"digest": "other"},
        {"digest": ""},
        {"scope": "session"},
    ],
)
async def test_an_impossible_choice_leaves_the_question_open(wrong: dict[str, Any]) -> None:
    """The front end is told; a good answer still counts."""
    import asyncio

    pending = PendingApprovals()
    request = ToolApprovalRequested("c", "edit", "d", "s", "p", "r", "", 2)
    asking = asyncio.ensure_future(pending.ask(request))
    await asyncio.sleep(0)
    with pytest.raises(CommandRefused):
        pending.answer(Approve(**{"call_id": "c", "digest": "d", "approved": True, **wrong}))
    pending.answer(Approve("c", "d", True, parts=(1,)))

    assert (await asking).parts == (1,)
