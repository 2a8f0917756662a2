"""What the harness needs from others: a person to ask, a memory that lasts, instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

from wisp.harness.events import QuestionAsked, Scope, ToolApprovalRequested
from wisp.loop.events import AgentCompleted
from wisp.loop.ports import EffectGuard
from wisp.messages.message import Message
from wisp.messages.tool import ToolOutcome
from wisp.tools.base import Prepared


class ApprovalAnswer(msgspec.Struct, frozen=True):
    """What a person said about one operation."""

    digest: str
    """Copied from the request; an answer with another digest is an answer to something else."""
    approved: bool
    scope: Scope = "once"
    reason: str = ""
    """For the model, when denied."""


class Approver(Protocol):
    """Someone who can be asked."""

    async def ask(self, request: ToolApprovalRequested) -> ApprovalAnswer:
        """Show the whole of `request` and wait for the answer.  Cancelled when its run is."""
        ...


class Advice(msgspec.Struct, frozen=True):
    """What a hook says of a call; it may tighten everything and loosen only what would be asked."""

    verdict: Literal["", "deny", "ask", "allow"] = ""
    reason: str = ""
    arguments: dict[str, Any] | None = None
    """Others instead of the model's."""


class CallHooks(Protocol):
    """Somebody who is told of every call before and after it."""

    async def before_call(self, call_id: str, prepared: Prepared) -> Advice:
        """Asked once a call is prepared and before a person is.  Cancelled with the run."""
        ...

    async def asked(self, call_id: str, prepared: Prepared) -> Advice:
        """Asked where a person would be, before they are; no verdict leaves it to them."""
        ...

    async def after_call(self, call_id: str, prepared: Prepared, outcome: ToolOutcome) -> ToolOutcome:
        """Told once a call ran or failed; returns the outcome, perhaps with more."""
        ...


class Questioner(Protocol):
    """Someone who can be asked for words."""

    async def ask(self, question: QuestionAsked) -> str:
        """Wait for the answer; one of the options where there are any.  Cancelled when its run is."""
        ...


class Recorder(EffectGuard, Protocol):
    """Makes the conversation last.  Methods return only when what they were told is as durable as it gets."""

    async def accepted(self, messages: tuple[Message, ...]) -> None:
        """These joined the history: a prompt, a steering message, a repair."""
        ...

    async def audit(self, kind: Literal["approval", "retry", "setting"], facts: dict[str, object]) -> None:
        """Something happened that the model never sees but a reader of the record should."""
        ...

    async def ended(self, how: AgentCompleted) -> None:
        """The run is over."""
        ...


class News(Protocol):
    """What the host has to tell the model between turns."""

    def collect(self, history: Sequence[Message]) -> Sequence[str]:
        """What happened since the last call, one text a notice; `history` shows what was told before.

        Quick: it is called on the event loop at every request boundary.
        """
        ...


class NoNews:
    """Nothing ever happens."""

    def collect(self, history: Sequence[Message]) -> Sequence[str]:
        """Nothing."""
        return ()


class Instructions(Protocol):
    """The instruction blocks of a request; request-time data, never part of the history."""

    def blocks(self) -> tuple[str, ...]:
        """The blocks in order.  Equal from call to call unless something really changed."""
        ...


class FixedInstructions:
    """Blocks that do not change."""

    def __init__(self, *blocks: str) -> None:
        self._blocks = blocks

    def blocks(self) -> tuple[str, ...]:
        """The blocks."""
        return self._blocks
