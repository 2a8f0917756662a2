"""The envelope in which every event leaves the host, and its form on the wire.

    {"type": "message.delta", "session_id": "...", "seq": 17, "at": "...", ...payload}

`seq` counts from 1 without gaps for as long as the process lives.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, Literal

import msgspec

from wisp.context.ledger import Part
from wisp.harness.events import (
    QuestionAnswered,
    QuestionAsked,
    QueuedMessage,
    QueueUpdated,
    ToolApprovalRequested,
    ToolApprovalResolved,
)
from wisp.loop.events import (
    AgentCompleted,
    AgentStarted,
    CacheBroken,
    CompactionCompleted,
    CompactionStarted,
    ContextOverflow,
    ContextPressure,
    ErrorReported,
    Event,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    ProviderRetrying,
    ProviderSwitched,
    QueueMessageInjected,
    RepairReported,
    ToolCalled,
    ToolExecutionEnded,
    ToolExecutionProgress,
    ToolExecutionStarted,
    ToolResultAdded,
    TurnCompleted,
    TurnStarted,
)
from wisp.messages.usage import Usage
from wisp.session.events import SessionSaved


class Envelope(msgspec.Struct, frozen=True):
    """One event with its place in the stream."""

    seq: int
    session_id: str
    at: float
    """Seconds since 1970."""
    event: Event


class SessionOpened(Event, frozen=True, tag="session.opened"):
    """A conversation is ready for its first prompt."""

    path: str
    resumed: bool
    messages: int


class TrustRequested(Event, frozen=True, tag="trust.requested"):
    """The folder has files of its own that nobody has decided about; until then they are not read.

    Told once, to a front end where somebody can be asked; the command `trust` answers.
    """

    folder: str
    found: tuple[str, ...]
    """Names of what would be read."""


class TrustResolved(Event, frozen=True, tag="trust.resolved"):
    """A person decided about the folder; the conversation goes on with what that means."""

    folder: str
    action: Literal["allow", "revoke", "forget"]
    trusted: bool


class ContextEstimated(Event, frozen=True, tag="context.estimated"):
    """What takes the space of the next request; told when asked for."""

    parts: tuple[Part, ...]
    """Estimates, adjusted to `total`."""
    total: int
    measured: bool
    """Whether `total` rests on the provider's own figure."""
    window: int | None
    reserve: int
    """Tokens kept free for the answer."""


class AnswerChecked(Event, frozen=True, tag="answer.checked"):
    """The answer of the run that is about to be completed was held against the schema that was asked for."""

    value: Any
    """What it says; null where it does not fit."""
    problem: str
    """Why it does not fit; empty where it does."""


class CredentialsShown(Event, frozen=True, tag="credentials.shown"):
    """What a person must open and type elsewhere to log in, while a front end waits for it."""

    provider: str
    text: str


class SubagentReported(Event, frozen=True, tag="subagent.reported"):
    """How the work of a `task` call goes: begun, one request further, or ended."""

    call_id: str
    """The call of `task`; of a subagent's subagent `CALL/CALL`."""
    agent: str
    label: str
    state: Literal["begun", "working", "ended"]
    turns: int
    text: str = ""
    """What it does now, in a line; at its end why that was, empty for a normal one."""
    usage: Usage | None = None
    """What the last request used."""
    cost_usd: float | None = 0.0
    """What the last request cost; None where a price is unknown."""


class PlanSaved(Event, frozen=True, tag="plan.saved"):
    """In plan mode: the answer of the run that is about to be completed was kept as a file."""

    path: str


class ShellStarted(Event, frozen=True, tag="shell.started"):
    """A command that a person runs themselves was begun; its output follows as `tool.execution.progress`."""

    call_id: str
    command: str
    told: bool
    """Whether the model is told of it, with the next message."""


class ShellEnded(Event, frozen=True, tag="shell.ended"):
    """It ended, or was not allowed to run."""

    call_id: str
    command: str
    output: str
    is_error: bool
    duration_ms: int
    told: bool


class ProcessEnded(Event, frozen=True, tag="process.ended"):
    """A command that was kept running in the background ended; the model is told at the next boundary."""

    id: str
    command: str
    exit_code: int | None
    """None when it was stopped or could not be started."""


def wire(envelope: Envelope, at: str) -> dict[str, Any]:
    """The envelope as one flat JSON-ready mapping; `at` is its time as text."""
    payload = msgspec.to_builtins(envelope.event)
    kind = payload.pop("type")
    return {"type": kind, "session_id": envelope.session_id, "seq": envelope.seq, "at": at, **payload}


EVENTS: tuple[type[Event], ...] = (
    AgentCompleted,
    AgentStarted,
    AnswerChecked,
    CacheBroken,
    CompactionCompleted,
    CompactionStarted,
    ContextEstimated,
    ContextOverflow,
    ContextPressure,
    CredentialsShown,
    ErrorReported,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    PlanSaved,
    ProcessEnded,
    ProviderRetrying,
    ProviderSwitched,
    QuestionAnswered,
    QuestionAsked,
    QueueMessageInjected,
    QueueUpdated,
    RepairReported,
    SessionOpened,
    SessionSaved,
    ShellEnded,
    ShellStarted,
    SubagentReported,
    ToolApprovalRequested,
    ToolApprovalResolved,
    ToolCalled,
    ToolExecutionEnded,
    ToolExecutionProgress,
    ToolExecutionStarted,
    ToolResultAdded,
    TrustRequested,
    TrustResolved,
    TurnCompleted,
    TurnStarted,
)
"""Every type of event that leaves the host."""

ANY_EVENT: Any = functools.reduce(operator.or_, EVENTS)
"""Their union, to read one from its form on the wire."""

__all__ = [
    "ANY_EVENT",
    "EVENTS",
    "AgentCompleted",
    "AgentStarted",
    "AnswerChecked",
    "CacheBroken",
    "CompactionCompleted",
    "CompactionStarted",
    "ContextEstimated",
    "ContextOverflow",
    "ContextPressure",
    "CredentialsShown",
    "Envelope",
    "ErrorReported",
    "Event",
    "MessageCompleted",
    "MessageDelta",
    "MessageStarted",
    "MessageWithdrawn",
    "Part",
    "PlanSaved",
    "ProcessEnded",
    "ProviderRetrying",
    "ProviderSwitched",
    "QuestionAnswered",
    "QuestionAsked",
    "QueueMessageInjected",
    "QueueUpdated",
    "QueuedMessage",
    "RepairReported",
    "SessionOpened",
    "SessionSaved",
    "ShellEnded",
    "ShellStarted",
    "SubagentReported",
    "ToolApprovalRequested",
    "ToolApprovalResolved",
    "ToolCalled",
    "ToolExecutionEnded",
    "ToolExecutionProgress",
    "ToolExecutionStarted",
    "ToolResultAdded",
    "TrustRequested",
    "TrustResolved",
    "TurnCompleted",
    "TurnStarted",
    "wire",
]
