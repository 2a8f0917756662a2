"""An approval is for exactly one operation: what ran is what was shown, one answer is used once."""

import asyncio
from typing import Any

import msgspec
import pytest
from agent_world import Answering, FakeTool, check_events, gate, harness, kind, lawful

from wisp.harness.events import ToolApprovalRequested
from wisp.harness.ports import ApprovalAnswer
from wisp.messages.message import ToolResult, user
from wisp.messages.tool import Effect, ToolOutcome, ToolSpec, plain
from wisp.providers.scripted import ScriptStep, call
from wisp.tools.base import Prepared


async def run(agent: Any, text: str = "go") -> list[Any]:
    events = [event async for event in agent.prompt(user(text))]
    check_events(events)
    lawful(agent.messages)
    return events


def results(agent: Any) -> list[ToolResult]:
    return [m for m in agent.messages if isinstance(m, ToolResult)]


def one(**arguments: Any) -> list[Any]:
    return [ScriptStep(calls=(call("write", **arguments),)), "end"]


def yes(request: ToolApprovalRequested, **more: Any) -> ApprovalAnswer:
    return ApprovalAnswer(request.digest, True, **more)


async def test_what_was_approved_runs_and_the_question_shows_it_whole() -> None:
    tool, approver = FakeTool("write", effect="write"), Answering()
    agent = harness(one(x="a"), [tool], gated=gate("ask", approver))
    events = await run(agent)
    asked = approver.asked[0]
    assert (asked.name, asked.summary) == ("write", "write a")
    assert len(asked.digest) == 64
    assert tool.done == ["a"]
    resolved = next(e for e in events if kind(e) == "ToolApprovalResolved")
    assert (resolved.approved, resolved.by) == (True, "person")


async def test_a_denial_is_never_followed_by_the_execution_and_gives_the_reason() -> None:
    tool = FakeTool("write", effect="write")
    approver = Answering(lambda r: ApprovalAnswer(r.digest, False, reason="not this file"))
    agent = harness(one(x="a"), [tool], gated=gate("ask", approver))
    await run(agent)
    assert tool.started == []
    assert results(agent)[0].code == "denied"
    assert "the user said no: not this file" in results(agent)[0].text
    assert agent.toolbox.gate.denials[0].tool == "write"


@pytest.mark.parametrize("digest", ["", "0" * 64, "previous"])
async def test_an_answer_to_something_else_approves_nothing(digest: str) -> None:
    tool = FakeTool("write", effect="write")
    asked: list[ToolApprovalRequested] = []

    def will(request: ToolApprovalRequested) -> ApprovalAnswer:
        asked.append(request)
        wrong = asked[0].digest if digest == "previous" and len(asked) > 1 else digest
        return ApprovalAnswer(request.digest if digest == "previous" and len(asked) == 1 else wrong, True)

    steps = [ScriptStep(calls=(call("write", x="a"), call("write", x="b"))), "end"]
    agent = harness(steps, [tool], gated=gate("ask", Answering(will)))
    await run(agent)
    assert tool.done == (["a"] if digest == "previous" else [])
    assert "another operation" in results(agent)[1].text


async def test_every_call_is_asked_anew_also_the_same_one() -> None:
    tool, approver = FakeTool("write", effect="write"), Answering()
    steps = [ScriptStep(calls=(call("write", x="a"), call("write", x="a"))), "end"]
    await run(harness(steps, [tool], gated=gate("ask", approver)))
    assert len(approver.asked) == 2


class Shifty:
    """A tool whose prepared operation is changed by the test after it was judged."""

    spec = ToolSpec("write", "x", {"type": "object"})
    parallel_safe = False
    replay = "never"

    def __init__(self, effect: str = "write", inside: bool = True) -> None:
        self.made: list[Prepared] = []
        self.ran: list[Any] = []
        self._effect, self._inside = effect, inside

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        def run(context: Any) -> ToolOutcome:
            self.ran.append(dict(arguments))
            return plain("ok")

        effects = (Effect(self._effect, arguments["x"], inside=self._inside),)  # type: ignore[arg-type]
        self.made.append(Prepared("write", arguments, effects, run))
        return self.made[-1]


CHANGES = {
    "tool": lambda p: object.__setattr__(p, "tool", "other"),
    "argument": lambda p: p.arguments.update(x="evil"),
    "added argument": lambda p: p.arguments.update(timeout=1),
    "effects": lambda p: object.__setattr__(p, "effects", ()),
    "effect target": lambda p: object.__setattr__(p, "effects", (Effect("write", "evil"),)),
    "fingerprint": lambda p: object.__setattr__(p, "fingerprint", "other"),
}


