"""One batch of calls: prepare all, run them in a lawful order, and give each exactly one result.

Every path out of here, cancellation and closing included, leaves no call running.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any

import msgspec

from wisp.loop.batch import groups
from wisp.loop.events import (
    Event,
    ToolCalled,
    ToolExecutionEnded,
    ToolExecutionStarted,
    ToolResultAdded,
)
from wisp.loop.ports import CallIntent, Cancellation, EffectGuard, ReadyCall, ToolRuntime
from wisp.loop.settle import uncancelled
from wisp.messages.content import Text, ToolCall
from wisp.messages.ids import Clock
from wisp.messages.message import ToolResult
from wisp.messages.tool import ToolOutcome


class Slot:
    """One call's place in the batch, from its preparation to its result."""

    def __init__(self, call: ToolCall, result_id: str) -> None:
        self.call = call
        self.result_id = result_id
        self.ready: ReadyCall | None = None
        self.task: asyncio.Task[ToolOutcome] | None = None
        self.began = 0.0
        self.ran = False

    # What batch.groups looks at.
    @property
    def failure(self) -> ToolOutcome | None:
        return self.ready.failure if self.ready else cancelled_outcome()

    @property
    def parallel_safe(self) -> bool:
        return self.ready is not None and self.ready.parallel_safe

    @property
    def effectful(self) -> bool:
        return self.ready is not None and self.ready.effectful

    @property
    def resources(self) -> tuple[str, ...]:
        return self.ready.resources if self.ready else ()


def cancelled_outcome() -> ToolOutcome:
    """What a call gets that was never begun because the run was stopped."""
    return _failed("cancelled", "not run: the user interrupted before it started")


def _failed(code: str, message: str) -> ToolOutcome:
    return ToolOutcome((Text(f"error ({code}): {message}"),), True, code)


