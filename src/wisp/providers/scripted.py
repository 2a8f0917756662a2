"""A provider whose answers are written down: for tests, demonstrations and the documentation.

Each step may state what the tools must have reported before it; a run that went differently fails loudly
instead of reading on.  Needs no key and no network, and obeys the same grammar as every provider.

    provider = ScriptedProvider(
        [
            ScriptStep("I look at the file first.", calls=(call("read", path="add.py"),)),
            ScriptStep("Fixed.", after="return a - b"),
        ]
    )
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

import msgspec

from wisp.messages.codec import arguments_or_fault
from wisp.messages.content import AssistantBlock, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, Message, Native, StopReason, ToolResult
from wisp.messages.usage import Usage
from wisp.providers.base import ModelRequest
from wisp.providers.events import (
    ArgumentsDelta,
    Failed,
    Finished,
    PartEnded,
    PartKind,
    PartStarted,
    ProviderEvent,
    Started,
    TextDelta,
    ThinkingDelta,
)

Observations = tuple[ToolResult, ...]
After = str | Sequence[str] | Callable[[Observations], Any] | None


class ScriptMismatch(AssertionError):
    """The run is not the one the script was written for."""


class ScriptStep:
    """One answer of the scripted model.

    Args:
        text: what it says.
        thinking: what it thinks first.
        calls: the calls it makes, see `call`.
        after: what the tool results since the last answer must contain: a text, several texts, or a
            function of the results whose answer is true.
        fail: end with `Failed` of this kind (`overload`, `wire`, ...) after what was said so far.
        stop: why the message ends; None: what fits.
        usage: tokens to report.
        pause: seconds between deltas.
    """

    def __init__(
        self,
        text: str = "",
        *,
        thinking: str = "",
        calls: Sequence[ToolCall] = (),
        after: After = None,
        fail: str = "",
        stop: StopReason | None = None,
        usage: Usage | None = None,
        pause: float = 0.0,
    ) -> None:
        self.text = text
        self.thinking = thinking
        self.calls = tuple(calls)
        self.after = after
        self.fail = fail
        self.stop = stop
        self.usage = usage
        self.pause = pause

    def check(self, observations: Observations, number: int) -> None:
        """Raise `ScriptMismatch` unless the last tool results are what this step was written for."""
        if self.after is None:
            return
        if callable(self.after):
            if not self.after(observations):
                raise ScriptMismatch(f"step {number}: its condition does not hold for {_shown(observations)}")
            return
        wanted = (self.after,) if isinstance(self.after, str) else self.after
        said = "\n".join(result.text for result in observations)
        for text in wanted:
            if text not in said:
                raise ScriptMismatch(
                    f"step {number}: expected {text!r} in the tool results, got {_shown(observations)}"
                )


def call(name: str, /, call_id: str = "", **arguments: Any) -> ToolCall:
    """A call by name and arguments; without an id the provider numbers it."""
    return ToolCall(call_id, name, msgspec.json.encode(arguments).decode())


def raw_call(name: str, arguments: str, call_id: str = "") -> ToolCall:
    """A call whose argument text is exactly this, valid or not."""
    return ToolCall(call_id, name, arguments)


class ScriptedProvider:
    """Plays the steps in order, one a request.

    Args:
        steps: the answers.
        delta: characters of one delta.
        name: what the provider is called.
    """

    api = "scripted"

    def __init__(self, steps: Iterable[ScriptStep | str], *, delta: int = 16, name: str = "scripted") -> None:
        self._steps = [ScriptStep(step) if isinstance(step, str) else step for step in steps]
        self._delta = max(delta, 1)
        self._name = name
        self._place = 0
        self.requests: list[ModelRequest] = []
        """Every request, in order."""

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self._name

    @property
    def done(self) -> bool:
        """Whether every step was played."""
        return self._place == len(self._steps)

    async def aclose(self) -> None:
        """Nothing to close."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """Play the next step.

        Raises:
            ScriptMismatch: the run left the script; never hidden in an event.
        """
        self.requests.append(request)
        if self.done:
            raise ScriptMismatch(f"the script has {len(self._steps)} steps and was asked for one more")
        step = self._steps[self._place]
        self._place += 1
        step.check(observations(request.messages), self._place)
        yield Started(f"step-{self._place}", request.model.id)
        blocks: list[AssistantBlock] = []
        for kind, text, block in self._parts(step):
            index = len(blocks)
            named = (block.id, block.name) if isinstance(block, ToolCall) else ("", "")
            yield PartStarted(index, kind, *named)
            for start in range(0, len(text), self._delta):
                if step.pause:
                    await asyncio.sleep(step.pause)
                yield _DELTA[kind](index, text[start : start + self._delta])
            yield PartEnded(index, block)
            blocks.append(block)
        if step.fail:
            yield _failure(step, blocks)
            return
        stop = step.stop or ("tool_calls" if step.calls else "stop")
        native = Native("scripted", self._name, request.model.id)
        yield Finished(AssistantMessage(tuple(blocks), stop=stop, usage=step.usage, native=native))

    def _parts(self, step: ScriptStep) -> list[tuple[PartKind, str, AssistantBlock]]:
        parts: list[tuple[PartKind, str, AssistantBlock]] = []
        if step.thinking:
            parts.append(("thinking", step.thinking, Thinking(step.thinking)))
        if step.text:
            parts.append(("text", step.text, Text(step.text)))
        for place, made in enumerate(step.calls, 1):
            text, fault = arguments_or_fault(made.arguments)
            call_id = made.id or f"call_{self._place}_{place}"
            parts.append(("tool_call", made.arguments, ToolCall(call_id, made.name, text, fault)))
        return parts


def observations(messages: Sequence[Message]) -> Observations:
    """The tool results since the last answer, in order."""
    found: list[ToolResult] = []
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            break
        if isinstance(message, ToolResult):
            found.append(message)
    return tuple(reversed(found))


_DELTA: dict[PartKind, Callable[[int, str], ProviderEvent]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
    "tool_call": ArgumentsDelta,
}


def _failure(step: ScriptStep, blocks: list[AssistantBlock]) -> Failed:
    said = tuple(block for block in blocks if isinstance(block, Text))
    message = f"scripted failure: {step.fail}"
    partial = AssistantMessage(said, stop="error", error=message) if said else None
    return Failed(step.fail, message, partial=partial, retryable=step.fail in ("overload", "wire", "connect"))


def _shown(results: Observations) -> str:
    if not results:
        return "no tool results"
    return "; ".join(f"{result.name}: {result.text[:200]!r}" for result in results)
