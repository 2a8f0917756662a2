"""The hooks of a conversation apart from calls: its start and end, prompts, stopping, compaction, notices.

Follows the protocol that Claude Code documented.  Knows nothing of how a hook is run (`host/hookrun.py`), nor
of how what it decides comes about: `host/service.py` refuses a prompt, a run goes on or ends at its boundary.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Literal

import msgspec

from wisp.host.events import Envelope, QuestionAsked, ToolApprovalRequested
from wisp.host.hookrun import MOST_TOLD, Ran, Runner
from wisp.host.hooks import CallHooks
from wisp.host.snapshot import Snapshot
from wisp.loop.boundary import At, Boundary, Decision, NoBoundary
from wisp.loop.events import AgentCompleted, ErrorReported, Event
from wisp.messages.content import Text
from wisp.messages.ids import Clock
from wisp.messages.message import AssistantMessage, UserMessage
from wisp.tools.ledger import ReadLedger
from wisp.workspace.root import Workspace

Trigger = Literal["manual", "auto"]

MOST_GOING_ON = 8
"""How often in a row hooks may have a run go on that would stop."""
IDLE = 60.0
"""Seconds after a run until a person who typed nothing is notified."""
_MODES = {
    "ask": "default",
    "plan": "plan",
    "auto": "acceptEdits",
    "full": "bypassPermissions",
    "read-only": "dontAsk",
}
"""What the protocol calls our permission modes, or the one that is nearest."""


class Blocked(Exception):
    """A hook does not let a prompt through; the message says why, for a person."""


class Hooking:
    """The hooks of one conversation.

    Args:
        runner: runs them.
        workspace: where.
        ledger: what the model has seen of files.
    """

    def __init__(self, runner: Runner, workspace: Workspace, ledger: ReadLedger, clock: Clock) -> None:
        self.runner = runner
        self.calls = CallHooks(runner, workspace, ledger)
        """Those around calls."""
        self.leaving = "other"
        """Why the conversation is closed, as the protocol names it; empty where it goes on after that."""
        self.say: Callable[[str], None] = lambda text: None
        """Has the model told something at the next boundary."""
        self._workspace = workspace
        self._ledger = ledger
        self._clock = clock
        self._starting: asyncio.Future[None] | None = None
        self._following: asyncio.Future[None] | None = None
        self._model = ""

    def watch(
        self,
        snapshot: Callable[[], Snapshot],
        tell: Callable[[Event], None],
        events: Callable[[], AsyncGenerator[Envelope, None]],
        *,
        converses: bool,
    ) -> None:
        """Take the facts from a host, tell it what fails, and follow it.

        Args:
            converses: somebody types, who can be away.
        """

        def facts() -> dict[str, Any]:
            now = snapshot()
            return {
                "session_id": now.session_id,
                "transcript_path": now.session_path,
                "permission_mode": _MODES.get(now.permission_mode, "default"),
                "wisp_permission_mode": now.permission_mode,
            }

        self._model = snapshot().model
        self.runner.facts = facts
        self.runner.tell = lambda said: tell(ErrorReported(said, "hook"))
        if self.runner.any("Notification"):
            self._following = asyncio.ensure_future(self._follow(events(), converses=converses))

    # -- the conversation ---------------------------------------------------------------------------------

    def begin(self, source: str) -> None:
        """Run the hooks of `SessionStart`; returns at once, the first prompt waits for them.

        Args:
            source: `startup`, `resume` or `clear`.
        """
        self._starting = asyncio.ensure_future(self._started(source))

    async def _started(self, source: str) -> None:
        ended = await self.runner.run("SessionStart", {"source": source, "model": self._model}, source)
        self._add("SessionStart", ended)
        for ran in ended:
            if ran.code == 2:  # nothing here can be blocked: a person is told
                self.runner.tell(f"the SessionStart hook {ran.command!r}: {ran.blocks}")

    async def admit(self, prompt: str) -> None:
        """Let a prompt through.

        Raises:
            Blocked: a hook does not.
        """
        if self._starting is not None:
            await asyncio.wait([self._starting])
        self.calls.halted = ""
        ended = await self.runner.run("UserPromptSubmit", {"prompt": prompt})
        for ran in ended:
            if why := ran.halts or ran.blocks:
                raise Blocked(f"a hook blocked the prompt: {why}")
        self._add("UserPromptSubmit", ended)

    def _add(self, event: str, ended: list[Ran]) -> None:
        """Tell the model what hooks want it to know: plain output too, at these events."""
        for ran in ended:
            plain = ran.out if ran.code == 0 and not ran.looks_like_json else ""
            text = ran.context or plain.strip()[:MOST_TOLD]
            if text:
                self.say(f"A {event} hook of the user adds:\n{text}")

    async def close(self) -> None:
        """Run the hooks of `SessionEnd`, where it ends, and stop what still runs."""
        for task in (self._starting, self._following):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if self.leaving:
            await self.runner.run("SessionEnd", {"reason": self.leaving}, self.leaving)
        await self.runner.close()

    # -- compaction; implements `session.ports.CompactionWatch` -------------------------------------------

    async def before_compaction(self, trigger: Trigger, wish: str) -> str:
        """Why the conversation is not to be shortened; empty where it may be."""
        more = {"trigger": trigger, "custom_instructions": wish}
        ended = await self.runner.run("PreCompact", more, trigger)
        return next((why for ran in ended if (why := ran.halts or ran.blocks)), "")

    async def after_compaction(self, trigger: Trigger, summary: str) -> None:
        """The conversation was shortened."""
        await self.runner.run("PostCompact", {"trigger": trigger, "compact_summary": summary}, trigger)
        await self._started("compact")

    # -- notices ------------------------------------------------------------------------------------------

    async def _follow(self, events: AsyncGenerator[Envelope, None], *, converses: bool) -> None:
        """Notify of what waits for a person."""
        idle: asyncio.TimerHandle | None = None
        loop = asyncio.get_running_loop()
        work: set[asyncio.Future[Any]] = set()

        def notify(kind: str, message: str) -> None:
            more = {"message": message, "title": "Wisp", "notification_type": kind}
            task = asyncio.ensure_future(self.runner.run("Notification", more, kind))
            work.add(task)
            task.add_done_callback(work.discard)

        try:
            async with aclosing(events):
                async for envelope in events:
                    event = envelope.event
                    if idle is not None:
                        idle.cancel()
                    if isinstance(event, ToolApprovalRequested):
                        notify("permission_prompt", f"Wisp needs your permission: {event.summary}")
                    elif isinstance(event, QuestionAsked):
                        notify("elicitation_dialog", f"Wisp asks: {event.text}")
                    elif isinstance(event, AgentCompleted) and converses:
                        idle = loop.call_later(IDLE, notify, "idle_prompt", "Wisp is waiting for your input")
        finally:
            if idle is not None:
                idle.cancel()
            for task in list(work):
                task.cancel()
            if work:
                await asyncio.wait(work)

    # -- stopping -----------------------------------------------------------------------------------------

    def boundary(self, inner: Boundary | None) -> Boundary:
        """Where hooks of `Stop` are asked whether the run may."""
        return _Stopping(self.runner, self.calls, self._clock, inner or NoBoundary())

    async def below(self, agent_id: str, agent_type: str) -> Below:
        """The hooks of a subagent that starts now."""
        facts = {"agent_id": agent_id, "agent_type": agent_type}
        ended = await self.runner.run("SubagentStart", {}, agent_type, facts=facts)
        calls = CallHooks(self.runner, self._workspace, self._ledger, facts)
        boundary = _Stopping(self.runner, calls, self._clock, NoBoundary(), facts)
        context = "\n".join(ran.context for ran in ended if ran.context)
        return Below(calls, boundary, f"A hook of the user adds:\n{context}" if context else "")


class Below(msgspec.Struct, frozen=True):
    """The hooks of one subagent."""

    calls: CallHooks
    boundary: Boundary
    context: str
    """What it is told with its task."""


class _Stopping:
    """Between two requests: ends the run that a hook stopped, and asks hooks before it ends by itself."""

    def __init__(
        self,
        runner: Runner,
        calls: CallHooks,
        clock: Clock,
        inner: Boundary,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        self._runner = runner
        self._calls = calls
        self._clock = clock
        self._inner = inner
        self._facts = facts
        self._turn = 0
        self._count = 0
        """How often in a row hooks had the run go on."""

    async def decide(self, at: At) -> Decision:
        """See `loop.boundary.Boundary`; an inner boundary's decision comes first."""
        if at.turn <= self._turn:  # another run
            self._count = 0
        self._turn = at.turn
        found = await self._inner.decide(at)
        if found.stop:
            return found
        if self._calls.halted:
            return Decision(f"a hook stopped the run: {self._calls.halted}", refused=True)
        if not at.would_stop or found != Decision():
            return found
        why = await self._goes_on(at)
        if not why:
            self._count = 0
            return found
        return Decision(extra=(UserMessage((Text(why),), id=self._clock.new_id()),))

    async def _goes_on(self, at: At) -> str:
        """What hooks want to be done before the end; empty where nothing is."""
        last = at.messages[-1] if at.messages else None
        more = {
            "stop_hook_active": self._count > 0,
            "last_assistant_message": last.text if isinstance(last, AssistantMessage) else "",
        }
        if self._facts is None:
            ended = await self._runner.run("Stop", more)
        else:
            kind = self._facts["agent_type"]
            ended = await self._runner.run("SubagentStop", more, kind, facts=self._facts)
        reasons = [why for ran in ended if (why := ran.blocks)]
        if not reasons or any(ran.halts for ran in ended):
            return ""
        if self._count >= MOST_GOING_ON:
            self._runner.tell(
                f"hooks had this run go on {self._count} times in a row; it ends now. {reasons[0]}"
            )
            return ""
        self._count += 1
        return "A hook of the user does not let you stop yet:\n" + "\n".join(reasons)
