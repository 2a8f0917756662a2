"""`SessionHost`: one conversation served to any number of front ends.

Commands come in, events go out in order, everybody sees the same.  Owns the run task and the questions
that wait for a person.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

import msgspec

from wisp.context.blocks import Block
from wisp.context.ledger import ledger
from wisp.harness.channel import Channel
from wisp.harness.events import ToolApprovalRequested
from wisp.harness.mailbox import QueueFull
from wisp.harness.ports import ApprovalAnswer
from wisp.harness.runner import AgentHarness
from wisp.host.client import CommandRefused
from wisp.host.commands import (
    Answer,
    AnyCommand,
    Approve,
    Cancel,
    Compact,
    Configure,
    FollowUp,
    Name,
    Navigate,
    Prompt,
    ShowContext,
    Steer,
    UndoNavigation,
)
from wisp.host.events import ContextEstimated, Envelope, PlanSaved, SessionOpened
from wisp.host.snapshot import Snapshot
from wisp.host.view import View, reduce
from wisp.loop.events import AgentCompleted, ErrorReported, Event
from wisp.loop.limits import Limits
from wisp.messages.content import Text
from wisp.messages.ids import Clock
from wisp.messages.message import UserMessage
from wisp.policy.modes import MODES
from wisp.session.events import QuestionAnswered, QuestionAsked, SessionSaved
from wisp.session.fitting import reserve_of
from wisp.session.keeping import Choice
from wisp.session.runner import CodingSession
from wisp.session.storage import StorageFailed


class PendingApprovals:
    """Questions that wait for an answer through a command; the harness's `Approver`."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[ApprovalAnswer]] = {}

    async def ask(self, request: ToolApprovalRequested) -> ApprovalAnswer:
        """Wait for `answer` with this request's call id."""
        future: asyncio.Future[ApprovalAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[request.call_id] = future
        try:
            return await future
        finally:
            del self._waiting[request.call_id]

    def answer(self, command: Approve) -> None:
        """Settle a question, once.

        Raises:
            CommandRefused: no question with that call id waits.
        """
        future = self._waiting.get(command.call_id)
        if future is None or future.done():
            raise CommandRefused(f"no approval of call {command.call_id!r} is waiting")
        answer = ApprovalAnswer(command.digest, command.approved, command.scope, command.reason)
        future.set_result(answer)


class SessionHost:
    """Serves one `CodingSession`.  Implements `HostClient` for front ends in this process."""

    def __init__(
        self,
        session: CodingSession,
        snapshot: Snapshot,
        clock: Clock,
        *,
        approvals: PendingApprovals | None,
        limits: Limits,
        max_time: float | None = None,
        blocks: Sequence[Block] = (),
        save_plan: Callable[[str], str] | None = None,
        on_close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._session = session
        self._snapshot = snapshot
        self._clock = clock
        self._approvals = approvals
        self._limits = limits
        self._max_time = max_time
        self._blocks = blocks
        self._save_plan = save_plan
        self._on_close = on_close
        self._subscribers: list[Channel[Envelope]] = []
        self._seq = 0
        self._run: asyncio.Task[None] | None = None
        self._cancelled_early = ""
        self._questions: dict[str, tuple[QuestionAsked, asyncio.Future[str]]] = {}
        if approvals is not None:  # somebody is there to be asked
            session.keeping.ask = self._storage_trouble
        self.view = View()
        self._publish(SessionOpened(snapshot.session_path, snapshot.resumed, snapshot.messages))

    # -- what front ends call -----------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The state at this moment."""
        messages = self._session.state.count
        gate = self._harness.toolbox.gate
        return msgspec.structs.replace(
            self._snapshot,
            messages=messages,
            permission_mode=gate.policy.mode,
            provider=self.view.provider or self._snapshot.provider,
            model=self.view.model or self._snapshot.model,
        )

    def context(self) -> ContextEstimated:
        """What takes the space of the next request."""
        model, toolbox = self._harness.model, self._harness.toolbox
        window = model.context_window
        found = ledger(
            self._blocks,
            toolbox.specs(),
            self._session.state.context,
            window,
            reserve_of(window) if window else 0,
        )
        return ContextEstimated(found.parts, found.total, found.measured, found.window, found.reserve)

    def events(self) -> AsyncGenerator[Envelope, None]:
        """Every event from the moment this is called on."""
        channel = Channel[Envelope]()
        self._subscribers.append(channel)
        return self._watched(channel)

    async def _watched(self, channel: Channel[Envelope]) -> AsyncGenerator[Envelope, None]:
        try:
            while (envelope := await channel.next()) is not None:
                yield envelope
        finally:
            self._subscribers.remove(channel)

    async def send(self, command: AnyCommand) -> None:
        """Have `command` done; see `HostClient.send`."""
        if isinstance(command, Prompt):
            self._start(command)
        elif isinstance(command, Steer | FollowUp):
            self._queue(command)
        elif isinstance(command, Cancel):
            self._cancel(command.reason)
        elif isinstance(command, Approve):
            if self._approvals is None:
                raise CommandRefused("this run asks nobody")
            self._approvals.answer(command)
        elif isinstance(command, ShowContext):
            self._publish(self.context())
        elif isinstance(command, Answer):
            self._answer(command)
        elif isinstance(command, Configure):
            await self._configure(command)
        elif isinstance(command, Compact):
            self._session.window.ask_for(command.instructions)
        elif isinstance(command, Name):
            await self._session.name(command.name)
        elif isinstance(command, Navigate):
            await self._go(command.entry, summarise=command.summarise)
        elif isinstance(command, UndoNavigation):
            await self._go("", summarise=False)

    async def _go(self, entry: str, *, summarise: bool) -> None:
        if self._run is not None:
            raise CommandRefused("a run is in progress; cancel it first")
        try:
            await self._session.go(entry, summarise=summarise)
        except LookupError as exc:
            raise CommandRefused(str(exc.args[0])) from None
        self._publish(SessionSaved(self._session.where, self._session.state.count))

    async def _storage_trouble(self, why: str) -> Choice:
        """Pause the run: records cannot be kept, and a person decides."""
        asked = QuestionAsked(self._clock.new_id(), why, ("again", "unkept", "stop"))
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._questions[asked.question_id] = asked, future
        self._publish(asked)
        answer = await future
        del self._questions[asked.question_id]
        self._publish(QuestionAnswered(asked.question_id, answer))
        return "again" if answer == "again" else "unkept" if answer == "unkept" else "stop"

    def _answer(self, command: Answer) -> None:
        asked, future = self._questions.get(command.question_id, (None, None))
        if asked is None or future is None or future.done():
            raise CommandRefused(f"no question {command.question_id!r} is waiting")
        if command.answer not in asked.choices:
            raise CommandRefused(f"the answers are: {', '.join(asked.choices)}")
        future.set_result(command.answer)

    def _queue(self, command: Steer | FollowUp) -> None:
        put = self._harness.steer if isinstance(command, Steer) else self._harness.follow_up
        try:
            self._publish(put(command.text))
        except QueueFull as exc:
            raise CommandRefused(str(exc)) from None

    async def settled(self) -> None:
        """Until no run is in progress."""
        if self._run is not None:
            await asyncio.wait([self._run])

    async def close(self) -> None:
        """Stop what runs, settle it, and let everything go."""
        if self._run is not None:
            self._cancel("the program is closing")
            await self.settled()
        for channel in self._subscribers:
            channel.close()
        self._harness.toolbox.close()
        self._session.close()
        if self._on_close is not None:
            await self._on_close()

    # -- one run ------------------------------------------------------------------------------------------

    @property
    def _harness(self) -> AgentHarness:
        harness = self._session.harness
        assert harness is not None
        return harness

    def _start(self, command: Prompt) -> None:
        if self._run is not None:
            raise CommandRefused("a run is in progress; steer it, or cancel it first")
        self._run = asyncio.ensure_future(self._serve(UserMessage((Text(command.text),))))

    def _cancel(self, reason: str) -> None:
        """Stop the run; one that is still being prepared stops with its first event."""
        for asked, future in self._questions.values():
            if not future.done():
                future.set_result(asked.choices[-1])
        if self._run is not None and not self._harness.abort(reason):
            self._cancelled_early = self._cancelled_early or reason

    async def _serve(self, message: UserMessage) -> None:
        timer = None
        if self._max_time is not None:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(self._max_time, self._cancel, "max_time")
        self._cancelled_early = ""
        try:
            last = await self._tell(message)
        except Exception as exc:
            # Whatever broke inside is told as an event; the front end decides what becomes of the process.
            text = f"{type(exc).__name__}: {exc}"
            self._publish(ErrorReported(text, "internal"))
            last = AgentCompleted("error", self.view.run.turns, text, _kind(exc))
        finally:
            self._run = None
            if timer is not None:
                timer.cancel()
        self._keep_plan(last)
        self._publish(last)

    def _keep_plan(self, last: AgentCompleted) -> None:
        """In plan mode: what the model ended with is the plan."""
        planning = self._save_plan is not None and self._harness.toolbox.gate.policy.mode == "plan"
        if not planning or last.stop_reason != "model_finished" or not (self.view.run.answer or "").strip():
            return
        assert self._save_plan is not None
        try:
            self._publish(PlanSaved(self._save_plan(self.view.run.answer or "")))
        except OSError as exc:
            text = f"the plan could not be kept ({exc.filename}: {exc.strerror}); it is in the answer alone"
            self._publish(ErrorReported(text, "storage"))

    async def _tell(self, message: UserMessage) -> AgentCompleted:
        """Publish the run's events; the last is returned, so that it is told when all is settled."""
        last = AgentCompleted("error", 0, "the run ended without saying how")
        async with aclosing(self._session.prompt(message, limits=self._limits)) as events:
            async for event in events:
                if self._cancelled_early:
                    self._harness.abort(self._cancelled_early)
                if isinstance(event, AgentCompleted):
                    last = event
                else:
                    self._publish(event)
        return last

    async def _configure(self, command: Configure) -> None:
        if command.permission_mode is not None:
            if command.permission_mode not in MODES:
                known = ", ".join(MODES)
                raise CommandRefused(f"{command.permission_mode!r} is no mode; the modes are: {known}")
            gate = self._harness.toolbox.gate
            await self._session.set_({"permission_mode": command.permission_mode})
            gate.policy = msgspec.structs.replace(gate.policy, mode=command.permission_mode)

    def _publish(self, event: Event) -> None:
        self._seq += 1
        envelope = Envelope(self._seq, self._session.id, self._clock.now(), event)
        reduce(self.view, envelope)
        for channel in self._subscribers:
            channel.put(envelope)


def _kind(exc: Exception) -> str:
    return "storage" if isinstance(exc, StorageFailed) else "internal"
