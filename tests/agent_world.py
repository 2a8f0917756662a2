"""A whole conversation in memory for tests: tools that count what they do, a scripted model, a checker.

`check_events` is a second implementation of the ordering rules in `wisp.loop.events`, written as a parser.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from wisp.harness.gate import Gate
from wisp.harness.ports import ApprovalAnswer
from wisp.harness.runner import AgentHarness
from wisp.harness.toolbox import Toolbox
from wisp.loop.events import Event
from wisp.messages.ids import FixedClock
from wisp.messages.laws import violations
from wisp.messages.tool import Effect, Replay, ToolFailure, ToolOutcome, ToolSpec, plain
from wisp.policy.decide import Policy
from wisp.policy.rules import Rules, parse_rule
from wisp.providers.base import ModelInfo
from wisp.providers.scripted import ScriptedProvider, ScriptStep
from wisp.tools.base import Prepared, RunContext

MODEL = ModelInfo("m")
BESIDE = {
    "RepairReported",
    "SessionSaved",
    "QueueUpdated",
    "CompactionStarted",
    "CompactionCompleted",
    "CacheBroken",
    "ErrorReported",
}
"""Events that may stand between others; their own order is tested where they come from."""


class FakeTool:
    """A tool whose work is given as a coroutine function; counts preparations, starts and effects.

    Arguments of a call: `x` (what it answers), `fail` (an expected failure), `bug`, `file` (a resource).
    """

    replay: Replay

    def __init__(
        self,
        name: str,
        *,
        effect: str = "",
        parallel: bool = False,
        replay: Replay = "never",
        work: Callable[[dict[str, Any], RunContext], Any] | None = None,
        blocking: Callable[[dict[str, Any], RunContext], Any] | None = None,
        protected: str = "",
    ) -> None:
        self.spec = ToolSpec(name, "a fake", {"type": "object", "properties": {}})
        self.parallel_safe = parallel
        self.replay = replay
        self._effect = effect
        self._work = work
        self._blocking = blocking
        self._protected = protected
        self.fingerprint = ""
        self.prepared = 0
        self.started: list[str] = []
        self.done: list[str] = []
        self.running = 0
        self.most_running = 0

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        self.prepared += 1
        if "refuse" in arguments:
            raise ToolFailure("not_found", "there is no such thing")
        if "prepare_bug" in arguments:
            raise ZeroDivisionError("bug in prepare")
        effects: tuple[Effect, ...] = ()
        if self._effect:
            target = arguments.get("file", arguments.get("x", "t"))
            effects = (Effect(self._effect, str(target), protected=self._protected),)  # type: ignore[arg-type]
        return Prepared(
            self.spec.name,
            arguments,
            effects,
            self._bound(arguments),
            summary=f"{self.spec.name} {arguments.get('x', '')}",
            fingerprint=self.fingerprint,
            resources=(arguments["file"],) if "file" in arguments else (),
        )

    def _bound(self, arguments: dict[str, Any]) -> Callable[[RunContext], Any]:
        def run_blocking(context: RunContext) -> ToolOutcome:
            self.started.append(str(arguments.get("x")))
            assert self._blocking is not None
            outcome: ToolOutcome = self._blocking(arguments, context)
            self.done.append(str(arguments.get("x")))
            return outcome

        async def run(context: RunContext) -> ToolOutcome:
            return await self._run(arguments, context)

        return run_blocking if self._blocking else run

    async def _run(self, arguments: dict[str, Any], context: RunContext) -> ToolOutcome:
        label = str(arguments.get("x"))
        self.started.append(label)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            context.progress(f"{label} goes on")
            if self._work is not None:
                await self._work(arguments, context)
            if "bug" in arguments:
                raise ZeroDivisionError("bug in run")
            if "fail" in arguments:
                raise ToolFailure("not_found", "expected")
            self.done.append(label)
            return plain(f"did {label}")
        finally:
            self.running -= 1


class Answering:
    """An approver with a function for a will; keeps what it was asked."""

    def __init__(self, will: Callable[[Any], ApprovalAnswer | None] | None = None) -> None:
        self.asked: list[Any] = []
        self._will = will or (lambda request: ApprovalAnswer(request.digest, True))

    async def ask(self, request: Any) -> ApprovalAnswer:
        self.asked.append(request)
        answer = self._will(request)
        if answer is None:
            await asyncio.Event().wait()
            raise AssertionError("never answered")
        return answer


def gate(
    mode: str = "full", approver: Any = None, allow: Iterable[str] = (), deny: Iterable[str] = ()
) -> Gate:
    rules = Rules(tuple(map(parse_rule, allow)), tuple(map(parse_rule, deny)))
    return Gate(Policy(mode, "/w", rules), approver)  # type: ignore[arg-type]


def harness(
    steps: Sequence[ScriptStep | str],
    tools: Sequence[Any] = (),
    *,
    gated: Gate | None = None,
    **more: Any,
) -> AgentHarness:
    provider = more.pop("provider", None) or ScriptedProvider(steps)
    clock = more.pop("clock", None) or FixedClock()
    return AgentHarness(provider, MODEL, Toolbox(tools, gated or gate()), clock, **more)


def check_events(events: Sequence[Event]) -> None:
    """Assert that one run's `events` are in the order the documentation of `wisp.loop.events` states."""
    rest = [e for e in events if kind(e) not in BESIDE]
    take(rest, "AgentStarted")
    turn = 0
    while kind(rest[0]) == "TurnStarted":
        turn += 1
        started: Any = rest.pop(0)
        assert started.turn == turn
        whole = _message(rest)
        calls = [call.id for call in whole.message.calls] if whole is not None else []
        if calls:
            _calls(rest, calls)
        ended: Any = take(rest, "TurnCompleted")
        assert ended.turn == turn
        if whole is None:
            assert ended.outcome != "completed"
        while kind(rest[0]) == "QueueMessageInjected":
            rest.pop(0)
    last: Any = take(rest, "AgentCompleted")
    assert last.turns == turn
    assert rest == []


