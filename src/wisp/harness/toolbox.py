"""The tools as the loop sees them: look up, decode, judge, run, and turn whatever happens into an outcome.

The one place where blocking tools meet threads.  A stopped call is told by its token and waited for.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from wisp.harness.events import QuestionAnswered, QuestionAsked
from wisp.harness.gate import Gate
from wisp.harness.ports import Advice, CallHooks, Changed, Questioner
from wisp.loop.events import ToolExecutionProgress
from wisp.loop.ports import Emit
from wisp.loop.settle import uncancelled
from wisp.messages.codec import NotAnObject, ascii_json, strict_object
from wisp.messages.content import Text, ToolCall, clean_blocks
from wisp.messages.tool import Effect, Replay, ToolFailure, ToolOutcome, ToolSpec
from wisp.tools.base import Prepared, RunContext, Tool
from wisp.workspace.stop import Stopped, StopToken

T = TypeVar("T")

CHANGED = "the operation is no longer the one that was approved; repeat the call"
BY_PERSON = "stopped by the user, who did not stop the rest of your work"
SHOWN = 4_000
"""Characters of arguments that a person wrote which the model is told."""


class ToolCallReady:
    """One call after it was judged; what the loop calls a `ReadyCall`."""

    def __init__(self, box: Toolbox, call: ToolCall, tool: Tool | None, prepared: Prepared | None) -> None:
        self._box = box
        self._call = call
        self._tool = tool
        self.prepared = prepared
        self._admitted = prepared.digest() if prepared is not None else ""
        self._touched = box.touched(self.resources)
        self.failure: ToolOutcome | None = None
        self.note = ""
        """What a person made of the call, for the model."""
        self._partly = False

    def only(self, parts: tuple[int, ...]) -> None:
        """Run these parts of it alone.

        Raises:
            ToolFailure: there are no such parts.
        """
        prepared = self.prepared
        wanted = frozenset(parts)
        if prepared is None or prepared.only is None or not wanted or not wanted <= {*range(prepared.parts)}:
            raise ToolFailure("denied", "the user allowed parts of it, and there are no such parts")
        if len(wanted) == prepared.parts:
            return
        names = ", ".join(str(part + 1) for part in sorted(wanted))
        self.note = f"the user allowed only hunk {names} of the {prepared.parts} of this change"
        self.prepared, self._partly = prepared.only(wanted), True
        self._admitted = self.prepared.digest()

    @property
    def parallel_safe(self) -> bool:
        """As its tool says, and only without effects."""
        return self._tool is not None and self._tool.parallel_safe and not self.effectful

    @property
    def replay(self) -> Replay:
        """As its tool says."""
        return self._tool.replay if self._tool is not None else "safe"

    @property
    def effectful(self) -> bool:
        """Whether any declared effect is more than reading."""
        return any(effect.kind != "read" for effect in self.effects)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """As they were declared."""
        return self.prepared.effects if self.prepared is not None else ()

    @property
    def resources(self) -> tuple[str, ...]:
        """Canonical names of what it touches."""
        return self.prepared.resources if self.prepared is not None else ()

    @property
    def summary(self) -> str:
        """One line that says what it does."""
        return self._box.masker.mask(self.prepared.summary) if self.prepared is not None else ""

    async def run(self, emit: Emit) -> ToolOutcome:
        """Do it; see `loop.ports.ReadyCall.run`."""
        assert self.prepared is not None and self._tool is not None
        if self.prepared.digest() != self._admitted:
            return ToolFailure("denied", CHANGED).outcome()
        fresh = self._box.touched(self.resources) == self._touched
        if self._partly and not fresh:  # which hunks those are now, nobody has seen
            return ToolFailure("denied", CHANGED).outcome()
        outcome = await self._box.perform(self._call.id, self._tool, self.prepared, emit, fresh=fresh)
        return noted(outcome, self.note)


class Toolbox:
    """A set of tools behind one gate; implements the loop's `ToolRuntime`."""

    def __init__(
        self,
        tools: Sequence[Tool],
        gate: Gate,
        observe: Callable[[Sequence[Effect]], None] | None = None,
        questioner: Questioner | None = None,
        hooks: CallHooks | None = None,
    ) -> None:
        """`observe` is told the effects of every call that runs, on the event loop."""
        self._hooks = hooks
        self._questioner = questioner
        self._observe = observe or (lambda effects: None)
        self.masker = gate.masker
        self.offer(tools)
        self.gate = gate
        self._written: dict[str, int] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._running: dict[str, StopToken] = {}
        """Calls that run in a thread, each with what stops it."""

    def offer(self, tools: Sequence[Tool]) -> None:
        """Offer these from the next request on; calls that were prepared before keep their tool."""
        self._tools = {tool.spec.name: tool for tool in tools}
        self._specs = tuple(tool.spec for tool in tools)

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is offered."""
        return self._specs

    async def prepare(self, call: ToolCall, emit: Emit) -> ToolCallReady:
        """Decode, judge and, where needed, ask about one call."""
        written, note = "", ""
        while True:
            ready = await self._decoded(call)
            if note and ready.prepared is not None:
                written = ready.prepared.digest()
            found: ToolOutcome | Changed | None = ready.failure
            if ready.failure is None and ready.prepared is not None:
                ready, advice = await self._advised(call, ready, ready.prepared)
                if ready.failure is None and ready.prepared is not None and not note:
                    ready, advice = await self._answered_for(call, ready, ready.prepared, advice)
                found = ready.failure
                if ready.failure is None and ready.prepared is not None:
                    found = await self.gate.admit(call.id, ready.prepared, emit, advice, written)
            ready.note = note
            if not isinstance(found, Changed):
                ready.failure = noted(found, note) if found is not None else None
                return ready
            if not found.arguments:
                return _partly(ready, found)
            note = f"the user changed this call before allowing it, to: {found.arguments[:SHOWN]}"
            call = msgspec.structs.replace(call, arguments=found.arguments)

    async def prepare_written(self, call: ToolCall, emit: Emit) -> ToolCallReady:
        """As `prepare` for a call that a person wrote: where they would be asked, they have answered."""
        ready = await self._decoded(call)
        if ready.failure is None and ready.prepared is not None:
            written = ready.prepared.digest()
            ready, advice = await self._advised(call, ready, ready.prepared)
            if ready.failure is None and ready.prepared is not None:
                found = await self.gate.admit(call.id, ready.prepared, emit, advice, written)
                assert not isinstance(found, Changed)
                ready.failure = found
        return ready

    async def prepare_unasked(self, call: ToolCall) -> ToolCallReady:
        """Decode and judge one call when nobody may be asked: what would be asked is refused."""
        ready = await self._decoded(call)
        if ready.failure is None and ready.prepared is not None:
            ready, advice = await self._advised(call, ready, ready.prepared)
            if ready.failure is None and ready.prepared is not None:
                ready.failure = self.gate.unasked(call.id, ready.prepared, advice)
        return ready

    async def _advised(
        self, call: ToolCall, ready: ToolCallReady, prepared: Prepared
    ) -> tuple[ToolCallReady, Advice]:
        """The call as hooks want it, and what they say of it."""
        if self._hooks is None:
            return ready, Advice()
        advice = await self._hooks.before_call(call.id, prepared)
        return await self._changed(call, ready, advice), advice

    async def _answered_for(
        self, call: ToolCall, ready: ToolCallReady, prepared: Prepared, advice: Advice
    ) -> tuple[ToolCallReady, Advice]:
        """The call and what is said of it once hooks had the chance to answer in a person's place."""
        if self._hooks is None or not self.gate.asks(prepared, advice):
            return ready, advice
        said = await self._hooks.asked(call.id, prepared)
        if not said.verdict or (said.verdict == "allow" and advice.verdict == "ask"):
            return ready, advice
        return await self._changed(call, ready, said), said

    async def _changed(self, call: ToolCall, ready: ToolCallReady, advice: Advice) -> ToolCallReady:
        """The call with the arguments that a hook wants instead."""
        if advice.arguments is None or advice.verdict == "deny":
            return ready
        return await self._decoded(
            msgspec.structs.replace(call, arguments=ascii_json(advice.arguments).decode())
        )

    async def _decoded(self, call: ToolCall) -> ToolCallReady:
        tool = self._tools.get(call.name)
        ready = ToolCallReady(self, call, tool, None)
        try:
            if tool is None:
                names = ", ".join(sorted(self._tools)) or "none"
                raise ToolFailure("unknown_tool", f"there is no tool {call.name!r}; the tools are: {names}")
            return ToolCallReady(self, call, tool, await self._prepare(call, tool))
        except ToolFailure as failure:
            ready.failure = failure.outcome()
            return ready

    async def _prepare(self, call: ToolCall, tool: Tool) -> Prepared:
        if call.fault:
            raise ToolFailure("invalid_arguments", call.fault)
        try:
            arguments = strict_object(call.arguments)
        except NotAnObject as exc:
            raise ToolFailure("invalid_arguments", f"the arguments are not valid: {exc}") from None
        filled = self.masker.fill(tool.spec.name, arguments)
        try:
            return await self._in_thread(lambda: tool.prepare(filled), None)
        except ToolFailure as failure:
            said = self.masker.outcome(failure.outcome())
            raise ToolFailure(failure.code, self.masker.mask(failure.message), **said.details) from None

    def touched(self, resources: Sequence[str]) -> int:
        """How many calls of ours have touched any of `resources` so far."""
        return sum(self._written.get(name, 0) for name in resources)

    async def perform(
        self, call_id: str, tool: Tool, prepared: Prepared, emit: Emit, *, fresh: bool
    ) -> ToolOutcome:
        """Run an admitted call; expected failures and a stop become outcomes, bugs propagate.

        Not `fresh` means that an earlier call of the same message touched the same things: the same
        arguments are prepared again, else the second of two edits to one file would always be stale.
        """
        token = StopToken()
        loop = asyncio.get_running_loop()

        def progress(text: str) -> None:
            with suppress(RuntimeError):  # the event loop may be gone; a tool must not fail for that
                loop.call_soon_threadsafe(emit, ToolExecutionProgress(call_id, self.masker.mask(text)))

        ask = _asking(self._questioner, call_id, emit) if self._questioner is not None else None
        context = RunContext(token, progress, ask, call_id)
        self._observe(prepared.effects)
        try:
            if not fresh:
                prepared = await self._again(tool, prepared)
            if inspect.iscoroutinefunction(prepared.run):
                outcome: ToolOutcome = await prepared.run(context)
            else:
                blocking: Callable[[RunContext], Any] = prepared.run
                self._running[call_id] = token
                outcome = await self._in_thread(lambda: blocking(context), token)
            outcome = await self._hooked(call_id, prepared, outcome)
        except ToolFailure as failure:
            outcome = await self._hooked(call_id, prepared, failure.outcome())
        except (Stopped, asyncio.CancelledError):
            token.stop()  # for what a coroutine may have started in a thread
            outcome = ToolOutcome((Text("stopped before it ended"),), True, "cancelled")
        finally:
            self._running.pop(call_id, None)
            for name in prepared.resources:
                self._written[name] = self._written.get(name, 0) + 1
        if token.reason == BY_PERSON and outcome.code == "cancelled":
            outcome = noted(outcome, BY_PERSON)
        return self.masker.outcome(msgspec.structs.replace(outcome, content=clean_blocks(outcome.content)))

    def stop_calls(self) -> bool:
        """Stop the calls that run in a thread, as a person wants it; the run goes on.

        Returns whether there were any that nobody had stopped yet.
        """
        running = [token for token in self._running.values() if not token.stopped]
        for token in running:
            token.stop(BY_PERSON)
        return bool(running)

    async def _hooked(self, call_id: str, prepared: Prepared, outcome: ToolOutcome) -> ToolOutcome:
        """After a call: a stop ends the hooks, and what the call did is still told."""
        if self._hooks is None:
            return outcome
        try:
            return await self._hooks.after_call(call_id, prepared, outcome)
        except asyncio.CancelledError:
            return outcome

    async def _again(self, tool: Tool, admitted: Prepared) -> Prepared:
        """Prepare an admitted call anew; only the state of the world may differ from what was admitted."""
        arguments = dict(admitted.arguments)
        anew = await self._in_thread(lambda: tool.prepare(arguments), None)
        if _operation(anew) != _operation(admitted):
            raise ToolFailure("denied", CHANGED)
        return anew

    async def _in_thread(self, work: Callable[[], T], token: StopToken | None) -> T:
        """Run blocking `work` in a worker thread.

        When cancelled, set the token, wait for the work, and return what it made of it: a stopped
        tool's partial outcome is worth more than none.
        """
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="wisp-tool")
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if token is None:
                future.add_done_callback(_consume)
                raise
            token.stop()
            return await uncancelled(_result(future))

    def close(self) -> None:
        """Let the worker threads go; running calls were stopped by whoever cancelled them."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _asking(
    questioner: Questioner, call_id: str, emit: Emit
) -> Callable[[str, tuple[str, ...]], Awaitable[str]]:
    """How a call asks a person: told as events, settled whatever happens."""

    async def ask(text: str, options: tuple[str, ...]) -> str:
        question = QuestionAsked(call_id, text, options)
        emit(question)
        try:
            answer = await questioner.ask(question)
        except BaseException:
            emit(QuestionAnswered(call_id, "", "cancelled"))
            raise
        emit(QuestionAnswered(call_id, answer, "person"))
        return answer

    return ask


def noted(outcome: ToolOutcome, note: str) -> ToolOutcome:
    """An outcome that begins with what a person made of the call."""
    if not note:
        return outcome
    return msgspec.structs.replace(outcome, content=(Text(f"[{note}]\n"), *outcome.content))


def _partly(ready: ToolCallReady, changed: Changed) -> ToolCallReady:
    """The call with the parts that a person allowed."""
    try:
        ready.only(changed.parts or ())
    except ToolFailure as failure:
        ready.failure = failure.outcome()
    return ready


def _operation(prepared: Prepared) -> str:
    """Identity of an operation whatever state the world is in."""
    effects = tuple(msgspec.structs.replace(effect, exists=True) for effect in prepared.effects)
    return replace(prepared, fingerprint="", effects=effects).digest()


async def _result(future: asyncio.Future[T]) -> T:
    return await future


def _consume(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
