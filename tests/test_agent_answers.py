"""Answers as values, plain code without `await`, and what a program brings along."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest

import wisp
from wisp.testing import ScriptedProvider, ScriptStep, call


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing outside the test's own folder is read or written."""
    monkeypatch.setenv("WISP_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@dataclass
class Data:
    name: str
    count: int = 1


class Struct(msgspec.Struct):
    name: str
    count: int = 1


class Model(pydantic.BaseModel):
    name: str
    count: int = pydantic.Field(default=1, lt=10)


def _said(request: wisp.ModelRequest) -> list[str]:
    return [m.text for m in request.messages if isinstance(m, wisp.UserMessage)]


@pytest.mark.parametrize("kind", [Data, Struct, Model])
async def test_an_answer_is_a_value_of_the_type_that_was_asked_for(kind: type[Any]) -> None:
    """The model is told the schema; a fence around the answer is no fault; numbers may come as text."""
    model = ScriptedProvider(['```json\n{"name": "x", "count": "7"}\n```'])
    async with wisp.Agent(provider=model) as agent:
        assert await agent.ask("What?", returns=kind) == kind(name="x", count=7)
    [said] = _said(model.requests[0])
    schema = json.loads(said.rpartition("\n")[2])
    assert schema["required"] == ["name"]
    assert set(schema["properties"]) == {"name", "count"}


@pytest.mark.parametrize("kind", [Data, Struct, Model])
async def test_an_answer_that_does_not_fit_is_asked_for_once_more_and_then_an_error(kind: type[Any]) -> None:
    """In each run anew, and the model is told what was wrong."""
    model = ScriptedProvider(
        ['{"count": 1}', '{"name": "x"}', "no JSON", '{"name": 3}', '{"x": 1}', '{"name": "y"}']
    )
    async with wisp.Agent(provider=model) as agent:
        assert (await agent.ask("What?", returns=kind)).name == "x"
        assert "name" in _said(model.requests[1])[-1]
        with pytest.raises(wisp.AgentError, match="does not fit") as failed:
            await agent.ask("Again?", returns=kind)
        assert failed.value.stop_reason == "model_finished"
        assert (await agent.ask("Again?", returns=kind)).name == "y"
    assert model.done


async def test_a_run_that_was_left_in_its_repair_does_not_cost_the_next_one_its_own() -> None:
    model = ScriptedProvider(["none", ScriptStep("slow" * 50, pause=0.05), "none", "[3]"])
    async with wisp.Agent(provider=model) as agent:
        task = asyncio.ensure_future(agent.ask("First?", returns=list[int]))
        while len(model.requests) < 2:
            await asyncio.sleep(0.01)
        await agent.cancel()
        with pytest.raises(wisp.AgentError):
            await task
        assert await agent.ask("Second?", returns=list[int]) == [3]


async def test_a_text_is_asked_for_after_a_value_and_nothing_of_the_type_remains() -> None:
    model = ScriptedProvider(["[1, 2]", "Plain words."])
    async with wisp.Agent(provider=model) as agent:
        assert await agent.ask("Numbers?", returns=list[int]) == [1, 2]
        assert await agent.ask("Words?") == "Plain words."
    assert _said(model.requests[1])[-1] == "Words?"


async def test_a_type_that_json_cannot_say_is_refused_before_a_request() -> None:
    model = ScriptedProvider([])
    async with wisp.Agent(provider=model) as agent:
        with pytest.raises(TypeError):
            await agent.ask("What?", returns=threading.Thread)
    assert model.requests == []


def test_plain_code_asks_and_watches_without_an_event_loop() -> None:
    """The same events as in asynchronous code; the agent can be asked again."""
    with wisp.Agent(provider=ScriptedProvider(["One.", "[2]", "Three."])) as agent:
        assert agent.ask_sync("1") == "One."
        assert agent.ask_sync("2", returns=list[int]) == [2]
        events = list(agent.run_sync("3"))
        assert isinstance(events[-1], wisp.AgentCompleted)
        assert agent.result.answer == "Three."


async def test_plain_methods_work_inside_a_running_loop() -> None:
    """As in a notebook, whose cells run in one."""
    with wisp.Agent(provider=ScriptedProvider(["One.", "Two."])) as agent:
        assert agent.ask_sync("1") == "One."
        assert [type(event) for event in agent.run_sync("2")][-1] is wisp.AgentCompleted


def test_leaving_the_iteration_early_stops_the_run() -> None:
    model = ScriptedProvider(
        [ScriptStep("I wait.", calls=[call("bash", command="sleep 100")]), ScriptStep("Again.")]
    )
    with wisp.Agent(provider=model, permission_mode="full", options={"sandbox": "off"}) as agent:
        for event in agent.run_sync("go"):
            if isinstance(event, wisp.ToolExecutionStarted):
                break
        assert agent.ask_sync("and now?") == "Again."


def test_an_interrupt_stops_the_run_and_leaves_the_agent_usable() -> None:
    """Ctrl+C while plain code waits."""
    model = ScriptedProvider(
        [ScriptStep("I wait.", calls=[call("bash", command="sleep 100")]), ScriptStep("Again.")]
    )
    main = threading.main_thread().ident or 0
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job begins without it

    def when_it_runs(request: wisp.ToolApprovalRequested) -> bool:
        threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
        return True

    with wisp.Agent(provider=model, approve=when_it_runs, options={"sandbox": "off"}) as agent:
        try:
            with pytest.raises(KeyboardInterrupt):
                agent.ask_sync("go")
        finally:
            signal.signal(signal.SIGINT, before)
        assert agent.ask_sync("and now?") == "Again."


async def test_an_agent_that_is_open_in_one_loop_says_so_in_another() -> None:
    """Instead of waiting for ever."""
    agent = wisp.Agent(provider=ScriptedProvider(["One.", "Two."]))
    await agent.ask("1")
    with pytest.raises(wisp.AgentError, match="_sync"):
        agent.ask_sync("2")
    with pytest.raises(wisp.AgentError, match="another event loop"):
        await asyncio.to_thread(asyncio.run, agent.ask("2"))
    await agent.close()
    with agent:
        assert agent.ask_sync("2") == "Two."


def test_a_callback_that_waits_for_its_own_agent_is_told_so() -> None:
    """It would wait for ever; the run ends with the reason."""
    agent = wisp.Agent(provider=ScriptedProvider([ScriptStep(calls=[call("write", path="a", content="")])]))
    asked: list[str] = []

    def approve(request: wisp.ToolApprovalRequested) -> bool:
        try:
            inner.ask_sync("may it?")
        except RuntimeError as exc:
            asked.append(str(exc))
        return False

    provider = ScriptedProvider(
        [ScriptStep(calls=[call("write", path="a", content="")]), ScriptStep("Done.")]
    )
    with wisp.Agent(provider=provider, approve=approve) as inner:
        assert inner.ask_sync("go") == "Done."
    assert "cannot wait for the agent" in asked[0]
    assert agent.session_id == ""


def order(item: str) -> str:
    """Order an item."""
    return f"ordered {item}"


def _orders() -> ScriptedProvider:
    return ScriptedProvider([ScriptStep(calls=[call("order", item="tea")]), ScriptStep("Done.")])


async def test_a_function_is_asked_about_as_any_effect_and_rules_settle_it() -> None:
    """Refused where nobody answers, allowed by a rule of its name, refused by one in every mode."""
    for settled, refused in (({}, 1), ({"allow": ["order"]}, 0), ({"permission_mode": "full"}, 0)):
        async with wisp.Agent(provider=_orders(), tools=[order], **settled) as agent:  # type: ignore[arg-type]
            await agent.ask("go")
            assert len(agent.result.denials) == refused, settled
    reads = wisp.tool(effect="read")(order)
    for more, refused in (({}, 0), ({"deny": ["order"]}, 1)):
        async with wisp.Agent(provider=_orders(), tools=[reads], **more) as agent:  # type: ignore[arg-type]
            await agent.ask("go")
            assert len(agent.result.denials) == refused, more


async def test_an_approval_may_say_why_not() -> None:
    model = ScriptedProvider(
        [ScriptStep(calls=[call("order", item="tea")]), ScriptStep("Done.", after="too late today")]
    )

    def approve(request: wisp.ToolApprovalRequested) -> wisp.ApprovalAnswer:
        return wisp.ApprovalAnswer(request.digest, False, reason="too late today")

    async with wisp.Agent(provider=model, tools=[order], approve=approve) as agent:
        assert await agent.ask("go") == "Done."


async def test_a_programs_tool_takes_the_place_of_a_built_in_one_and_two_of_a_name_are_refused() -> None:
    @wisp.tool(name="read", effect="read")
    def mine(path: str) -> str:
        """Read from a store."""
        return f"stored {path}"

    model = ScriptedProvider(
        [ScriptStep(calls=[call("read", path="k")]), ScriptStep("Ok.", after="stored k")]
    )
    async with wisp.Agent(provider=model, tools=[mine]) as agent:
        await agent.ask("go")
    assert [tool.name for tool in model.requests[0].tools].count("read") == 1
    with pytest.raises(wisp.AgentError, match="two tools are named 'order'"):
        await wisp.Agent(provider=_orders(), tools=[order, order]).ask("go")


async def test_the_prompt_is_the_programs_own_and_files_go_along() -> None:
    """Wisp's own words are not sent; an attached file is."""
    Path("notes.txt").write_text("the secret word is swordfish\n")
    model = ScriptedProvider(["Yes."])
    async with wisp.Agent(provider=model, prompt="You are a parrot.", instructions="Be loud.") as agent:
        await agent.ask("hello", attach=["notes.txt"])
        with pytest.raises(wisp.AgentError, match="cannot be attached"):
            await agent.ask("hello", attach=["missing.txt"])
    request = model.requests[0]
    assert request.system[0] == "You are a parrot."
    assert request.system[-1] == "Be loud."
    assert not any("Wisp" in block for block in request.system)
    assert "swordfish" in str(request.messages[-1])


async def test_a_refused_command_is_an_agents_error() -> None:
    async with wisp.Agent(provider=ScriptedProvider([])) as agent:
        with pytest.raises(wisp.AgentError, match="nothing waits"):
            await agent.take_back()
    with pytest.raises(wisp.AgentError) as failed:
        await wisp.Agent(provider=ScriptedProvider([]), options={"no_such": 1}).ask("hi")
    assert str(failed.value) == "there is no setting 'no_such'"


async def test_two_runs_at_once_are_refused_and_the_first_goes_on() -> None:
    model = ScriptedProvider([ScriptStep("a long answer " * 20, pause=0.01)])
    async with wisp.Agent(provider=model) as agent, aclosing(agent.run("first")) as events:
        await anext(events)
        with pytest.raises(wisp.AgentError, match="in progress"):
            await agent.ask("second")
        async for _ in events:
            pass
        assert agent.result.stop_reason == "model_finished"
