"""The loop without a harness: stopped by its task, closed, or let down by its guard, it leaves nothing running."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from agent_world import MODEL, FakeTool, gate, kind

from wisp.harness.toolbox import Toolbox
from wisp.loop.runner import RunSpec, run_agent_loop
from wisp.messages.ids import FixedClock
from wisp.messages.message import AssistantMessage, ToolResult, user
from wisp.providers.scripted import ScriptedProvider, ScriptStep, call


class Book:
    """A guard that keeps what it was told, in order; may fail at one of its steps."""

    def __init__(self, fail_at: int = -1) -> None:
        self.told: list[Any] = []
        self._fail_at = fail_at

    async def _step(self, what: Any) -> None:
        await asyncio.sleep(0)
        if len(self.told) == self._fail_at:
            self._fail_at = -1
            raise OSError("disk full")
        self.told.append(what)

    async def about_to(self, intent: Any) -> None:
        await self._step(intent)

    async def settled(self, outcome: Any) -> None:
        await self._step(outcome)

    @property
    def open_intents(self) -> set[str]:
        ids = {i.call.id for i in self.told if kind(i) == "CallIntent"}
        return ids - {r.call_id for r in self.told if isinstance(r, ToolResult)}


async def nap(arguments: Any, context: Any) -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def begin(parallel: bool, book: Book) -> tuple[Any, FakeTool]:
    tool = FakeTool("t", parallel=parallel, work=nap)
    steps = [ScriptStep("hi", calls=tuple(call("t", x=str(n)) for n in range(3)), pause=0.0001), "end"]
    loop = run_agent_loop(
        [user("go")],
        RunSpec(MODEL),
        ScriptedProvider(steps),
        Toolbox([tool], gate()),
        FixedClock(),
        guard=book,
    )
    return loop, tool


@pytest.mark.parametrize("parallel", [False, True])
async def test_a_cancellation_nobody_asked_for_propagates_after_everything_is_settled(parallel: bool) -> None:
    for steps in range(80):
        book = Book()
        loop, tool = begin(parallel, book)

        async def drive(loop: Any = loop) -> None:
            async with aclosing(loop) as events:
                async for _ in events:
                    pass

        task = asyncio.ensure_future(drive())
        for _ in range(steps):
            await asyncio.sleep(0)
        over = task.done()
        task.cancel()
        if not over:
            with pytest.raises(asyncio.CancelledError):
                await task
        assert tool.running == 0
        assert book.open_intents == set()


@pytest.mark.parametrize("parallel", [False, True])
async def test_closing_after_every_event_settles_what_was_begun(parallel: bool) -> None:
    place = 0
    while True:
        book = Book()
        loop, tool = begin(parallel, book)
        seen = 0
        async for _ in loop:
            seen += 1
            if seen > place:
                break
        else:
            return
        await loop.aclose()
        assert tool.running == 0
        assert book.open_intents == set()
        place += 1


@pytest.mark.parametrize("parallel", [False, True])
async def test_a_guard_that_fails_at_any_step_ends_the_run_before_the_next_effect(parallel: bool) -> None:
    whole = Book()
    loop, _ = begin(parallel, whole)
    assert kind([event async for event in loop][-1]) == "AgentCompleted"
    for place in range(len(whole.told)):
        book = Book(place)
        loop, tool = begin(parallel, book)
        seen: list[Any] = []
        with pytest.raises(OSError, match="disk full"):
            async for event in loop:
                seen.append(event)
        assert kind(seen[-1]) == "TurnCompleted"
        assert tool.running == 0
        intents = [i.call.arguments for i in book.told if kind(i) == "CallIntent"]
        assert len(tool.started) <= len(intents), "a call ran without its intent"
        answers = [m for m in book.told if isinstance(m, AssistantMessage)]
        assert not tool.started or answers, "a call ran before its message was kept"
