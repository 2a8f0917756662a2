"""What the harness adds to a run's events: approvals and queues.

Between a call's `ToolExecutionStarted` and its `ToolExecutionEnded` there may be one
`ToolApprovalRequested`, always followed by its `ToolApprovalResolved`.  Every `QueueMessageInjected` is
followed by a `QueueUpdated`.  `RepairReported` comes before `AgentStarted`.
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


class ToolApprovalResolved(Event, frozen=True, tag="tool.approval.resolved"):
    """The question is settled."""

    call_id: str
    name: str
    approved: bool
    by: Literal["person", "headless", "cancelled", "expired"]
    reason: str = ""


class QueuedMessage(msgspec.Struct, frozen=True):
    """A message that waits for its boundary."""

    id: str
    text: str


class QueueUpdated(Event, frozen=True, tag="queue.updated"):
    """What waits now, oldest first."""

    steering: tuple[QueuedMessage, ...]
    follow_up: tuple[QueuedMessage, ...]