class Batch:
    """Runs the calls of one message.  Use `events()` once; `results` then holds one result per call."""

    def __init__(
        self,
        turn: int,
        calls: Sequence[ToolCall],
        runtime: ToolRuntime,
        guard: EffectGuard,
        clock: Clock,
        cancel: Cancellation,
    ) -> None:
        self._turn = turn
        self._runtime = runtime
        self._guard = guard
        self._clock = clock
        self._cancel = cancel
        self._slots = [Slot(call, clock.new_id()) for call in calls]
        self._told: list[Event] = []
        self._wake = asyncio.Event()
        self._foreign: BaseException | None = None
        self.results: list[ToolResult] = []
        self.stopped = False
        """Whether a requested cancellation ended the batch."""

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run the batch, telling its events.  Raises what a tool's bug raised, after settling the rest."""
        try:
            async for event in self._prepare():
                yield event
            for group in groups(self._slots):
                async for event in self._run_group(group):
                    yield event
            if self._foreign is not None:
                raise self._foreign
        finally:
            await self._abandon()

    async def _prepare(self) -> AsyncIterator[Event]:
        for slot in self._slots:
            slot.began = self._clock.monotonic()
            yield ToolCalled(self._turn, slot.call.id, slot.call.name, slot.call.arguments)
            yield ToolExecutionStarted(self._turn, slot.call.id, slot.call.name)
            if self._over():
                continue
            preparing = asyncio.ensure_future(self._runtime.prepare(slot.call, self._emit))
            try:
                async for event in self._until([preparing]):
                    yield event
            finally:
                if not preparing.done():
                    preparing.cancel()
                    await asyncio.wait([preparing])
            if preparing.cancelled():
                continue
            if (error := preparing.exception()) is not None:
                self._foreign = self._foreign or error
            else:
                slot.ready = preparing.result()

    async def _run_group(self, group: list[Slot]) -> AsyncIterator[Event]:
        for slot in group:
            ready = slot.ready
            if ready is None or ready.failure is not None or self._over():
                continue
            intent = CallIntent(
                self._turn, slot.call, slot.result_id, ready.replay, ready.effectful, ready.effects
            )
            try:
                await uncancelled(self._guard.about_to(intent))
            except asyncio.CancelledError:
                self._note_cancel()
                continue
            slot.ran = True
            slot.task = asyncio.ensure_future(_run(ready, self._emit))
        async for event in self._until([slot.task for slot in group if slot.task is not None]):
            yield event
        for slot in group:
            for event in await self._settle(slot, self._outcome(slot)):
                yield event

    def _over(self) -> bool:
        """Whether nothing more may begin: the run was asked to stop, or something broke."""
        self.stopped = self.stopped or bool(self._cancel.requested)
        return self.stopped or self._foreign is not None

    def _outcome(self, slot: Slot) -> ToolOutcome:
        if slot.task is not None and slot.task.done():
            if slot.task.cancelled():
                return _failed("cancelled", "stopped by the user; it may have done a part of its work")
            error = slot.task.exception()
            if error is None:
                return slot.task.result()
            self._foreign = self._foreign or error
            return _failed("internal", "the tool failed inside the agent; this is a bug")
        if slot.ready is not None and slot.ready.failure is not None:
            return slot.ready.failure
        if self.stopped:
            return cancelled_outcome()
        return _failed("not_started", "not run: the run ended before this call started")

    async def _settle(self, slot: Slot, outcome: ToolOutcome) -> list[Event]:
        call = slot.call
        result = ToolResult(
            call.id, call.name, outcome.content, outcome.is_error, outcome.code, slot.result_id
        )
        try:
            await uncancelled(self._guard.settled(result))
        except asyncio.CancelledError:
            self._note_cancel()
        self.results.append(result)
        ended = ToolExecutionEnded(
            self._turn,
            call.id,
            call.name,
            outcome.text,
            outcome.is_error,
            outcome.code,
            int((self._clock.monotonic() - slot.began) * 1000),
            slot.ran and slot.effectful,
            outcome.details,
            slot.ready.summary if slot.ready else "",
        )
        return [ended, ToolResultAdded(self._turn, result)]

    def _emit(self, event: Event) -> None:
        self._told.append(event)
        self._wake.set()

    async def _until(self, tasks: Sequence[asyncio.Future[Any]]) -> AsyncIterator[Event]:
        """Tell events until all `tasks` are done; every cancellation is passed on to them."""
        for task in tasks:
            task.add_done_callback(lambda _: self._wake.set())
            if self.stopped:  # a cancellation came while the group was being started
                task.cancel()
        while True:
            while self._told:
                yield self._told.pop(0)
            if all(task.done() for task in tasks):
                return
            self._wake.clear()
            try:
                await self._wake.wait()
            except asyncio.CancelledError:
                self._note_cancel()
                for task in tasks:
                    task.cancel()

    def _note_cancel(self) -> None:
        """A cancellation arrived; take it when it was asked for, else remember to pass it on."""
        self.stopped = True
        if self._cancel.requested:
            current = asyncio.current_task()
            if current is not None:
                current.uncancel()
        else:
            self._foreign = self._foreign or asyncio.CancelledError()

    async def _abandon(self) -> None:
        """Stop what still runs and answer every call; only after an error or when the iterator was closed."""
        if len(self.results) == len(self._slots):
            return
        running = [slot.task for slot in self._slots if slot.task is not None and not slot.task.done()]
        for task in running:
            task.cancel()
        if running:
            try:
                await uncancelled(_all_done(running))
            except asyncio.CancelledError:
                self._note_cancel()
        for slot in self._slots[len(self.results) :]:
            await self._settle(slot, self._outcome(slot))
        if isinstance(self._foreign, asyncio.CancelledError):
            raise self._foreign


async def _run(ready: ReadyCall, emit: Callable[[Event], None]) -> ToolOutcome:
    return await ready.run(emit)


async def _all_done(tasks: Sequence[asyncio.Task[ToolOutcome]]) -> None:
    await asyncio.wait(tasks)


def unrun(calls: Sequence[ToolCall], code: str, message: str, clock: Clock) -> list[ToolResult]:
    """Results for calls that are not run at all, with the reason the model is told."""
    return [
        ToolResult(call.id, call.name, (Text(f"error ({code}): {message}"),), True, code, clock.new_id())
        for call in calls
    ]


def told_unrun(turn: int, call: ToolCall, result: ToolResult) -> list[Event]:
    """The events of a call that is not run: called, taken up, ended, answered."""
    return [
        ToolCalled(turn, call.id, call.name, call.arguments),
        ToolExecutionStarted(turn, call.id, call.name),
        ToolExecutionEnded(turn, call.id, call.name, result.text, True, result.code),
        ToolResultAdded(turn, msgspec.structs.replace(result)),
    ]
