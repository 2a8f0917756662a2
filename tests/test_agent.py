"""The library's front door."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

import wisp
from wisp.providers.scripted import call


@pytest.fixture(autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing outside the test's own folder is read or written."""
    monkeypatch.setenv("WISP_HOME", str(tmp_path_factory.mktemp("home")))


def _writes() -> wisp.ScriptedProvider:
    return wisp.ScriptedProvider(
        [
            wisp.ScriptStep("I write.", calls=[call("write", path="new.txt", content="hi\n")]),
            wisp.ScriptStep("Done."),
        ]
    )


async def test_ask_returns_the_answer_and_the_result_holds_the_rest(tmp_path: Path) -> None:
    """The documentation's first example."""
    (tmp_path / "sums.py").write_text("def add(a, b):\n    return a - b\n")
    provider = wisp.ScriptedProvider(
        [
            wisp.ScriptStep("I look.", calls=[call("read", path="sums.py")]),
            wisp.ScriptStep("It subtracts.", after="return a - b"),
        ]
    )
    async with wisp.Agent(provider=provider, cwd=str(tmp_path)) as agent:
        assert await agent.ask("What is wrong?") == "It subtracts."
        assert (agent.result.stop_reason, agent.result.turns) == ("model_finished", 2)


async def test_without_an_approver_effects_are_refused_and_counted(tmp_path: Path) -> None:
    """Safe by default."""
    async with wisp.Agent(provider=_writes(), cwd=str(tmp_path)) as agent:
        await agent.ask("go")

        assert [denial.tool for denial in agent.result.denials] == ["write"]
    assert not (tmp_path / "new.txt").exists()


@pytest.mark.parametrize("answer", [True, False])
async def test_the_callback_decides_and_sees_the_whole_operation(answer: bool, tmp_path: Path) -> None:
    """Plain or awaitable; its answer is for this one operation."""
    seen: list[str] = []

    async def approve(request: wisp.ToolApprovalRequested) -> bool:
        seen.append(request.preview)
        return answer

    async with wisp.Agent(provider=_writes(), cwd=str(tmp_path), approve=approve) as agent:
        await agent.ask("go")

    assert [line for line in seen[0].splitlines() if line == "+hi"] == ["+hi"]
    assert answer is (tmp_path / "new.txt").exists()


async def test_leaving_the_iteration_stops_the_run_and_the_agent_can_be_used_again(tmp_path: Path) -> None:
    """A `break` is enough."""
    provider = wisp.ScriptedProvider(
        [
            wisp.ScriptStep("I wait.", calls=[call("bash", command="sleep 30")]),
            wisp.ScriptStep("Again."),
        ]
    )
    async with wisp.Agent(provider=provider, cwd=str(tmp_path), permission_mode="full") as agent:
        async with asyncio.timeout(10), aclosing(agent.run("go")) as events:
            async for event in events:
                if type(event).__name__ == "ToolExecutionStarted":
                    break
        assert await agent.ask("and now?") == "Again."


async def test_a_conversation_on_disk_can_be_resumed(tmp_path: Path) -> None:
    """The second agent's request holds the first one's exchange."""
    first = wisp.Agent(provider=wisp.ScriptedProvider(["One."]), cwd=str(tmp_path), session=True)
    await first.ask("first")
    kept = first.session_id
    await first.close()
    provider = wisp.ScriptedProvider(["Two."])
    async with wisp.Agent(provider=provider, cwd=str(tmp_path), resume=kept[:10]) as second:
        await second.ask("second")

    assert [getattr(m, "text", "") for m in provider.requests[0].messages] == ["first", "One.", "second"]


async def test_what_cannot_be_made_is_an_error_that_says_why(tmp_path: Path) -> None:
    """The same sentence as on the command line."""
    with pytest.raises(wisp.AgentError, match="nowhere"):
        await wisp.Agent("nowhere/none", cwd=str(tmp_path)).ask("hi")
    with pytest.raises(wisp.AgentError, match="permission_mode"):
        await wisp.Agent(provider=_writes(), cwd=str(tmp_path), permission_mode="yolo").ask("hi")


async def test_limits_end_a_run_with_their_reason(tmp_path: Path) -> None:
    """Two requests are allowed; the third is not made."""
    steps = [wisp.ScriptStep("x", calls=[call("ls", path=".")]) for _ in range(5)]
    agent = wisp.Agent(provider=wisp.ScriptedProvider(steps), cwd=str(tmp_path), max_turns=2)
    with pytest.raises(wisp.AgentError) as failed:
        await agent.ask("go")
    turns = agent.result.turns
    await agent.close()

    assert (failed.value.stop_reason, turns) == ("turn_limit", 2)


@pytest.mark.parametrize("answer", ["no", "yes", None, 1, 0, [], object()])
@pytest.mark.parametrize("waits", [False, True])
async def test_what_a_callback_gives_that_is_neither_yes_nor_no_runs_nothing(
    answer: object, waits: bool, tmp_path: Path
) -> None:
    """A word that says no would count as true."""

    async def later(_: wisp.ToolApprovalRequested) -> object:
        return answer

    def at_once(_: wisp.ToolApprovalRequested) -> object:
        return answer

    approve = later if waits else at_once
    async with wisp.Agent(provider=_writes(), cwd=str(tmp_path), approve=approve) as agent:  # type: ignore[arg-type]
        with pytest.raises(wisp.AgentError, match="approve must give True, False or an ApprovalAnswer"):
            await agent.ask("go")
    assert list(tmp_path.iterdir()) == []


