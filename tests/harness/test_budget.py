"""One ledger: what is spent counts in every account above, and a limit asks where somebody is there."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from pathlib import Path
from typing import Any

import pytest
from agent_world import FakeTool, check_events, gate, harness, kind

from wisp.harness.budget import Account, Ledger
from wisp.harness.runner import AgentHarness
from wisp.harness.toolbox import Toolbox
from wisp.host.daybook import Daybook
from wisp.loop.limits import Limits, Spent, projected
from wisp.messages.ids import FixedClock
from wisp.messages.message import user
from wisp.messages.usage import Price, Usage
from wisp.providers.base import ModelInfo
from wisp.providers.scripted import ScriptedProvider, ScriptStep, call

DOLLAR = ModelInfo("m", price=Price(1.0, 1.0, 0.1, 1.0))


def _rounds(alike: bool, usage: Usage | None = None) -> list[ScriptStep]:
    return [ScriptStep("", calls=(call("t", x="1" if alike else str(n)),), usage=usage) for n in range(30)]


def _agent(steps: list[ScriptStep], **more: Any) -> AgentHarness:
    toolbox = Toolbox([FakeTool("t")], gate())
    return AgentHarness(ScriptedProvider(steps), DOLLAR, toolbox, FixedClock(), **more)


async def _play(agent: AgentHarness, limits: Limits) -> list[Any]:
    events = [event async for event in agent.prompt(user("go"), limits=limits)]
    check_events([e for e in events if kind(e) not in ("QuestionAsked", "QuestionAnswered")])
    return events


def test_a_share_counts_for_itself_and_for_all_above_and_never_downwards() -> None:
    """Two subagents of a session with 10 turns, each with 6."""
    session = Ledger([Account("of this session", Limits(max_turns=10))])
    first, second = (session.share(f"of subagent {n}", Limits(max_turns=6)) for n in (1, 2))
    for _ in range(6):
        first.charge(Spent().after(Usage(1, 1), 0.0))
    over = first.over(None)
    assert over is not None and over[0].whose == "of subagent 1"
    assert second.over(None) is None
    for _ in range(4):
        second.charge(Spent().after(Usage(1, 1), 0.0))
    over = second.over(None)
    assert over is not None and over[1].message == "the limit of 10 turns of this session is used up"


async def test_a_session_limit_holds_over_several_runs() -> None:
    """Three turns in all: two in the first run, one in the second."""
    ledger = Ledger([Account("of this session", Limits(max_turns=3))])
    agent = _agent(_rounds(alike=False), ledger=ledger)
    first = await _play(agent, Limits(max_turns=2))
    second = await _play(agent, Limits(max_turns=2))
    assert [events[-1].turns for events in (first, second)] == [2, 1]
    assert second[-1].error == "the limit of 3 turns of this session is used up"


@pytest.mark.parametrize(
    ("last", "said", "price", "dollars"),
    [
        (Usage(1_000_000, 0, 0, 0), 0, Price(2.0, 9.0), 2.0),
        (Usage(1_000_000, 500_000, 0, 0), 0, Price(2.0, 9.0), 3.0),
        (Usage(0, 0, 0, 0), 4_000_000, Price(2.0, 9.0), 2.0),
        (Usage(100, 0, 999_900, 0), 0, Price(2.0, 9.0, 0.5), 0.5),
        (Usage(1, None), 0, Price(2.0, 9.0), None),
        (Usage(1, 1), 0, Price(), None),
    ],
)
def test_the_next_request_costs_the_last_prompt_again_its_answer_and_what_came_since(
    last: Usage, said: int, price: Price, dollars: float | None
) -> None:
    """Arithmetic at list price; four bytes a token for what nobody counted; cached where it was cached."""
    since = [user("x" * said)] if said else []
    assert projected(last, since, price) == (None if dollars is None else pytest.approx(dollars))


async def test_a_request_that_would_go_over_is_not_made() -> None:
    """Each costs a dollar, the next projects another: with 2.5 allowed there are two."""
    agent = _agent(_rounds(alike=False, usage=Usage(1_000_000, 0, 0, 0)))
    events = await _play(agent, Limits(max_cost=2.5))
    assert (events[-1].turns, events[-1].failure_kind) == (2, "cost")
    assert "would cost $1.0000 or more, and $0.5000 are left" in events[-1].error


class Says:
    """A person with a list of answers; keeps the questions."""

    def __init__(self, *answers: str) -> None:
        self.asked: list[Any] = []
        self._answers = list(answers)

    async def ask(self, question: Any) -> str:
        self.asked.append(question)
        if not self._answers:
            await asyncio.Event().wait()
        return self._answers.pop(0)


async def test_a_person_may_go_on_as_far_again_and_stop_then() -> None:
    """Two turns, two more, then no."""
    person = Says("go on", "stop")
    agent = _agent(_rounds(alike=False), questioner=person)
    events = await _play(agent, Limits(max_turns=2))
    assert (events[-1].stop_reason, events[-1].turns) == ("turn_limit", 4)
    names = [kind(e) for e in events]
    assert names.count("QuestionAsked") == names.count("QuestionAnswered") == 2


async def test_a_question_about_a_limit_can_be_cancelled() -> None:
    """It is settled as cancelled, and the run ends as cancelled."""
    agent = _agent(_rounds(alike=False), questioner=Says())
    events = []
    async for event in agent.prompt(user("go"), limits=Limits(max_turns=1)):
        events.append(event)
        if kind(event) == "QuestionAsked":
            agent.abort("enough")
    assert [e.by for e in events if kind(e) == "QuestionAnswered"] == ["cancelled"]
    assert events[-1].stop_reason == "cancelled"


async def test_the_same_call_with_the_same_result_is_told_and_then_ends_the_run() -> None:
    """After three turns the model is told, after ten the run ends; other calls count anew."""
    agent = _agent(_rounds(alike=True))
    events = await _play(agent, Limits(max_turns=25, max_repeats=10))
    assert (events[-1].turns, events[-1].failure_kind) == (10, "loop")
    assert "10 turns made the same calls" in events[-1].error
    notices = [e.message.text for e in events if kind(e) == "QueueMessageInjected"]
    assert len(notices) == 1 and "The last 3 turns" in notices[0]
    other = await _play(_agent(_rounds(alike=False)), Limits(max_turns=25, max_repeats=10))
    assert other[-1].turns == 25


def test_a_day_is_shared_by_processes_and_begins_anew(tmp_path: Path) -> None:
    """Two books on one file add up; tomorrow is empty; a broken file is unknown, not free."""
    now = [1_700_000_000.0]
    path = tmp_path / "state" / "day.json"
    first, second = (Daybook(str(path), lambda: now[0]) for _ in range(2))
    first.add(Spent(1, Usage(10, 5, 0, 0, 0), 0.5, 2.0))
    second.add(Spent(1, Usage(1, 1, 0, 0, 0), 0.25, 1.0))
    assert first.read() == Spent(2, Usage(11, 6, 0, 0, 0), 0.75, 3.0)
    assert path.stat().st_mode & 0o777 == 0o600
    now[0] += 86_400
    assert second.read() == Spent()
    second.add(Spent(1, Usage(1, 1, 0, 0, 0), 0.25, 1.0))
    now[0] -= 86_400
    first.add(Spent(1, Usage(1, 1, 0, 0, 0), 0.25, 1.0))
    now[0] += 86_400
    assert first.read().cost == 0.5, "a clock that is set back for a while makes no day free"
    now[0] -= 40 * 86_400
    assert first.read() == Spent(), "and one that was far ahead holds nobody up"
    now[0] += 40 * 86_400
    path.write_text("{")
    assert first.read().cost is None


def test_a_day_that_cannot_be_written_is_not_one_on_which_nothing_was_spent(tmp_path: Path) -> None:
    """A disk without room: the other processes still see what was spent before, or that it is unknown."""
    path = tmp_path / "day.json"
    book = Daybook(str(path), lambda: 1_700_000_000.0)
    spent = Spent(1, Usage(10, 5, 0, 0, 0), 0.5, 2.0)
    book.add(spent)
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        book.add(spent)
        os._exit(0)
    os.waitpid(pid, 0)

    assert Daybook(str(path), lambda: 1_700_000_000.0).read().cost in (0.5, None)


async def test_queued_messages_are_edited_taken_back_and_bounded() -> None:
    """By id; the place stays; a wrong revision or id changes nothing; a megabyte is the most."""
    from wisp.harness.mailbox import MAX_BYTES, QueueChanged, QueueFull

    queues = harness(["x"]).queues
    one, two = queues.steer("one"), queues.steer("two")
    seen = queues.revision
    queues.edit(one.id, "other")
    assert [m.text for m in queues.state().steering] == ["other", "two"]
    with pytest.raises(QueueChanged):
        queues.expect(seen)
    with pytest.raises(QueueChanged):
        queues.edit("none", "x")
    assert queues.take_back(two.id) == two
    with pytest.raises(QueueChanged):
        queues.take_back(two.id)
    with pytest.raises(QueueFull):
        queues.follow_up("x" * MAX_BYTES)
    queues.set_mode("steering", "one_at_a_time")
    queues.steer("three")
    assert [e.message.text for e in queues.collect(would_stop=False)] == ["other"]
    assert [m.text for m in queues.clear()] == ["three"]
