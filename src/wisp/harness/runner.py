"""`AgentHarness`: one conversation in this process, run after run.

Owns the transcript, the queues and the run in progress.  Knows its recorder only as a port: with none,
nothing outlives the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import aclosing, suppress
from typing import Any

from wisp.harness.budget import BudgetOverseer, Ledger
from wisp.harness.cancel import CancelSwitch
from wisp.harness.channel import Channel
from wisp.harness.events import QueueUpdated
from wisp.harness.mailbox import Queues
from wisp.harness.ports import FixedInstructions, Instructions, News, NoNews, Questioner, Recorder
from wisp.harness.repair import repair
from wisp.harness.toolbox import Toolbox
from wisp.harness.transcript import Transcript
from wisp.loop.boundary import Boundary
from wisp.loop.events import AgentCompleted, Event, QueueMessageInjected, RepairReported
from wisp.loop.limits import Limits
from wisp.loop.ports import CallIntent, Fitted, Fitter, NoFitter, RequestIntent
from wisp.loop.runner import RunSpec, run_agent_loop
from wisp.loop.settle import uncancelled
from wisp.messages.codec import clean
from wisp.messages.content import clean_blocks
from wisp.messages.ids import Clock
from wisp.messages.message import AssistantMessage, Message, Notice, ToolResult, UserMessage
from wisp.providers.base import ModelInfo, ModelRequest, Provider


class Busy(RuntimeError):
    """A run is in progress; one conversation has one run at a time."""


class AgentHarness:
    """A conversation that can be prompted, steered, cancelled and prompted again.

    Args:
        provider: whom to ask.
        model: which model, and what is known of it.
        toolbox: the tools behind their gate.
        clock: time and identifiers.
        instructions: the blocks every request begins with.
        recorder: told of everything before the next thing happens.
        history: where the conversation stands; repaired if it is not lawful.
        max_output: most output tokens of one answer; None leaves it to the provider's dialect.
        effort: how hard the model should think, one of `model.efforts`; empty for its default.
        session_id: a stable key for the provider's prompt cache.
        news: what the model is told at a request boundary besides what people say.
        ledger: the accounts above each run, as the session's and the day's.
        questioner: asked whether a limit may be passed; None ends the run there.
        boundary: decides between two requests.
    """

    def __init__(
        self,
        provider: Provider,
        model: ModelInfo,
        toolbox: Toolbox,
        clock: Clock,
        *,
        instructions: Instructions | None = None,
        recorder: Recorder | None = None,
        history: Iterable[Message] = (),
        max_output: int | None = None,
        effort: str = "",
        session_id: str = "",
        output_schema: dict[str, Any] | None = None,
        fitter: Fitter | None = None,
        news: News | None = None,
        ledger: Ledger | None = None,
        questioner: Questioner | None = None,
        boundary: Boundary | None = None,
    ) -> None:
        self.ledger = ledger or Ledger()
        self._questioner = questioner
        self._boundary = boundary
        self._news = news or NoNews()
        self._fitter = fitter or NoFitter()
        self.provider = provider
        self.model = model
        self.toolbox = toolbox
        self.queues = Queues(clock)
        self._clock = clock
        self._instructions = instructions or FixedInstructions()
        self._recorder = recorder
        self._max_output = max_output
        self._effort = effort
        self._session_id = session_id
        self._output_schema = output_schema
        self._base = tuple(history)
        self._transcript = Transcript()
        self._overseer: BudgetOverseer | None = None
        self._switch: CancelSwitch | None = None
        self._driver: asyncio.Task[None] | None = None
        self.told: set[str] = set()
        """Repairs of requests that were reported; each is told once."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The transcript so far, the history it was given included."""
        return self._base or self._transcript.messages

    def adopt(self, result: ToolResult) -> None:
        """Take a result for a call of the given history that was left open; before the first prompt only."""
        assert self._base, "only a history that was handed in can be completed from outside"
        self._base = (*self._base, result)

    def restart(self, history: Iterable[Message]) -> None:
        """Go on from another history, between two runs; it is repaired with the next prompt if need be."""
        if self._driver is not None:
            raise Busy("a run is in progress; cancel it, or wait for its end")
        self._base, self._transcript = tuple(history), Transcript()

    def share(self, whose: str, limits: Limits) -> Ledger:
        """A ledger for a part of the run in progress: below the accounts of run, session and day."""
        return self.ledger.share(whose, limits, self._overseer.account if self._overseer else None)

    @property
    def running(self) -> bool:
        """Whether a run is in progress."""
        return self._driver is not None

    def steer(self, text: str) -> QueueUpdated:
        """Queue a message for the next request boundary; see `Queues.steer`."""
        self.queues.steer(self.toolbox.masker.mask_plain(text))
        return self.queues.state()

    def follow_up(self, text: str) -> QueueUpdated:
        """Queue a message for when the run would stop; see `Queues.follow_up`."""
        self.queues.follow_up(self.toolbox.masker.mask_plain(text))
        return self.queues.state()

    @property
    def system(self) -> tuple[str, ...]:
        """The instruction blocks of its requests."""
        return self._instructions.blocks()

    def news(self) -> list[QueueMessageInjected]:
        """What the host has to tell now, as notices."""
        masker = self.toolbox.masker
        told = self._news.collect(self.messages)
        return [
            QueueMessageInjected("notice", Notice(clean(masker.mask(text)), self._clock.new_id()))
            for text in told
        ]

    def abort(self, reason: str = "the user interrupted") -> bool:
        """Stop the run in progress; returns whether there was one that was not stopping already.

        The run's events go on to their end: every call gets its result, `AgentCompleted` comes last.
        """
        return self._switch is not None and self._switch.request(reason)

    async def wait(self) -> None:
        """Until no run is in progress.  Raises nothing of the run's own."""
        driver = self._driver
        if driver is not None:
            await asyncio.wait([driver])

    def prompt(self, message: UserMessage, *, limits: Limits | None = None) -> AsyncGenerator[Event, None]:
        """Start a run with `message` and tell its events.

        The message is durable before the first event.  Leaving the iterator early stops the run and
        settles it.

        Raises:
            Busy: at the first step, when a run is in progress.
        """
        return self._run(message, limits or Limits())

    # -- one run ------------------------------------------------------------------------------------------

    async def _run(self, message: UserMessage, limits: Limits) -> AsyncGenerator[Event, None]:
        """Retain the conversation across runs: accept the prompt, drive the loop, keep what it settles."""
        if self._driver is not None:
            raise Busy("a run is in progress; steer it, or wait for its end")
        channel = Channel[Event]()
        switch = self._switch = CancelSwitch()
        driver = self._driver = asyncio.ensure_future(self._drive(message, limits, channel, switch))
        driver.add_done_callback(lambda _: channel.close())
        try:
            while (event := await channel.next()) is not None:
                yield event
            await asyncio.shield(driver)
        finally:
            try:
                if not driver.done():
                    switch.request("the caller left")
                    await uncancelled(_finished(driver))
            finally:
                self._driver = self._switch = None

    async def _drive(
        self, message: UserMessage, limits: Limits, channel: Channel[Event], switch: CancelSwitch
    ) -> None:
        switch.attach(asyncio.current_task())
        overseer = self._overseer = BudgetOverseer(self.ledger, self._clock, self._questioner)
        try:
            await self._whole(self._accept(message, channel), switch)
            loop = run_agent_loop(
                self._transcript.messages,
                self._spec(limits),
                self.provider,
                self.toolbox,
                self._clock,
                guard=_Keeper(self._transcript, self._recorder),
                mailbox=_Mail(self),
                cancel=switch,
                fitter=_Refitter(self._transcript, self._fitter),
                overseer=overseer,
                boundary=self._boundary,
            )
            async with aclosing(loop) as events:
                async for event in events:
                    await self._follow(event, channel, switch)
            await self._whole(asyncio.sleep(0), switch)  # a cancellation that came too late ends here
        except BaseException as exc:
            with suppress(Exception):  # the first failure is what the caller must see
                await uncancelled(self._ended(_broken(exc)))
            raise

    async def _follow(self, event: Event, channel: Channel[Event], switch: CancelSwitch) -> None:
        """Keep what the loop tells, then tell it on."""
        if isinstance(event, QueueMessageInjected):
            await self._whole(self._injected(event), switch)
            channel.put(event)
            channel.put(self.queues.state())
            return
        if isinstance(event, RepairReported):
            news = tuple(note for note in event.messages if note not in self.told)
            if not news:
                return
            self.told.update(news)
            event = RepairReported(news)
        if isinstance(event, AgentCompleted):
            await self._whole(self._ended(event), switch)
        channel.put(event)

    @staticmethod
    async def _whole(work: Coroutine[Any, Any, None], switch: CancelSwitch) -> None:
        """Do `work` to its end; a cancellation that was asked for is left to the loop, which looks for it."""
        try:
            await uncancelled(work)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not switch.requested or task is None:
                raise
            task.uncancel()

    def _spec(self, limits: Limits) -> RunSpec:
        return RunSpec(
            self.model,
            self._instructions.blocks(),
            limits,
            self._max_output,
            self._effort,
            self._session_id,
            self._output_schema,
        )

    async def _accept(self, message: UserMessage, channel: Channel[Event]) -> None:
        """Make the history lawful, then take the prompt; durable when this returns."""
        message = UserMessage(clean_blocks(message.content), message.id or self._clock.new_id())
        message = self.toolbox.masker.message(message)
        repaired = None
        if self._base or self._transcript.open_calls:
            repaired = repair(self.messages, self._clock.new_id)
        added = repaired.added if repaired is not None else ()
        news = self.news()
        notices = [one.message for one in news]
        if self._recorder is not None:
            await self._recorder.accepted((*added, *notices, message))
        if repaired is not None:
            self._base, self._transcript = (), Transcript(repaired.messages)
            if repaired.notes:
                channel.put(RepairReported(repaired.notes))
        for one in news:
            self._transcript.append(one.message)
            channel.put(one)
        self._transcript.append(message)

    async def _injected(self, event: QueueMessageInjected) -> None:
        if self._recorder is not None:
            await self._recorder.accepted((event.message,))
        self._transcript.append(event.message)

    async def _ended(self, how: AgentCompleted) -> None:
        if self._recorder is not None:
            await self._recorder.ended(how)


