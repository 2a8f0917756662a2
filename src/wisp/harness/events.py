"""What the harness adds to a run's events: approvals, questions and queues.

Between a call's `ToolExecutionStarted` and its `ToolExecutionEnded` there may be one
`ToolApprovalRequested`, always followed by its `ToolApprovalResolved`.  Every `QuestionAsked` is followed by
its `QuestionAnswered`: within a call for one of the model's, between two turns (or before the first) for one
about a limit.  Every `QueueMessageInjected` is followed by a `QueueUpdated`.  `RepairReported` comes before
`AgentStarted`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from wisp.loop.events import Event

Scope = Literal["once", "session"]


class ToolApprovalRequested(Event, frozen=True, tag="tool.approval.requested"):
    """A call waits for a person."""

    call_id: str
    name: str
    digest: str
    """Identity of the exact operation; an answer must carry it."""
    summary: str
    preview: str
    """The whole operation: a diff or a command."""
    reason: str
    """Why it is asked."""
    session_rule: str = ""
    """The rule that an answer for the session would add; empty where none may be stored."""
    parts: int = 0
    """How many hunks of the diff in `preview` can be allowed without the others; 0 where none can."""


class ToolApprovalResolved(Event, frozen=True, tag="tool.approval.resolved"):
    """The question is settled."""

    call_id: str
    name: str
    approved: bool
    by: Literal["person", "headless", "cancelled", "expired"]
    reason: str = ""


class QuestionAsked(Event, frozen=True, tag="question.asked"):
    """Something waits for a person's words: a question of the model, or whether a limit may be passed."""

    question_id: str
    text: str
    options: tuple[str, ...] = ()
    """Answers to choose from; where there are none, any text is one."""
    about: str = "model"
    """`model`, the limit that was reached (`turns`, `cost`, `tokens`, `time`, `loop`), `storage` or `mcp`."""


class QuestionAnswered(Event, frozen=True, tag="question.answered"):
    """The question is settled; follows each `QuestionAsked` exactly once."""

    question_id: str
    answer: str
    by: Literal["person", "cancelled"]


class QueuedMessage(msgspec.Struct, frozen=True):
    """A message that waits for its boundary."""

    id: str
    text: str


class QueueUpdated(Event, frozen=True, tag="queue.updated"):
    """What waits now, oldest first."""

    steering: tuple[QueuedMessage, ...]
    follow_up: tuple[QueuedMessage, ...]
    steering_mode: str = "all"
    """`all` waiting messages at a boundary, or `one_at_a_time`."""
    follow_up_mode: str = "all"
    revision: int = 0
    """Counts every change; a command may name the one it was made for."""
    removed: tuple[QueuedMessage, ...] = ()
    """What this change took back."""
