"""Events of a run as `session/update` notifications.

Pieces of an answer that the client has not read yet are joined, up to `MOST_JOINED`: a client that is slow
gets fewer and longer ones.  What is still waiting of a command's live output is replaced by what is newer.
"""

from __future__ import annotations

from typing import Any

from wisp.frontends.acp.blocks import call_name, call_started
from wisp.frontends.acp.calls import fenced, plan_of, result_content
from wisp.frontends.acp.types import (
    AgentChunk,
    CallUpdated,
    Cost,
    PlanUpdate,
    ShownText,
    ThoughtChunk,
    Update,
    UsageUpdate,
    UserChunk,
)
from wisp.frontends.wire.peer import Outgoing, Peer
from wisp.host.events import (
    ContextEstimated,
    ErrorReported,
    Event,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    PlanSaved,
    ProcessEnded,
    ProviderRetrying,
    ProviderSwitched,
    QueueMessageInjected,
    RepairReported,
    SubagentReported,
    ToolApprovalResolved,
    ToolCalled,
    ToolExecutionEnded,
    ToolExecutionProgress,
    ToolExecutionStarted,
    ToolResultAdded,
)
from wisp.host.showing import flat, inert, named, safe
from wisp.messages.content import Image
from wisp.messages.message import UserMessage

MOST_JOINED = 8192
"""Characters of an answer in one notification."""
MOST_LIVE = 16384
"""Characters of a command's output that are shown while it runs: its end."""