async def test_after_a_plain_break_the_agent_can_be_asked_at_once(tmp_path: Path) -> None:
    """Without `aclosing`: Python closes what was left at some later moment."""
    provider = wisp.ScriptedProvider(["word " * 500, "second"])
    async with wisp.Agent(provider=provider, cwd=str(tmp_path)) as agent:
        async for _ in agent.run("first"):
            break
        assert await agent.ask("again") == "second"


async def test_a_run_that_somebody_still_follows_is_never_stopped_by_another_prompt(tmp_path: Path) -> None:
    """Also after an attempt that was refused, and one that was left."""
    provider = wisp.ScriptedProvider(["first", "word " * 200])
    async with wisp.Agent(provider=provider, cwd=str(tmp_path)) as agent:
        async for _ in agent.run("one"):
            pass
        following = agent.run("two")
        await anext(following)
        for _ in range(2):
            with pytest.raises(wisp.AgentError, match="in progress"):
                await agent.ask("three")
            with pytest.raises(wisp.AgentError, match="in progress"):
                await anext(agent.run("four"))
        last = [event async for event in following][-1]
    assert isinstance(last, wisp.AgentCompleted)
    assert last.stop_reason == "model_finished"


@pytest.mark.parametrize("way", ["plain", "asynchronous"])
def test_an_exit_in_a_callback_is_a_failure_like_others_and_leaves_nobody_waiting(
    way: str, tmp_path: Path
) -> None:
    """Where the agent has a loop of its own, an exit that leaves it would end nothing but that loop."""

    def approve(request: wisp.ToolApprovalRequested) -> bool:
        raise SystemExit(7)

    async def approve_later(request: wisp.ToolApprovalRequested) -> bool:
        await asyncio.sleep(0)
        raise SystemExit(7)

    given = approve if way == "plain" else approve_later
    with wisp.Agent(provider=_writes(), cwd=str(tmp_path), approve=given) as agent:
        with pytest.raises(wisp.AgentError, match=r"approve called sys\.exit\(7\)"):
            agent.ask_sync("go")
    assert not (tmp_path / "new.txt").exists()


async def test_two_that_ask_at_once_share_one_agent_and_the_second_is_told(tmp_path: Path) -> None:
    """They opened one each, which shared nothing but the provider."""
    provider = wisp.ScriptedProvider([wisp.ScriptStep("One.", pause=0.05), "Two."])
    async with wisp.Agent(provider=provider, cwd=str(tmp_path)) as agent:
        both = await asyncio.gather(agent.ask("a"), agent.ask("b"), return_exceptions=True)
        assert [str(said) for said in both] == [
            "One.",
            "a run is in progress; steer it, or cancel it first",
        ]
        assert await agent.ask("c") == "Two."


def test_threads_that_ask_at_once_share_one_agent(tmp_path: Path) -> None:
    """One of them is answered, whichever it is."""
    import threading

    steps = [wisp.ScriptStep("x", calls=[call("bash", command="sleep 0.3")]), "One."]
    said: list[str] = []
    ready = threading.Barrier(4)

    def work() -> None:
        ready.wait()
        try:
            said.append(agent.ask_sync("go"))
        except wisp.AgentError as exc:
            said.append(str(exc))

    with wisp.Agent(
        provider=wisp.ScriptedProvider(steps), cwd=str(tmp_path), permission_mode="full"
    ) as agent:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert sorted(said) == ["One.", *["a run is in progress; steer it, or cancel it first"] * 3]


@pytest.mark.parametrize("what", ["cancel", "close", "steer"])
async def test_another_threads_loop_may_cancel_and_close_and_is_told_of_the_rest(
    what: str, tmp_path: Path
) -> None:
    """Closing waited for ever; the host's tasks are those of the loop where it was opened."""
    steps = [wisp.ScriptStep("x", calls=[call("bash", command="sleep 30")]), "One."]
    agent = wisp.Agent(provider=wisp.ScriptedProvider(steps), cwd=str(tmp_path), permission_mode="full")
    begun = asyncio.Event()

    async def follow() -> None:
        async for event in agent.run("go"):
            if type(event).__name__ == "ToolExecutionStarted":
                begun.set()

    running = asyncio.ensure_future(follow())
    async with asyncio.timeout(20):
        await begun.wait()
        work = {"cancel": agent.cancel, "close": agent.close, "steer": lambda: agent.steer("more")}[what]
        if what == "steer":
            with pytest.raises(wisp.AgentError, match="another event loop"):
                await asyncio.to_thread(lambda: asyncio.run(work()))
            await agent.cancel()
        else:
            await asyncio.to_thread(lambda: asyncio.run(work()))
        await running
        await agent.close()


def test_an_agent_that_could_not_be_opened_in_one_loop_is_not_held_by_it(tmp_path: Path) -> None:
    """The second try says the same as the first, not that it is open elsewhere."""
    agent = wisp.Agent("nowhere/none", cwd=str(tmp_path))
    for _ in range(2):
        with pytest.raises(wisp.AgentError, match="nowhere"):
            asyncio.run(agent.ask("hi"))
