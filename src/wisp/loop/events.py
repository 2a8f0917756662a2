"""What a run tells the world, and in which order.

    QueueMessageInjected*  AgentStarted
      ( TurnStarted
          ContextPressure?  (CompactionStarted  CompactionCompleted)?
          ( RepairReported | CacheBroken | ProviderSwitched | ProviderRetrying )*
          MessageStarted  MessageDelta*
          ( MessageWithdrawn  ( ProviderRetrying | ProviderSwitched )+  MessageStarted  MessageDelta* )*
          MessageCompleted
          or, where the request does not fit:   ContextOverflow  (CompactionStarted  CompactionCompleted)?
          for each call, in order:   ToolCalled  ToolExecutionStarted  (approval events)?
          for each call, in order:   ToolExecutionProgress*  ToolExecutionEnded  ToolResultAdded
        TurnCompleted  QueueMessageInjected* )*
    AgentCompleted

Every `TurnStarted` is followed by exactly one `TurnCompleted`, also when the turn failed or was
cancelled; a turn that failed before its message was whole has no `MessageCompleted`.  `AgentCompleted`
is always last; only a bug or a failed guard ends the stream without it, by raising after the turn's
`TurnCompleted`.  An event is a value: changing it changes nothing that the run holds.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from wisp.messages.message import AssistantMessage, Message, StopReason, ToolResult
from wisp.messages.usage import Usage

RunStop = Literal[
    "model_finished", "turn_limit", "budget", "refused", "cancelled", "provider_failure", "error"
]
"""Why a run ended.  `model_finished` says that the model stopped asking, not that the task is done."""

TurnOutcome = Literal["completed", "failed", "cancelled"]


class Event(msgspec.Struct, frozen=True, tag_field="type"):
    """The base of everything that is told; `type` on the wire is the class's tag."""


class AgentStarted(Event, frozen=True, tag="agent.started"):
    """A run begins."""

    provider: str
    model: str


class TurnStarted(Event, frozen=True, tag="turn.started"):
    """A request is about to be made; turns count from 1 within a run."""

    turn: int


class RepairReported(Event, frozen=True, tag="repair.reported"):
    """Something broken was mended, or left out of requests; each sentence is told once a conversation."""

    messages: tuple[str, ...]


class CacheBroken(Event, frozen=True, tag="cache.broken"):
    """The coming request does not continue the one before it: the provider's prompt cache starts anew."""

    turn: int
    reasons: tuple[str, ...]
    """Some of `model`, `system`, `tools`, `settings`, `history`."""


class ContextPressure(Event, frozen=True, tag="context.pressure"):
    """The next request leaves less room for its answer than is kept free; the conversation is shortened."""

    observed: int
    """Tokens of the next request: the provider's own figure where there is one, estimates for the rest."""
    window: int
    remaining: int
    """Tokens of the window that are left; below 0 where it would not fit."""


class ContextOverflow(Event, frozen=True, tag="context.overflow"):
    """The provider refused a request because it does not fit the model's window."""

    turn: int
    window: int | None
    message: str
    """In the provider's words."""


class ProviderSwitched(Event, frozen=True, tag="provider.switched"):
    """The model that was chosen cannot answer now; this one does until the user speaks again."""

    turn: int
    provider: str
    model: str
    reason: str


class ProviderRetrying(Event, frozen=True, tag="provider.retrying"):
    """The request failed in a way that may pass; it is made again after `delay_seconds`."""

    turn: int
    provider: str
    attempt: int
    max_attempts: int
    delay_seconds: float
    reason: str
    status_code: int = 0


class MessageStarted(Event, frozen=True, tag="message.started"):
    """The model begins to answer."""

    turn: int
    message_id: str
    role: str = "assistant"


class MessageDelta(Event, frozen=True, tag="message.delta"):
    """A piece of the answer as it arrives; for showing only."""

    turn: int
    delta: str
    content_index: int = 0
    content_kind: Literal["text", "thinking", "arguments"] = "text"
    role: str = "assistant"


class MessageWithdrawn(Event, frozen=True, tag="message.withdrawn"):
    """What was shown of the message since `MessageStarted` does not count."""

    turn: int
    message_id: str
    reason: str


class MessageCompleted(Event, frozen=True, tag="message.completed"):
    """The whole answer, and the only form of it that anything may act on."""

    turn: int
    message: AssistantMessage
    finish_reason: StopReason
    cost_usd: float | None = None
    """What it cost at list price; None when unknown."""
    role: str = "assistant"


class ToolCalled(Event, frozen=True, tag="tool.call"):
    """The model asked for a tool."""

    turn: int
    call_id: str
    name: str
    arguments: str
    """JSON text."""


class ToolExecutionStarted(Event, frozen=True, tag="tool.execution.started"):
    """The host takes the call up: it is decoded, judged, perhaps asked about, then run."""

    turn: int
    call_id: str
    name: str


class ToolExecutionProgress(Event, frozen=True, tag="tool.execution.progress"):
    """Live output of a running call; for showing only."""

    call_id: str
    text: str


class ToolExecutionEnded(Event, frozen=True, tag="tool.execution.ended"):
    """The call is over, whether or not it did anything."""

    turn: int
    call_id: str
    name: str
    output: str
    is_error: bool = False
    failure_code: str = ""
    duration_ms: int = 0
    effectful: bool = False
    """Whether it ran and may have changed something."""
    details: dict[str, Any] = {}
    summary: str = ""
    """One line that says what was done or would have been; empty where the call was not understood."""


class ToolResultAdded(Event, frozen=True, tag="tool.result"):
    """The result as the model will see it; directly after its `ToolExecutionEnded`."""

    turn: int
    result: ToolResult


class TurnCompleted(Event, frozen=True, tag="turn.completed"):
    """The turn is over."""

    turn: int
    outcome: TurnOutcome
    finish_reason: StopReason
    will_retry: bool = False
    """The request did not fit; the conversation was shortened and another turn follows."""


class QueueMessageInjected(Event, frozen=True, tag="queue.message.injected"):
    """A message joined the history at a request boundary: a queued one, or a notice of the host.

    Before `AgentStarted` only notices: what happened since the last run.
    """

    kind: Literal["steer", "follow_up", "notice", "extra"]
    """`extra` is a message that a program decided on at the boundary."""
    message: Message


class CompactionStarted(Event, frozen=True, tag="compaction.started"):
    """The conversation is about to be shortened to fit the model's window; between two requests."""

    reason: str
    """`threshold`, `manual`, `overflow`, or `provider`: another one cannot read what the one before made."""
    tokens_before: int
    """Size of the next request: what the provider last said plus an estimate of what came since."""


class CompactionCompleted(Event, frozen=True, tag="compaction.completed"):
    """It was shortened, or that would not have helped."""

    reason: str
    outcome: Literal["completed", "no_gain"]
    tokens_before: int
    tokens_after: int
    """An estimate."""
    usage: Usage | None = None
    """What the summary used."""
    cost_usd: float | None = 0.0
    """What it cost; None where a price is unknown."""


class ErrorReported(Event, frozen=True, tag="error"):
    """Something went wrong that a person should read."""

    message: str
    kind: str = ""


class AgentCompleted(Event, frozen=True, tag="agent.completed"):
    """The run is over; nothing of it follows."""

    stop_reason: RunStop
    turns: int
    error: str = ""
    failure_kind: str = ""
    """`ProviderError.kind` for a provider failure; which budget for `budget`."""
