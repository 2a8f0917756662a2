"""What the loop needs from others, as small protocols; whoever runs a loop passes objects that have them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from wisp.loop.events import Event, QueueMessageInjected
from wisp.messages.content import ToolCall
from wisp.messages.message import AssistantMessage, Message, ToolResult
from wisp.messages.tool import Effect, Replay, ToolOutcome, ToolSpec
from wisp.messages.usage import Usage
from wisp.providers.base import ModelRequest

Emit = Callable[[Event], None]
"""Tell an event from inside a call, in the event loop's thread only; never blocks, never raises."""


class RequestIntent(msgspec.Struct, frozen=True):
    """A request is about to be made; its answer will carry `result_id`."""

    turn: int
    result_id: str
    request: ModelRequest
    provider: str
    """Who is asked."""
    api: str
    """The dialect it is asked in."""


class CallIntent(msgspec.Struct, frozen=True):
    """A call is about to run; its result will carry `result_id`."""

    turn: int
    call: ToolCall
    result_id: str
    replay: Replay
    effectful: bool
    effects: tuple[Effect, ...] = ()
    """What it declared to do."""


class EffectGuard(Protocol):
    """Told before and after everything that reaches outside, so that it can be made durable.

    Both are awaited: nothing happens before `about_to` returns, and nothing follows before `settled`
    returns.  An exception from either ends the run as an error, before the next effect.
    """

    async def about_to(self, intent: RequestIntent | CallIntent) -> None:
        """`intent` is the very next thing to happen."""
        ...

    async def settled(self, outcome: AssistantMessage | ToolResult) -> None:
        """It happened, and this is what came of it.  Also called for calls that never ran (refused ones)."""
        ...


class ReadyCall(Protocol):
    """One call after it was decoded, judged and, where needed, approved.  Nothing has happened yet."""

    @property
    def failure(self) -> ToolOutcome | None:
        """Set when the call will not run: bad arguments, refused, unknown tool."""
        ...

    @property
    def parallel_safe(self) -> bool:
        """Whether it may run beside other such calls."""
        ...

    @property
    def resources(self) -> tuple[str, ...]:
        """Canonical names of what it touches."""
        ...

    @property
    def replay(self) -> Replay:
        """Whether it may be run again when its outcome is unknown."""
        ...

    @property
    def effectful(self) -> bool:
        """Whether running it may change something."""
        ...

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What it declared to do."""
        ...

    @property
    def summary(self) -> str:
        """One line that says what it does."""
        ...

    def run(self, emit: Emit) -> Awaitable[ToolOutcome]:
        """Do it.  Expected failures are outcomes.  When cancelled it stops what it started, within 500 ms,
        and returns an outcome with code `cancelled` instead of raising; bugs raise."""
        ...


class ToolRuntime(Protocol):
    """The tools, as the loop sees them."""

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is offered; the same tuple as long as nothing changed."""
        ...

    async def prepare(self, call: ToolCall, emit: Emit) -> ReadyCall:
        """Decode, judge and, where needed, ask about one call.  Has no effects; expected failures are a
        `ReadyCall` with `failure` set.  Cancelling it takes back a question that is still open."""
        ...


class Mailbox(Protocol):
    """Messages that wait for a request boundary."""

    def collect(self, *, would_stop: bool) -> Sequence[QueueMessageInjected]:
        """Take what may be delivered now, first in first out; follow-ups only when the run would stop."""
        ...


class Fitted(msgspec.Struct, frozen=True):
    """A shorter history that the run goes on with."""

    messages: tuple[Message, ...]
    usage: Usage | None = None
    """What making it cost; counts against the run's limits."""
    cost: float | None = 0.0


class Fitter(Protocol):
    """Keeps requests within the model's window."""

    def fit(self, request: ModelRequest, *, overflow: bool) -> AsyncIterator[Event | Fitted]:
        """Asked before each request, and after one that did not fit (`overflow`).

        Yields what is to be told and, last, a `Fitted` when the history was shortened.  What it yields is
        durable already.  A cancellation passes through.
        """
        ...

    def explain(self, request: ModelRequest) -> str:
        """What takes the space of a request that does not fit, as one sentence; empty if nobody knows."""
        ...


class NoFitter:
    """Lets every request be as large as it is."""

    async def fit(self, request: ModelRequest, *, overflow: bool) -> AsyncIterator[Event | Fitted]:
        """Nothing."""
        nothing: tuple[Event, ...] = ()
        for event in nothing:
            yield event

    def explain(self, request: ModelRequest) -> str:
        """Nothing."""
        return ""


class Cancellation(Protocol):
    """Tells the loop whether a cancellation of its task was asked for by the run's owner.

    The owner sets `requested` first and cancels the task after.  The loop then settles, tells the closing
    events and ends normally; a cancellation nobody asked for settles and propagates.
    """

    @property
    def requested(self) -> str:
        """Why the run should end, for a person; empty while it should go on."""
        ...


class NeverCancelled:
    """A run that its owner does not cancel."""

    requested = ""


class NoGuard:
    """A guard that remembers nothing."""

    async def about_to(self, intent: RequestIntent | CallIntent) -> None:
        """Do nothing."""

    async def settled(self, outcome: AssistantMessage | ToolResult) -> None:
        """Do nothing."""


class NoMail:
    """A mailbox that is always empty."""

    def collect(self, *, would_stop: bool) -> Sequence[QueueMessageInjected]:
        """Nothing."""
        return ()
