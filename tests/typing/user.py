"""What a user writes; checked with `mypy --strict` by `test_users_types.py`, and never run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import assert_type

import wisp
from wisp.providers.events import Finished, Started
from wisp.testing import Fault, ModelServer, Request, ScriptedProvider, ScriptStep, Step, call, raw_call


@dataclass
class Fault_:
    line: int


@wisp.tool
def plain(number: int, unit: str = "m") -> float:
    """A function."""
    return number * 1.0


@wisp.tool(effect="read", parallel=True, name="other")
async def later(context: wisp.RunContext, number: int) -> str:
    """An async function."""
    context.progress("x")
    return str(number)


@wisp.tool(effect=lambda given: [wisp.Effect("network", str(given["host"]))])
def reach(host: str) -> wisp.ToolOutcome:
    """A function with effects of its own."""
    if not host:
        raise wisp.ToolFailure("not_found", "no host")
    return wisp.ToolOutcome((wisp.Text("x"),))


def bare(number: int) -> None:
    """A function as it is."""


class Echo:
    name, api = "echo", "echo"

    async def stream(self, request: wisp.ModelRequest) -> AsyncIterator[wisp.ProviderEvent]:
        yield Started("1", request.model.id)
        yield Finished(wisp.AssistantMessage((wisp.Text("x"),), stop="stop"))


class Stops:
    async def decide(self, at: wisp.At) -> wisp.Decision:
        return wisp.Decision(stop="enough") if at.turn > 3 else wisp.Decision()


async def approve(request: wisp.ToolApprovalRequested) -> bool | wisp.ApprovalAnswer:
    if request.name == "bash":
        return wisp.ApprovalAnswer(request.digest, False, reason="no")
    return "rm" not in request.preview


async def asynchronous() -> None:
    async with wisp.Agent(
        provider=Echo(), tools=[plain, later, reach, bare], approve=approve, boundary=Stops()
    ) as agent:
        assert_type(await agent.ask("x"), str)
        assert_type(await agent.ask("x", returns=Fault_), Fault_)
        assert_type(await agent.ask("x", returns=list[Fault_]), list[Fault_])
        async for event in agent.run("x", attach=["a.txt"]):
            if isinstance(event, wisp.MessageCompleted):
                assert_type(event.message, wisp.AssistantMessage)
            elif isinstance(event, wisp.AgentCompleted):
                print(event.stop_reason, agent.result.usage.input_tokens, agent.result.cost_usd)
        await agent.steer("x")


def plainly() -> None:
    model = ScriptedProvider(["One.", ScriptStep(calls=[call("plain", number=1), raw_call("plain", "{")])])
    with wisp.Agent(provider=model, approve=lambda request: "rm" not in request.preview) as agent:
        assert_type(agent.ask_sync("x"), str)
        assert_type(agent.ask_sync("x", returns=Fault_), Fault_)
        for event in agent.run_sync("x"):
            assert_type(event, wisp.Event)
        assert_type(agent.result, wisp.RunView)
        assert_type([denial.tool for denial in agent.result.denials], list[str])
    assert_type(plain(3), float)
    plain("three")  # type: ignore[arg-type]
    assert_type(model.requests[0].tools, tuple[wisp.ToolSpec, ...])


async def served() -> None:
    async with ModelServer([Step(text="x", fault=Fault(status=500))]) as server:
        assert_type(server.requests, list[Request])