def _message(rest: list[Event]) -> Any:
    """One answer, with its attempts; None when no attempt became whole."""
    while True:
        while kind(rest[0]) == "ProviderRetrying":
            rest.pop(0)
        if kind(rest[0]) != "MessageStarted":
            return None
        first: Any = rest.pop(0)
        while kind(rest[0]) == "MessageDelta":
            rest.pop(0)
        if kind(rest[0]) == "MessageWithdrawn":
            withdrawn: Any = rest.pop(0)
            assert withdrawn.message_id == first.message_id
            continue
        if kind(rest[0]) == "MessageCompleted":
            whole: Any = rest.pop(0)
            assert whole.message.id == first.message_id
            return whole
        return None


def _calls(rest: list[Event], calls: list[str]) -> None:
    """Either all taken up, then all settled; or, for calls that are not run at all, one after the other."""
    taken: list[str] = []
    settled: list[str] = []
    while len(settled) < len(calls):
        event: Any = rest.pop(0)
        name = kind(event)
        if name == "ToolCalled":
            assert event.call_id == calls[len(taken)]
            started: Any = take(rest, "ToolExecutionStarted")
            assert started.call_id == event.call_id
            taken.append(event.call_id)
            if kind(rest[0]) == "ToolApprovalRequested":
                asked: Any = rest.pop(0)
                answered: Any = take(rest, "ToolApprovalResolved")
                assert asked.call_id == answered.call_id == event.call_id
        elif name == "ToolExecutionProgress":
            assert event.call_id in taken
            assert event.call_id not in settled
        else:
            assert name == "ToolExecutionEnded", f"{name} among calls"
            result: Any = take(rest, "ToolResultAdded")
            assert event.call_id == result.result.call_id == calls[len(settled)]
            assert event.call_id in taken
            settled.append(event.call_id)
    assert taken == calls


def take(rest: list[Event], name: str) -> Event:
    assert rest, f"{name} expected at the end"
    event = rest.pop(0)
    assert kind(event) == name, f"{name} expected, got {event}"
    return event


def kind(event: object) -> str:
    return type(event).__name__


def lawful(messages: Sequence[Any]) -> None:
    assert violations(messages) == []