class _Mail:
    """The loop's mailbox: what people queued, and before it the news, which never keep a run going."""

    def __init__(self, harness: AgentHarness) -> None:
        self._harness = harness

    def collect(self, *, would_stop: bool) -> Sequence[QueueMessageInjected]:
        said = self._harness.queues.collect(would_stop=would_stop)
        if would_stop and not said:
            return ()
        return (*self._harness.news(), *said)


class _Keeper:
    """The loop's guard: first the recorder, then the transcript, so that what is shown is already kept."""

    def __init__(self, transcript: Transcript, recorder: Recorder | None) -> None:
        self._transcript = transcript
        self._recorder = recorder

    async def about_to(self, intent: RequestIntent | CallIntent) -> None:
        if self._recorder is not None:
            await self._recorder.about_to(intent)

    async def settled(self, outcome: AssistantMessage | ToolResult) -> None:
        if self._recorder is not None:
            await self._recorder.settled(outcome)
        self._transcript.append(outcome)


class _Refitter:
    """The loop's fitter: what it shortens is the conversation from then on."""

    def __init__(self, transcript: Transcript, inner: Fitter) -> None:
        self._transcript = transcript
        self._inner = inner

    async def fit(self, request: ModelRequest, *, overflow: bool) -> AsyncIterator[Event | Fitted]:
        async for item in self._inner.fit(request, overflow=overflow):
            if isinstance(item, Fitted):
                self._transcript.rebase(item.messages)
            yield item

    def explain(self, request: ModelRequest) -> str:
        return self._inner.explain(request)


def _broken(exc: BaseException) -> AgentCompleted:
    if isinstance(exc, asyncio.CancelledError):
        return AgentCompleted("cancelled", 0, "the program is ending")
    return AgentCompleted("error", 0, f"{type(exc).__name__}: {exc}", "internal")


async def _finished(driver: asyncio.Task[None]) -> None:
    """Wait for a run whose caller has left; what it raised has no one else to go to."""
    await asyncio.wait([driver])
    if not driver.cancelled() and isinstance(error := driver.exception(), BaseException):
        if not isinstance(error, Exception):
            raise error
