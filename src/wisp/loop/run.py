"""The state of one run and its steps, from `AgentStarted` to `AgentCompleted`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec

from wisp.loop.boundary import At, Boundary, Decision, Stale, reshaped
from wisp.loop.events import (
    AgentCompleted,
    AgentStarted,
    CompactionCompleted,
    ContextOverflow,
    ErrorReported,
    Event,
    MessageCompleted,
    QueueMessageInjected,
    RunStop,
    TurnCompleted,
    TurnOutcome,
    TurnStarted,
)
from wisp.loop.execute import Batch, told_unrun, unrun
from wisp.loop.limits import Limits, Spent, projected
from wisp.loop.oversight import Coming, Halt, Overseer
from wisp.loop.ports import (
    Cancellation,
    EffectGuard,
    Fitted,
    Fitter,
    Mailbox,
    RequestIntent,
    ToolRuntime,
)
from wisp.loop.repeats import REMIND, REMINDER, Repeats
from wisp.loop.settle import uncancelled
from wisp.loop.stream import AnswerStream
from wisp.loop.turn import AskAgain, RefuseCalls, RunCalls, Stop, what_next
from wisp.messages.ids import Clock
from wisp.messages.message import AssistantMessage, Message, Notice, StopReason, ToolResult
from wisp.messages.usage import ZERO, Price, Usage, cost_of
from wisp.providers.base import ModelInfo, ModelRequest, Provider
from wisp.providers.events import Failed


class RunSpec(msgspec.Struct, frozen=True):
    """What stays the same for all requests of a run."""

    model: ModelInfo
    system: tuple[str, ...] = ()
    limits: Limits = Limits()
    max_output: int | None = None
    effort: str = ""
    session_id: str = ""
    output_schema: dict[str, Any] | None = None


class Run:
    """The state of one run; lives as long as its generator."""

    def __init__(
        self,
        messages: list[Message],
        spec: RunSpec,
        provider: Provider,
        tools: ToolRuntime,
        clock: Clock,
        guard: EffectGuard,
        mailbox: Mailbox,
        cancel: Cancellation,
        fitter: Fitter,
        overseer: Overseer,
        boundary: Boundary,
    ) -> None:
        self.overseer = overseer
        self.boundary = boundary
        self.repeats = Repeats()
        self.basis: tuple[Usage, int] | None = None
        """What the last whole request used, and how many messages the history had after its answer."""
        self.fitter = fitter
        self.refitted = False
        self.overflowed = False
        self.messages = messages
        self.spec = spec
        self.provider = provider
        self.tools = tools
        self.clock = clock
        self.guard = guard
        self.mailbox = mailbox
        self.cancel = cancel
        self.spent = Spent()
        self.stop: AgentCompleted | None = None
        self.answer: AssistantMessage | None = None
        self.cut: asyncio.CancelledError | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        yield AgentStarted(self.provider.name, self.spec.model.id)
        while self.stop is None:
            async for told in self._allowed():
                yield told
            if self.stop is not None or self._cancelled():
                break
            turn = self.spent.turns + 1
            yield TurnStarted(turn)
            self.answer = None
            broken: Exception | None = None
            try:
                async with aclosing(self._turn(turn)) as events:
                    async for event in events:
                        yield event
            except Exception as exc:  # raised again below, once the turn has its end
                broken = exc
            outcome = self._outcome(broken)
            again = self.overflowed and self.answer is None and self.stop is None
            yield TurnCompleted(turn, "failed" if again else outcome, self._finish_reason(outcome), again)
            if broken is not None:
                raise broken
            async for event in self._boundary():
                yield event
        assert self.stop is not None
        yield msgspec.structs.replace(self.stop, turns=self.spent.turns)

    def _outcome(self, broken: Exception | None) -> TurnOutcome:
        if broken is not None:
            return "failed"
        reason = self.stop.stop_reason if self.stop is not None else ""
        if reason == "cancelled":
            return "cancelled"
        return "failed" if reason in ("provider_failure", "error") else "completed"

    def _finish_reason(self, outcome: TurnOutcome) -> StopReason:
        if outcome == "cancelled":
            return "cancelled"
        return self.answer.stop if self.answer is not None else "error"

    async def _allowed(self) -> AsyncGenerator[Event, None]:
        """Ask whether another request may be made; ends the run where not."""
        try:
            async for item in self.overseer.before(self._coming()):
                if isinstance(item, Halt):
                    self._end(item.reason, item.message, item.kind)
                else:
                    yield item
        except asyncio.CancelledError as exc:
            self._caught(exc)

    def _coming(self) -> Coming:
        cost = None
        if self.basis is not None:
            usage, known = self.basis
            cost = projected(usage, self.messages[known:], self.spec.model.price)
        return Coming(self.spent, self.spec.limits, cost, self.repeats.count)

    async def _boundary(self) -> AsyncGenerator[Event, None]:
        """Between two turns: a decision first, then waiting messages; one takes back a normal end of the run.

        What no request of this run could answer stays in the queue.
        """
        ended = self.stop
        if (ended is not None and ended.stop_reason != "model_finished") or self.cancel.requested:
            return
        decision = await self._decision(ended is not None)
        if decision.stop:
            self._end("refused" if decision.refused else "cancelled", decision.stop)
            return
        try:
            self.messages = reshaped(self.messages, decision) or self.messages
        except Stale as exc:
            yield ErrorReported(f"a change of the history was not made: {exc}", "boundary")
        if self.cancel.requested or self.overseer.forbids(self._coming()):
            return
        extra = [QueueMessageInjected("extra", message) for message in decision.extra]
        if self.repeats.count == REMIND and ended is None:
            text = REMINDER.format(count=self.repeats.count)
            extra.append(QueueMessageInjected("notice", Notice(text, self.clock.new_id())))
        for injected in (*extra, *self.mailbox.collect(would_stop=ended is not None)):
            self.stop = None
            self.messages.append(injected.message)
            yield injected

    async def _decision(self, would_stop: bool) -> Decision:
        try:
            return await self.boundary.decide(At(self.spent.turns, would_stop, tuple(self.messages)))
        except asyncio.CancelledError as exc:
            self._caught(exc)
            self._cancelled()
            return Decision()

    def _end(self, reason: RunStop, error: str = "", kind: str = "") -> None:
        self.stop = AgentCompleted(reason, self.spent.turns, error, kind)

    # -- one turn -----------------------------------------------------------------------------------------

    async def _turn(self, turn: int) -> AsyncGenerator[Event, None]:
        async with aclosing(self._ask(turn)) as asking:
            async for event in asking:
                yield event
        answer = self.answer
        if answer is None or self.stop is not None:
            return
        step = what_next(answer)
        if isinstance(step, Stop):
            self._end(step.reason, step.error)
        elif isinstance(step, RunCalls):
            async with aclosing(self._run_calls(turn, step)) as running:
                async for event in running:
                    yield event
        elif isinstance(step, RefuseCalls):
            async with aclosing(self._refuse_calls(turn, step)) as refusing:
                async for event in refusing:
                    yield event
        else:
            assert isinstance(step, AskAgain)

    async def _fit(self, *, overflow: bool) -> AsyncGenerator[Event, None]:
        """Have the history shortened where it does not fit; `refitted` says whether it was."""
        self.refitted = False
        async for item in self.fitter.fit(self._request(), overflow=overflow):
            if isinstance(item, Fitted):
                self.messages = list(item.messages)
                self.spent = self.spent.beside(item.usage or ZERO, item.cost)
                self.overseer.charge(item.usage or ZERO, item.cost, turn=False)
                self.basis = None
                self.refitted = True
            else:
                if isinstance(item, CompactionCompleted) and item.outcome == "no_gain" and item.usage:
                    self.spent = self.spent.beside(item.usage, item.cost_usd)
                    self.overseer.charge(item.usage, item.cost_usd, turn=False)
                yield item

    async def _overflowed(self, turn: int, failed: Failed) -> AsyncGenerator[Event, None]:
        """The request did not fit: shorten once and let another turn follow, else the run is over."""
        yield ContextOverflow(turn, self.spec.model.context_window, failed.message)
        if not self.overflowed:
            async for event in self._fit(overflow=True):
                yield event
            if self.refitted:
                self.overflowed = True
                return
        why = self.fitter.explain(self._request())
        self._end("provider_failure", f"{failed.message}; {why}" if why else failed.message, failed.kind)

    async def _ask(self, turn: int) -> AsyncGenerator[Event, None]:
        message_id = self.clock.new_id()
        try:
            async for event in self._fit(overflow=False):
                yield event
        except asyncio.CancelledError as exc:
            self._caught(exc)
            self._spend(None, None)
            self._cancelled()
            return
        request = self._request()
        stream = AnswerStream(self.provider, request, turn, message_id)
        try:
            who = self.provider
            await self.guard.about_to(RequestIntent(turn, message_id, request, who.name, who.api))
            if self._cancelled():
                self._spend(None, None)
                return
            async with aclosing(stream.events()) as events:
                async for event in events:
                    yield event
        except asyncio.CancelledError as exc:
            self._caught(exc)
            self._spend(None, None)
            await self._keep_partial(stream.partial("cancelled", self.cancel.requested or "cancelled"))
            self._cancelled()
            return
        final = stream.final
        if final is None:
            self._spend(None, None)
            self._end("error", f"the provider {self.provider.name!r} ended without a result", "protocol")
        elif isinstance(final, Failed):
            self._spend(None, None)
            await self._keep_partial(stream.partial("error", final.message))
            if self._cancelled():
                return
            if final.kind != "too_long":
                self._end("provider_failure", final.message, final.kind)
                return
            try:
                async for event in self._overflowed(turn, final):
                    yield event
            except asyncio.CancelledError as exc:
                self._caught(exc)
                self._cancelled()
        else:
            self.overflowed = False
            answer = msgspec.structs.replace(final.message, id=message_id)
            async for event in self._accept(turn, answer, stream.price):
                yield event

    def _request(self) -> ModelRequest:
        spec = self.spec
        return ModelRequest(
            spec.model,
            tuple(self.messages),
            spec.system,
            self.tools.specs(),
            spec.max_output,
            spec.effort,
            spec.session_id,
            spec.output_schema,
        )

    async def _accept(
        self, turn: int, message: AssistantMessage, price: Price
    ) -> AsyncGenerator[Event, None]:
        """Keep a whole message; only after that may anything it asks for happen."""
        ids = [call.id for call in message.calls]
        if len(set(ids)) != len(ids):
            self._spend(message.usage, None)
            self._end("provider_failure", "the model used one call id twice in a message", "wire")
            return
        cost = cost_of(message.usage or Usage(), price)
        self._spend(message.usage, cost)
        await self._keep(message)
        self.basis = (message.usage, len(self.messages)) if message.usage is not None else None
        self.answer = message
        yield MessageCompleted(turn, message, message.stop, cost)
        if self.cancel.requested or self.cut is not None:
            why = RefuseCalls(message.calls, "cancelled", "not run: the user interrupted")
            async for event in self._refuse_calls(turn, why):
                yield event
            self._cancelled()

    async def _run_calls(self, turn: int, step: RunCalls) -> AsyncGenerator[Event, None]:
        batch = Batch(turn, step.calls, self.tools, self.guard, self.clock, self.cancel)
        try:
            async with aclosing(batch.events()) as events:
                async for event in events:
                    yield event
        finally:
            self.messages.extend(batch.results)
            self.repeats.note(step.calls, batch.results)
        self._cancelled()

    async def _refuse_calls(self, turn: int, step: RefuseCalls) -> AsyncGenerator[Event, None]:
        for call, result in zip(
            step.calls, unrun(step.calls, step.code, step.message, self.clock), strict=True
        ):
            await self._keep(result)
            for event in told_unrun(turn, call, result):
                yield event
        if not self._cancelled() and step.stop is not None:
            self._end(step.stop, step.message)

    # -- keeping ------------------------------------------------------------------------------------------

    async def _keep(self, outcome: AssistantMessage | ToolResult) -> None:
        """Have `outcome` recorded whatever is cancelled meanwhile; `_cancelled` acts on that later."""
        try:
            await uncancelled(self.guard.settled(outcome))
        except asyncio.CancelledError as exc:
            self._caught(exc)
        self.messages.append(outcome)

    async def _keep_partial(self, partial: AssistantMessage | None) -> None:
        if partial is not None:
            await self._keep(partial)

    def _spend(self, usage: Usage | None, cost: float | None) -> None:
        self.overseer.charge(usage, cost, turn=True)
        self.spent = self.spent.after(usage, cost)

    def _caught(self, exc: asyncio.CancelledError) -> None:
        """Take note of a cancellation; one that nobody asked for is raised once everything is settled."""
        if not self.cancel.requested:
            self.cut = exc
        elif (task := asyncio.current_task()) is not None:
            task.uncancel()

    def _cancelled(self) -> bool:
        """End the run if a cancellation was asked for; say whether it was.

        Raises:
            asyncio.CancelledError: one came that nobody asked for.
        """
        if self.cut is not None:
            raise self.cut
        if self.cancel.requested:
            self._end("cancelled", self.cancel.requested)
        return bool(self.cancel.requested)