class Teller:
    """Tells one session's client what happens."""

    def __init__(self, peer: Peer, session_id: str, cwd: str) -> None:
        self._peer = peer
        self._session_id = session_id
        self._cwd = cwd
        self._last: Outgoing | None = None
        self._joined: tuple[type[AgentChunk | ThoughtChunk], str | None, str] = (AgentChunk, None, "")
        self._ids: dict[str, str] = {}
        self._plans: dict[str, PlanUpdate] = {}
        self._live: dict[str, tuple[Outgoing | None, str]] = {}
        self._message_id: str | None = None
        self._said = False
        self.cost: float | None = 0.0
        """What the conversation cost in this process, in US dollars; None when unknown."""

    def send(self, update: Update) -> Outgoing:
        """Send one update."""
        self._last = None
        return self._peer.notify("session/update", {"sessionId": self._session_id, "update": update})

    def spent(self, cost: float | None) -> None:
        """Add what a run cost; with one that is not known, the sum is not either."""
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    def name_of(self, call_id: str) -> str:
        """Under which id the client knows a call."""
        return self._ids.get(call_id, call_id)

    def say(self, text: str) -> None:
        """Words of the program itself, in the place of an answer."""
        self.send(AgentChunk(content=ShownText(text=safe(text))))

    def note(self, text: str) -> None:
        """Something a person should know, beside the answer."""
        self.send(ThoughtChunk(content=ShownText(text=safe(f"[{flat(text)}]\n"))))

    def event(self, event: Event) -> None:
        """Tell of one event."""
        if isinstance(event, MessageDelta):
            self._delta(event)
        elif isinstance(event, MessageStarted):
            self._message_id, self._said = event.message_id or None, False
        elif isinstance(event, MessageCompleted):
            if not self._said and event.message.text:
                self._chunk(AgentChunk, event.message.text)
        elif isinstance(event, ContextEstimated):
            self._usage(event)
        elif isinstance(event, QueueMessageInjected):
            if isinstance(event.message, UserMessage):
                self.send(UserChunk(content=ShownText(text=inert(event.message.text))))
        elif not self._call(event):
            self._remark(event)

    # -- answers ------------------------------------------------------------------------------------------

    def _delta(self, event: MessageDelta) -> None:
        if event.content_kind == "text":
            self._said = True
            self._chunk(AgentChunk, event.delta)
        elif event.content_kind == "thinking":
            self._chunk(ThoughtChunk, event.delta)

    def _chunk(self, kind: type[AgentChunk | ThoughtChunk], text: str) -> None:
        """A piece of the answer; joined to the one before where that still waits."""
        before = self._joined
        joins = self._last is not None and not self._last.taken and before[:2] == (kind, self._message_id)
        if joins and len(before[2]) + len(text) <= MOST_JOINED:
            assert self._last is not None
            text = before[2] + text
            self._last.message["params"] = self._params(kind, text)
        else:
            self._last = self._peer.notify("session/update", self._params(kind, text))
        self._joined = (kind, self._message_id, text)

    def _params(self, kind: type[AgentChunk | ThoughtChunk], text: str) -> dict[str, Any]:
        update = kind(content=ShownText(text=inert(text)), message_id=self._message_id)
        return {"sessionId": self._session_id, "update": update}

    # -- calls --------------------------------------------------------------------------------------------

    def _call(self, event: Event) -> bool:
        """Whether the event was one about a call."""
        if isinstance(event, ToolCalled):
            name = self._ids[event.call_id] = call_name(self._message_id, event.call_id)
            started = call_started(name, event.name, event.arguments, self._cwd)
            self.send(started)
            plan = plan_of(started.raw_input) if event.name == "todo" else None
            if plan is not None:
                self._plans[event.call_id] = plan
        elif isinstance(event, ToolExecutionStarted):
            self.send(CallUpdated(tool_call_id=self.name_of(event.call_id), status="in_progress"))
        elif isinstance(event, ToolApprovalResolved):
            if event.approved:
                self.send(CallUpdated(tool_call_id=self.name_of(event.call_id), status="in_progress"))
        elif isinstance(event, ToolExecutionProgress):
            self._progress(event.call_id, event.text)
        elif isinstance(event, SubagentReported):
            what = f"{event.label}: {event.text or event.state}\n"
            self._progress(event.call_id.partition("/")[0], what)
        elif isinstance(event, ToolExecutionEnded):
            self._ended(event)
        elif isinstance(event, ToolResultAdded):
            pictures = [block for block in event.result.content if isinstance(block, Image)]
            if pictures:
                shown = result_content(event.result.text, "", event.result.content, self._cwd)
                self.send(CallUpdated(tool_call_id=self.name_of(event.result.call_id), content=shown))
        else:
            return False
        return True

    def _progress(self, call_id: str, more: str) -> None:
        waiting, text = self._live.get(call_id, (None, ""))
        text = (text + more)[-MOST_LIVE:]
        update = CallUpdated(tool_call_id=self.name_of(call_id), content=(fenced(safe(text)),))
        if waiting is not None and not waiting.taken:
            waiting.message["params"] = {"sessionId": self._session_id, "update": update}
        else:
            waiting = self.send(update)
        self._live[call_id] = (waiting, text)

    def _ended(self, event: ToolExecutionEnded) -> None:
        self._live.pop(event.call_id, None)
        plan = self._plans.pop(event.call_id, None)
        if plan is not None and not event.is_error:
            self.send(plan)
        diff = event.details.get("diff")
        shown = result_content(event.output, diff if isinstance(diff, str) else "", (), self._cwd)
        failed = {"code": event.failure_code} if event.failure_code else {}
        self.send(
            CallUpdated(
                tool_call_id=self.name_of(event.call_id),
                title=named(event.summary) or None,
                status="failed" if event.is_error else "completed",
                content=shown,
                raw_output={"output": event.output, **failed},
            )
        )

    # -- everything else ----------------------------------------------------------------------------------

    def _usage(self, event: ContextEstimated) -> None:
        if event.window:
            cost = None if self.cost is None else Cost(amount=self.cost, currency="USD")
            self.send(UsageUpdate(used=event.total, size=event.window, cost=cost))

    def _remark(self, event: Event) -> None:
        if isinstance(event, ProviderRetrying):
            self.note(f"{event.reason}; attempt {event.attempt} in {event.delay_seconds:.1f} s")
        elif isinstance(event, ProviderSwitched):
            self.note(f"{event.reason}; {event.provider}/{event.model} answers now")
        elif isinstance(event, MessageWithdrawn):
            self.note(f"{event.reason}: what was said of this answer does not count, it begins again")
        elif isinstance(event, ErrorReported):
            self.note(event.message)
        elif isinstance(event, RepairReported):
            self.note("; ".join(event.messages))
        elif isinstance(event, PlanSaved):
            self.note(f"the plan is kept in {event.path}")
        elif isinstance(event, ProcessEnded):
            how = "was stopped" if event.exit_code is None else f"ended with exit code {event.exit_code}"
            self.note(f"{event.id} {how}: {event.command}")
