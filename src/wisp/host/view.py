"""What a front end shows, as a pure fold over events.  The same for every front end.

`reduce` takes the view so far and one envelope and changes the view in place, cheaply: a delta appends
to a list.  Whoever needs a frozen copy asks `host.snapshot`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from wisp.harness.events import (
    QuestionAnswered,
    QuestionAsked,
    QueueUpdated,
    ToolApprovalRequested,
    ToolApprovalResolved,
)
from wisp.host.events import AnswerChecked, Envelope, PlanSaved, SessionOpened, SubagentReported
from wisp.loop.events import (
    AgentCompleted,
    AgentStarted,
    CompactionCompleted,
    CompactionStarted,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    ProviderRetrying,
    ProviderSwitched,
    RunStop,
    ToolExecutionEnded,
    ToolExecutionStarted,
    TurnCompleted,
    TurnStarted,
)
from wisp.messages.usage import ZERO, Usage


class PermissionDenial(msgspec.Struct, frozen=True):
    """One refused call."""

    call_id: str
    tool: str
    message: str


class RunView(msgspec.Struct):
    """One run, from prompt to end."""

    stop_reason: RunStop | None = None
    error: str = ""
    failure_kind: str = ""
    turns: int = 0
    answer: str | None = None
    """Text of the last whole message."""
    finish_reason: str = ""
    """Why the model's last message ended."""
    usage: Usage = ZERO
    cost_usd: float | None = 0.0
    denials: list[PermissionDenial] = []
    effects: int = 0
    """Effectful calls that succeeded."""
    headless_refusals: int = 0
    structured: Any = None
    """What the answer says, where it was to fit a schema and does."""
    answer_problem: str = ""
    """Why the answer does not fit the schema that was asked for."""
    plan_file: str | None = None
    """Where the answer was kept, in plan mode."""
    started_at: float = 0.0
    ended_at: float = 0.0
    provider_seconds: float = 0.0

    @property
    def cut(self) -> str:
        """What is to be said of an answer that ended at the model's limit; empty for a whole one."""
        ended = self.stop_reason == "model_finished" and self.finish_reason == "length"
        return "the answer reached the model's output limit and is not whole" if ended else ""


class View(msgspec.Struct):
    """The conversation as a person sees it."""

    session_id: str = ""
    session_path: str = ""
    phase: Literal["idle", "thinking", "tool", "approval", "question", "retrying"] = "idle"
    model: str = ""
    provider: str = ""
    run: RunView = msgspec.field(default_factory=RunView)
    pending: ToolApprovalRequested | None = None
    running_tool: str = ""
    question: QuestionAsked | None = None
    waiting: str = ""
    """What is being waited for, in words; empty while nothing is."""
    waiting_messages: int = 0
    """Queued messages that were not said yet."""
    asked_at: float = 0.0
    """When the last request went out, seconds since 1970."""
    answering: bool = False
    """A request is out whose answer is not whole yet."""


def reduce(view: View, envelope: Envelope) -> None:
    """Take one event into the view."""
    event = envelope.event
    if isinstance(event, MessageDelta):
        return
    run = view.run
    if isinstance(event, AgentStarted):
        view.run = RunView(started_at=envelope.at)
        view.provider, view.model, view.phase = event.provider, event.model, "thinking"
    elif isinstance(event, TurnStarted):
        view.phase, view.asked_at, view.answering = "thinking", envelope.at, False
        view.waiting = "the model"
        run.turns = event.turn
    elif isinstance(event, MessageCompleted):
        _message(view, event, envelope.at)
    elif isinstance(event, ProviderRetrying):
        view.phase = "retrying"
        view.waiting = f"{event.delay_seconds:.1f} s, then attempt {event.attempt}: {event.reason}"
    elif isinstance(event, MessageStarted):
        view.phase, view.answering, view.waiting = "thinking", True, "the rest of the answer"
    elif isinstance(event, TurnCompleted):
        view.running_tool, run.finish_reason = "", event.finish_reason
        if view.answering:  # nobody was told what it came to
            run.usage, run.cost_usd, view.answering = run.usage.plus(Usage()), None, False
            run.provider_seconds += max(0.0, envelope.at - view.asked_at)
    elif isinstance(event, ProviderSwitched):
        view.provider, view.model = event.provider, event.model
    elif isinstance(event, ToolExecutionStarted):
        view.phase, view.running_tool, view.waiting = "tool", event.name, event.name
    elif isinstance(event, ToolExecutionEnded):
        _ended(run, event)
    elif isinstance(event, ToolApprovalRequested):
        view.phase, view.pending, view.waiting = "approval", event, f"your word on: {event.summary}"
    elif isinstance(event, ToolApprovalResolved):
        view.phase, view.pending, view.waiting = "tool", None, view.running_tool
    elif isinstance(event, QuestionAsked):
        view.phase, view.question, view.waiting = "question", event, f"your answer to: {event.text}"
    elif isinstance(event, QuestionAnswered):
        view.phase, view.question, view.waiting = "thinking", None, ""
    elif isinstance(event, CompactionStarted):
        view.waiting = "the conversation to be shortened"
    elif isinstance(event, CompactionCompleted):
        view.waiting = "the model"
        _beside(run, event.usage, event.cost_usd)
    elif isinstance(event, SubagentReported):
        _beside(run, event.usage, event.cost_usd)
        if event.state != "ended":
            view.waiting = f"{event.agent}: {event.text or event.label}"
    elif isinstance(event, QueueUpdated):
        view.waiting_messages = len(event.steering) + len(event.follow_up)
    elif isinstance(event, AnswerChecked):
        run.structured, run.answer_problem = event.value, event.problem
    elif isinstance(event, PlanSaved):
        run.plan_file = event.path
    elif isinstance(event, AgentCompleted):
        run.stop_reason, run.error, run.failure_kind = event.stop_reason, event.error, event.failure_kind
        run.turns, run.ended_at = event.turns, envelope.at
        view.phase, view.pending, view.question, view.waiting = "idle", None, None, ""
    elif isinstance(event, SessionOpened):
        view.session_id, view.session_path = envelope.session_id, event.path


def _message(view: View, event: MessageCompleted, at: float) -> None:
    run = view.run
    view.answering = False
    run.answer = event.message.text
    run.usage = run.usage.plus(event.message.usage or Usage())
    known = run.cost_usd is not None and event.cost_usd is not None
    run.cost_usd = (run.cost_usd or 0) + (event.cost_usd or 0) if known else None
    run.provider_seconds += max(0.0, at - view.asked_at)


def _beside(run: RunView, usage: Usage | None, cost: float | None) -> None:
    """What a summary or a subagent spends is spent by the run; its messages are not the run's."""
    if usage is None:
        return
    run.usage = run.usage.plus(usage)
    run.cost_usd = None if cost is None or run.cost_usd is None else run.cost_usd + cost


def _ended(run: RunView, event: ToolExecutionEnded) -> None:
    if event.effectful and not event.is_error:
        run.effects += 1
    if event.failure_code == "denied":
        run.denials.append(PermissionDenial(event.call_id, event.name, event.output))
        run.headless_refusals += bool(event.details.get("headless"))
