"""Given what the model said, what comes next.  Pure.

The one rule to read here: calls run only when the provider itself said that the message ended in order
to call tools.  Every other ending leaves them unrun, each with a result that says why.
"""

from __future__ import annotations

import msgspec

from wisp.loop.events import RunStop
from wisp.messages.content import ToolCall
from wisp.messages.message import AssistantMessage


class RunCalls(msgspec.Struct, frozen=True):
    """Run these, then ask the model again."""

    calls: tuple[ToolCall, ...]


class RefuseCalls(msgspec.Struct, frozen=True):
    """Answer these with `code` and `message` without running any, then go on as `then` says."""

    calls: tuple[ToolCall, ...]
    code: str
    message: str
    stop: RunStop | None = None
    """None asks the model again."""


class AskAgain(msgspec.Struct, frozen=True):
    """The provider paused; the same conversation continues with another request."""


class Stop(msgspec.Struct, frozen=True):
    """The run would end here, unless a queued message takes it further."""

    reason: RunStop
    error: str = ""


Next = RunCalls | RefuseCalls | AskAgain | Stop


def what_next(message: AssistantMessage) -> Next:
    """Decide what follows a complete message."""
    calls, stop = message.calls, message.stop
    if stop in ("refusal", "content_filter"):
        why = "the model declined" if stop == "refusal" else "the provider's filter stopped the answer"
        if calls:
            return RefuseCalls(calls, "refused", f"not run: {why}", stop="refused")
        return Stop("refused", why)
    if stop == "pause" and not calls:
        return AskAgain()
    if not calls:
        return Stop("model_finished")
    if stop == "length":
        return RefuseCalls(
            calls,
            "cut_off",
            "not run: the message reached the output limit before it was complete. "
            "Send the call again, smaller: split a large write into several edits.",
        )
    if stop == "tool_calls":
        return RunCalls(calls)
    return RefuseCalls(calls, "incomplete", f"not run: the message ended with {stop!r}")
