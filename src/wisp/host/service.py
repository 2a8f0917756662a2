"""`SessionHost`: one conversation served to any number of front ends.

Commands come in, events go out in order, everybody sees the same.  Owns the run task, and the question on
which a storage that fails pauses it; everything else that waits for a person is in `host/questions.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from wisp.context.blocks import Block
from wisp.context.ledger import ledger
from wisp.harness.channel import Fanout
from wisp.harness.events import (
    QuestionAnswered,
    QuestionAsked,
    QueueUpdated,
)
from wisp.harness.mailbox import QueueFull
from wisp.harness.runner import AgentHarness
from wisp.host.client import CommandRefused
from wisp.host.commands import (
    Answer,
    AnyCommand,
    Approve,
    Cancel,
    Compact,
    Configure,
    Detach,
    FollowUp,
    Name,
    Navigate,
    Prompt,
    QueueClear,
    QueueEdit,
    QueuePop,
    QueueSetMode,
    Shell,
    ShowContext,
    Steer,
    UndoNavigation,
)
from wisp.host.events import ContextEstimated, Envelope, PlanSaved, SessionOpened
from wisp.host.expanding import Expansion, expand
from wisp.host.external import External
from wisp.host.preparing import blocked, filled
from wisp.host.questions import PendingApprovals, PendingQuestions
from wisp.host.queueing import changed_queue
from wisp.host.shell import ShellLines
from wisp.host.skills import Skills
from wisp.host.snapshot import Snapshot
from wisp.host.view import View, reduce
from wisp.loop.events import AgentCompleted, ErrorReported, Event
from wisp.loop.limits import Limits
from wisp.messages.content import Text, UserBlock
from wisp.messages.ids import Clock
from wisp.messages.message import UserMessage
from wisp.policy.modes import MODES
from wisp.session.events import SessionSaved
from wisp.session.fitting import reserve_of
from wisp.session.keeping import Choice
from wisp.session.runner import CodingSession
from wisp.session.storage import StorageFailed

if TYPE_CHECKING:
    from wisp.host.extending import Extensions
    from wisp.host.hooking import Hooking

Attach = Callable[[Prompt], Awaitable[tuple[UserBlock, ...]]]
"""Reads the files that go along with a prompt.  Raises `CommandRefused`."""


class SessionHost:
    """Serves one `CodingSession`.  Implements `HostClient` for front ends in this process."""

    def __init__(
        self,
        session: CodingSession,
        snapshot: Snapshot,
        clock: Clock,
        *,
        approvals: PendingApprovals | None,
        questions: PendingQuestions | None = None,
        limits: Limits,
        max_time: float | None = None,
        blocks: Sequence[Block] = (),
        save_plan: Callable[[str], str] | None = None,
        skills: Skills | None = None,
        values: Mapping[str, str] | None = None,
        attach: Attach | None = None,
        on_close: Callable[[], Awaitable[None]] | None = None,
        external: External | None = None,
        hooking: Hooking | None = None,
    ) -> None:
        self.hooking = hooking
        self.extensions: Extensions | None = None
        self._session = session
        self._snapshot = snapshot
        self._clock = clock
        self._approvals = approvals
        self._questions = questions
        self._limits = limits
        self._max_time = max_time
        self._blocks = blocks
        self._save_plan = save_plan
        self.skills = skills or Skills(())
        self._values = values or {}
        self._preparing: asyncio.Future[tuple[str, str]] | None = None
        self._attach = attach
        self._on_close = on_close
        self.external = external or External()
        self.let_go: Callable[[], Sequence[str]] = tuple
        """Has the commands that are being waited for go on in the background; their names there."""
        self._shell = ShellLines(lambda: self.harness.toolbox, clock, self._publish)
        self._subscribers = Fanout[Envelope]()
        self._seq = 0
        self._run: asyncio.Task[None] | None = None
        self._moving: asyncio.Future[None] | None = None
        """A move to another branch, which may wait for a summary."""
        self._cancelled_early = ""
        self._paused: asyncio.Future[str] | None = None
        """The question that a run is paused on because its records cannot be kept."""
        if questions is not None:  # somebody is there to be asked
            session.keeping.ask = self._storage_trouble
        self.view = View()
        self._publish(SessionOpened(snapshot.session_path, snapshot.resumed, snapshot.messages))

    # -- what front ends call -----------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The state at this moment."""
        messages = self._session.state.count
        gate = self.harness.toolbox.gate
        return msgspec.structs.replace(
            self._snapshot,
            messages=messages,
            seq=self._seq,
            permission_mode=gate.policy.mode,
            provider=self.view.provider or self._snapshot.provider,
            model=self.view.model or self._snapshot.model,
            tools=tuple(tool.name for tool in self.harness.toolbox.specs()),
            mcp_servers=self.external.states(),
        )

    def context(self) -> ContextEstimated:
        """What takes the space of the next request."""
        model, toolbox = self.harness.model, self.harness.toolbox
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
        return self._subscribers.subscribe()

    @property
    def running(self) -> bool:
        """Whether a run, a move to another branch or a command of the person is in progress."""
        return any(work is not None for work in (self._run, self._moving, self._shell.running))

    @property
    def session(self) -> CodingSession:
        """The conversation behind it."""
        return self._session

    @property
    def queue(self) -> QueueUpdated:
        """What waits to be said."""
        return self.harness.queues.state()

    @property
    def granted(self) -> tuple[str, ...]:
        """Rules that a person added during this session."""
        return tuple(rule.text for rule in self.harness.toolbox.gate.policy.granted)

    async def send(self, command: AnyCommand) -> None:
        """Have `command` done; see `HostClient.send`."""
        if isinstance(command, Prompt):
            self._start(command, await self._with_files(command))
        elif isinstance(command, Steer | FollowUp):
            if why := await blocked(self.hooking, command.text, begins=False):
                raise CommandRefused(why)
            self._queue(command)
        elif isinstance(command, Cancel):
            if command.scope == "run":
                self._cancel(command.reason)
            elif not self.harness.toolbox.stop_calls():
                raise CommandRefused("no call runs that could be stopped by itself")
        elif isinstance(command, Detach):
            if not self.let_go():
                raise CommandRefused("no command is being waited for")
        elif isinstance(command, Shell):
            self._idle()
            self._shell.start(command)
        elif isinstance(command, Approve):
            if self._approvals is None:
                raise CommandRefused("this run asks nobody")
            self._approvals.answer(command)
        elif isinstance(command, ShowContext):
            self._publish(self.context())
        elif isinstance(command, Configure):
            await self._configure(command)
        elif isinstance(command, Answer):
            if self._questions is None:
                raise CommandRefused("this run asks nobody")
            self._questions.answer(command)
        elif isinstance(command, QueueEdit | QueuePop | QueueClear | QueueSetMode):
            self._publish(changed_queue(self.harness, command))
        elif isinstance(command, Compact):
            self._session.window.ask_for(command.instructions)
        elif isinstance(command, Name):
            await self._session.name(command.name)
        elif isinstance(command, Navigate):
            await self._go(command.entry, summarise=command.summarise)
        elif isinstance(command, UndoNavigation):
            await self._go("", summarise=False)

    async def _go(self, entry: str, *, summarise: bool) -> None:
        self._idle()
        self._moving = asyncio.ensure_future(self._session.go(entry, summarise=summarise))
        try:
            await asyncio.wait([self._moving])
            if self._moving.cancelled():
                raise CommandRefused("it was cancelled; the conversation stands where it stood")
            self._moving.result()
        except LookupError as exc:
            raise CommandRefused(str(exc.args[0])) from None
        finally:
            self._moving.cancel()
            self._moving = None
        self._publish(SessionSaved(self._session.where, self._session.state.count))

    async def _storage_trouble(self, why: str) -> Choice:
        """Pause the run: records cannot be kept, and a person decides.  A run that is cancelled stops."""
        assert self._questions is not None
        asked = QuestionAsked(self._clock.new_id(), why, ("again", "unkept", "stop"), about="storage")
        self._publish(asked)
        self._paused = asyncio.ensure_future(self._questions.ask(asked))
        await asyncio.wait([self._paused])
        given_up = self._paused.cancelled()
        answer = "stop" if given_up else self._paused.result()
        self._paused = None
        self._publish(QuestionAnswered(asked.question_id, answer, "cancelled" if given_up else "person"))
        return "again" if answer == "again" else "unkept" if answer == "unkept" else "stop"

    def _queue(self, command: Steer | FollowUp) -> None:
        put = self.harness.steer if isinstance(command, Steer) else self.harness.follow_up
        text = command.text
        if (meant := expand(text, self.skills, self._values)) is not None:
            if meant.shell:
                raise CommandRefused(
                    f"/{meant.skill.name} runs commands of its own and cannot be used during a run"
                )
            text = meant.text()
        try:
            self._publish(put(text))
        except QueueFull as exc:
            raise CommandRefused(str(exc)) from None

    async def settled(self) -> None:
        """Until no run is in progress."""
        waiting = [work for work in (self._run, self._moving, self._shell.running) if work is not None]
        if waiting:
            await asyncio.wait(waiting)

    async def close(self) -> None:
        """Stop what runs, settle it, and let everything go."""
        if self.running:
            self._cancel("the program is closing")
            await self.settled()
        if self.hooking is not None:
            await self.hooking.close()
        if self.extensions is not None:
            await self.extensions.close()
        self._subscribers.close()
        self.harness.toolbox.close()
        self._session.close()
        if self._on_close is not None:
            await self._on_close()

    # -- one run ------------------------------------------------------------------------------------------

    @property
    def harness(self) -> AgentHarness:
        harness = self._session.harness
        assert harness is not None
        return harness

    async def _with_files(self, command: Prompt) -> tuple[UserBlock, ...]:
        return await self._attach(command) if self._attach is not None else ()

    def _idle(self) -> None:
        if self.running:
            raise CommandRefused("a run is in progress; cancel it first")

    def _start(self, command: Prompt, files: tuple[UserBlock, ...]) -> None:
        if self.running:
            raise CommandRefused("a run is in progress; steer it, or cancel it first")
        self._cancelled_early = ""
        self._run = asyncio.ensure_future(
            self._serve(command, files, expand(command.text, self.skills, self._values))
        )

    def _cancel(self, reason: str) -> None:
        """Stop the run; one that is still being prepared stops with its first event."""
        if self._paused:
            self._paused.cancel()
        self._shell.stop()
        if self._moving is not None:
            self._moving.cancel()
        if self._run is not None and not self.harness.abort(reason):
            self._cancelled_early = self._cancelled_early or reason
            if self._preparing is not None:
                self._preparing.cancel()

    async def _serve(self, command: Prompt, files: tuple[UserBlock, ...], meant: Expansion | None) -> None:
        text, timer, why = command.text, None, ""
        if self._max_time is not None:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(self._max_time, self._cancel, "max_time")
        try:
            if meant is not None or self.hooking is not None:
                self._preparing = asyncio.ensure_future(self._prepared(text, meant))
                text, why = await self._preparing
            words = (Text(text),) if text or not command.images else ()
            if why:
                last = AgentCompleted("refused", 0, why)
            else:
                last = await self._tell(UserMessage((*words, *self._shell.untold(), *files, *command.images)))
        except asyncio.CancelledError:
            if self._preparing is None or not self._preparing.cancelled():
                raise
            last = AgentCompleted("cancelled", 0, self._cancelled_early)
        except Exception as exc:
            # Whatever broke inside is told as an event; the front end decides what becomes of the process.
            text = f"{type(exc).__name__}: {exc}"
            self._publish(ErrorReported(text, "internal"))
            last = AgentCompleted("error", self.view.run.turns, text, _kind(exc))
        finally:
            self._run = self._preparing = None
            if timer is not None:
                timer.cancel()
        self._keep_plan(last)
        self._publish(last)

    async def _prepared(self, typed: str, meant: Expansion | None) -> tuple[str, str]:
        """What is said for what was typed, and why it is not to be said, where a hook says so."""
        if why := await blocked(self.hooking, typed):
            return typed, why
        if meant is None:
            return typed, ""
        return await filled(meant, self.harness.toolbox, self._session.audit, self._clock, self._publish), ""

    def _keep_plan(self, last: AgentCompleted) -> None:
        """In plan mode: what the model ended with is the plan."""
        planning = self._save_plan is not None and self.harness.toolbox.gate.policy.mode == "plan"
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
                    self.harness.abort(self._cancelled_early)
                if isinstance(event, AgentCompleted):
                    last = event
                else:
                    shown = self.extensions.shown if self.extensions is not None else None
                    self._publish(event if shown is None else await shown(event))
        return last

    async def _configure(self, command: Configure) -> None:
        if command.permission_mode is not None:
            if command.permission_mode not in MODES:
                known = ", ".join(MODES)
                raise CommandRefused(f"{command.permission_mode!r} is no mode; the modes are: {known}")
            gate = self.harness.toolbox.gate
            await self._session.set_({"permission_mode": command.permission_mode})
            gate.policy = msgspec.structs.replace(gate.policy, mode=command.permission_mode)

    def tell(self, event: Event) -> None:
        """Tell front ends of something that happened outside a run."""
        self._publish(event)

    def _publish(self, event: Event) -> None:
        self._seq += 1
        envelope = Envelope(self._seq, self._session.id, self._clock.now(), event)
        reduce(self.view, envelope)
        self._subscribers.put(envelope)


def _kind(exc: Exception) -> str:
    return "storage" if isinstance(exc, StorageFailed) else "internal"
