"""Code of the program's own may leave in any way: the agent's loop goes on, and nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import wisp
from wisp.loop.boundary import At, Decision
from wisp.messages.message import ToolResult
from wisp.messages.tool import Effect, ToolOutcome, ToolSpec, plain
from wisp.providers.base import ModelRequest
from wisp.providers.events import ProviderEvent
from wisp.providers.scripted import call
from wisp.tools.base import Prepared, RunContext


class Odd(BaseException):
    """What is no `Exception`."""


LEAVES = [SystemExit, KeyboardInterrupt, GeneratorExit, Odd, asyncio.CancelledError, StopIteration]


class World:
    """An agent all of whose parts are the program's own; one of them leaves, once."""

    def __init__(self, where: str, leave: type[BaseException]) -> None:
        self._where, self._leave = where, leave
        calls = [call(name) for name in ("plain", "waiting", "object")] + [call("ask_user", question="?")]
        self._script = wisp.ScriptedProvider(
            [wisp.ScriptStep("Some words.", calls=calls), "All done.", "More."]
        )
        self.name, self.api = "own", "own"

    def here(self, where: str) -> None:
        if where == self._where:
            self._where = ""
            raise self._leave("left")

    # -- the provider

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        self.here("stream")
        return self._events(request)

    async def _events(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        self.here("first event")
        async for number, event in aenumerate(self._script.stream(request)):
            if number == 2:
                self.here("later event")
            yield event
        self.here("end of events")

    # -- a tool that is an object

    spec = ToolSpec("object", "A tool.", {"type": "object", "properties": {}})
    parallel_safe = False
    replay = "never"

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        self.here("prepare")

        async def run(context: RunContext) -> ToolOutcome:
            self.here("run of an object")
            return plain("ok")

        return Prepared("object", arguments, (Effect("execute", "x"),), run, "object")

    async def decide(self, at: At) -> Decision:
        self.here("boundary")
        return Decision()

    def agent(self, folder: Path) -> wisp.Agent:
        def plain() -> str:
            """A tool."""
            self.here("function")
            return "ok"

        async def waiting() -> str:
            """A tool."""
            self.here("waiting function")
            return "ok"

        async def approve(request: wisp.ToolApprovalRequested) -> bool:
            self.here("approve")
            return True

        def answer(question: wisp.QuestionAsked) -> str:
            self.here("answer")
            return "yes"

        return wisp.Agent(
            provider=self,
            cwd=str(folder),
            tools=[plain, waiting, self],  # type: ignore[list-item]  # `replay` as a class has it
            approve=approve,
            answer=answer,
            boundary=self,
        )

    @property
    def results(self) -> list[ToolResult]:
        last = self._script.requests[-1].messages
        return [message for message in last if isinstance(message, ToolResult)]


async def aenumerate(events: AsyncIterator[Any]) -> AsyncIterator[tuple[int, Any]]:
    number = 0
    async for event in events:
        yield number, event
        number += 1


PROVIDER = ["stream", "first event", "later event", "end of events"]
TOOLS = ["function", "waiting function", "prepare", "run of an object"]


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("where", [*PROVIDER, *TOOLS, "boundary", "approve", "answer"])
def test_whatever_leaves_the_programs_own_code_ends_no_loop_and_leaves_nobody_waiting(
    where: str, leave: type[BaseException], way: str, tmp_path: Path
) -> None:
    """A tool's is a failed result, another's a failed run that names it; an interrupt reaches who asked, once
    the run is settled; and the agent can be asked again."""
    world = World(where, leave)
    agent = world.agent(tmp_path)
    in_thread = where in ("function", "prepare")  # where no interrupt is a person's

    async def both() -> tuple[Any, str]:
        async with agent:
            return await asked(), await agent.ask("again")

    async def asked() -> Any:
        try:
            return await agent.ask("go")
        except BaseException as exc:
            return exc

    if way == "async":
        said, again = asyncio.run(both())
    else:
        with agent:
            try:
                said = agent.ask_sync("go")
            except BaseException as exc:
                said = exc
            again = agent.ask_sync("again")

    if leave is KeyboardInterrupt and not in_thread:
        assert isinstance(said, KeyboardInterrupt)
    elif where in TOOLS and not (leave is StopIteration and where in ("prepare", "run of an object")):
        assert said == "All done."
        failed = [result for result in world.results if result.is_error]
        assert [result.code for result in failed] == ["failed"]
        assert leave.__name__ in failed[0].text
    else:
        assert isinstance(said, wisp.AgentError)
        assert leave.__name__ in str(said) or "sys.exit('left')" in str(said)
    assert again in ("All done.", "More.")


def test_an_interrupted_run_is_settled_before_its_caller_hears_of_it(tmp_path: Path) -> None:
    """What was on its way has its end in the conversation."""
    world = World("waiting function", KeyboardInterrupt)
    with world.agent(tmp_path) as agent:
        with pytest.raises(KeyboardInterrupt):
            agent.ask_sync("go")
        assert agent.result.stop_reason == "cancelled"
        agent.ask_sync("again")

    assert [result.name for result in world.results] == ["plain", "waiting", "object", "ask_user"]
    assert [result.is_error for result in world.results] == [False, True, True, True]