@pytest.mark.parametrize("when", ["while asked", "after the answer"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("effect", "inside"), [("write", True), ("read", False)])
async def test_anything_changed_after_it_was_shown_is_refused(
    when: str, change: str, effect: str, inside: bool
) -> None:
    tool = Shifty(effect, inside)

    def will(request: ToolApprovalRequested) -> ApprovalAnswer:
        if when == "while asked":
            CHANGES[change](tool.made[-1])
        return yes(request)

    agent = harness(one(x="a"), [tool], gated=gate("ask", Answering(will)))
    async for event in agent.prompt(user("go")):
        if kind(event) == "ToolApprovalResolved" and when == "after the answer":
            CHANGES[change](tool.made[-1])
    if when == "after the answer" and tool.ran:
        pytest.skip("it had begun before the change")
    assert tool.ran == []
    assert results(agent)[0].code == "denied"


async def test_headless_refuses_what_would_be_asked_counts_it_and_goes_on() -> None:
    tool = FakeTool("write", effect="write")
    agent = harness(one(x="a"), [tool], gated=gate("ask", None))
    events = await run(agent)
    assert events[-1].stop_reason == "model_finished"
    assert tool.started == []
    said = results(agent)[0].text
    assert "nobody can be asked" in said
    assert "ask mode asks before it writes" in said
    ended = next(e for e in events if kind(e) == "ToolExecutionEnded")
    assert (ended.failure_code, ended.details["headless"], ended.effectful) == ("denied", True, False)
    assert [d.headless for d in agent.toolbox.gate.denials] == [True]
    assert "ToolApprovalRequested" not in [kind(e) for e in events]


async def test_a_rule_for_the_session_covers_the_same_again_and_nothing_else() -> None:
    tool = FakeTool("write", effect="execute")
    approver = Answering(lambda r: yes(r, scope="session"))
    calls = (call("write", x="git status"), call("write", x="git status"), call("write", x="git push"))
    agent = harness([ScriptStep(calls=calls), "end"], [tool], gated=gate("ask", approver))
    await run(agent)
    assert [r.summary for r in approver.asked] == ["write git status", "write git push"]
    assert approver.asked[0].session_rule == "bash(git status)"
    assert tool.done == ["git status", "git status", "git push"]


@pytest.mark.parametrize(
    ("effect", "target", "rule"),
    [
        ("execute", "pytest -x", "bash(pytest -x)"),
        ("execute", "bash -c ls", ""),
        ("execute", "sudo ls", ""),
        ("execute", "python3 x.py", ""),
        ("execute", "/usr/bin/env ls", ""),
        ("execute", "ls; rm x", ""),
        ("write", "/w/a.py", "edit(/w/a.py)"),
        ("write", "/w/a*.py", ""),
        ("network", "example.org", ""),
    ],
)
async def test_which_rule_may_be_kept_for_the_session(effect: str, target: str, rule: str) -> None:
    approver = Answering()
    await run(harness(one(x=target), [FakeTool("write", effect=effect)], gated=gate("ask", approver)))
    assert approver.asked[0].session_rule == rule


async def test_a_protected_effect_is_asked_each_time_whatever_was_granted() -> None:
    tool = FakeTool("write", effect="write", protected="git runs it")
    approver = Answering(lambda r: yes(r, scope="session"))
    steps = [ScriptStep(calls=(call("write", x="a"), call("write", x="a"))), "end"]
    await run(harness(steps, [tool], gated=gate("auto", approver, allow=("write", "edit(**)"))))
    assert [r.session_rule for r in approver.asked] == ["", ""]


async def test_scope_session_in_an_answer_stores_nothing_where_nothing_may_be_stored() -> None:
    approver = Answering(lambda r: yes(r, scope="session"))
    agent = harness(one(x="bash -c ls"), [FakeTool("write", effect="execute")], gated=gate("ask", approver))
    await run(agent)
    assert agent.toolbox.gate.policy.granted == ()


async def test_a_long_command_is_shown_to_its_end() -> None:
    approver = Answering()
    command = "echo " + "a" * 60_000 + " the-end"
    await run(harness(one(x=command), [FakeTool("write", effect="execute")], gated=gate("ask", approver)))
    assert approver.asked[0].preview.endswith("the-end")


async def test_an_answer_after_the_cancel_runs_nothing() -> None:
    tool = FakeTool("write", effect="write")
    waiting: asyncio.Future[ApprovalAnswer] = asyncio.get_running_loop().create_future()

    class Slow:
        async def ask(self, request: Any) -> ApprovalAnswer:
            return await asyncio.shield(waiting)

    agent = harness(one(x="a"), [tool], gated=gate("ask", Slow()))
    async for event in agent.prompt(user("go")):
        if kind(event) == "ToolApprovalRequested":
            agent.abort("stop")
            waiting.set_result(yes(event))  # type: ignore[arg-type]
    assert tool.started == []
    assert results(agent)[0].code == "cancelled"


async def test_a_mode_changed_during_the_run_judges_the_next_call() -> None:
    tool = FakeTool("write", effect="write")
    steps = [ScriptStep(calls=(call("write", x="a"),)), ScriptStep(calls=(call("write", x="b"),)), "end"]
    agent = harness(steps, [tool])
    async for event in agent.prompt(user("go")):
        if kind(event) == "TurnCompleted":
            box = agent.toolbox.gate
            box.policy = msgspec.structs.replace(box.policy, mode="read-only")
    assert tool.done == ["a"]
    assert results(agent)[1].code == "denied"
