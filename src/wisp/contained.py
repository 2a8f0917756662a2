"""What a program hands to an agent, called so that it can end neither the loop nor leave anybody waiting.

`sys.exit()` in a callback would take the event loop along, and with it whoever waits for the agent.  Here it
is a failure like others, and so is a cancellation that nobody asked for, as of something that the callback
waited for.  An interrupt (Ctrl+C, where Python raises it in such code) stops the run, and is raised where the
agent was asked once the run is settled.  Knows nothing of runs.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any, NoReturn

from wisp.harness.ports import ApprovalAnswer
from wisp.host.events import QuestionAsked, ToolApprovalRequested
from wisp.loop.boundary import At, Boundary, Decision
from wisp.loop.settle import asked_for
from wisp.messages.tool import ToolFailure, ToolOutcome
from wisp.providers.base import ModelRequest, Provider
from wisp.providers.events import ProviderEvent
from wisp.tools.base import Prepared, RunContext, Tool

Approve = Callable[[ToolApprovalRequested], bool | ApprovalAnswer | Awaitable[bool | ApprovalAnswer]]
"""Decides about one operation; gets the whole of it."""

Answerer = Callable[[QuestionAsked], str | Awaitable[str]]
"""Answers one question, with one of its options where it has any."""

_SETTLE = 10.0
"""Seconds that a run which is being stopped may need to get here."""


class Edge:
    """Where the agent's code ends and the program's begins.

    Args:
        stop: stops the run in progress.
    """

    def __init__(self, stop: Callable[[], Awaitable[object]]) -> None:
        self._stop = stop
        self._interrupt: KeyboardInterrupt | None = None
        self._stopping: asyncio.Future[object] | None = None

    async def call(self, name: str, function: Callable[..., Any], *given: Any) -> Any:
        """What the program's function, which may be asynchronous, gives."""
        try:
            found = function(*given)
            return await found if isinstance(found, Awaitable) else found
        except Exception:
            raise
        except BaseException as exc:  # `left` always raises
            await self.left(name, exc)

    async def left(self, name: str, exc: BaseException) -> NoReturn:
        """Deal with what would have ended more than the run: see this module.

        Raises:
            asyncio.CancelledError: `exc`, where it was asked for; else it is a failure like others.
        """
        if asked_for(exc):
            raise exc
        if isinstance(exc, KeyboardInterrupt):
            self._interrupt = exc
            self._stopping = asyncio.ensure_future(self._stop())
            await asyncio.sleep(_SETTLE)  # until the run is stopped, and this with it
        raise RuntimeError(f"{name} {_how(exc)}") from exc

    def settled(self) -> None:
        """Raise what interrupted the run, now that it is over."""
        found, self._interrupt = self._interrupt, None
        if found is not None:
            raise found


class Asked:
    """A function in the place of a person; the harness's `Approver`."""

    def __init__(self, function: Approve, edge: Edge) -> None:
        self._function, self._edge = function, edge

    async def ask(self, request: ToolApprovalRequested) -> ApprovalAnswer:
        said: object = await self._edge.call("approve", self._function, request)
        if isinstance(said, ApprovalAnswer):
            return said
        if not isinstance(said, bool):  # what is neither is no yes: a word that says no counts as true
            raise TypeError(f"approve must give True, False or an ApprovalAnswer, not {said!r}")
        return ApprovalAnswer(request.digest, said)


class Answered:
    """A function in the place of a person who is asked for words; the harness's `Questioner`."""

    def __init__(self, function: Answerer, edge: Edge) -> None:
        self._function, self._edge = function, edge

    async def ask(self, question: QuestionAsked) -> str:
        said: str = await self._edge.call("answer", self._function, question)
        return said


class Decided:
    """A program's `Boundary`."""

    def __init__(self, inner: Boundary, edge: Edge) -> None:
        self._inner, self._edge = inner, edge

    async def decide(self, at: At) -> Decision:
        found: Decision = await self._edge.call("the boundary", self._inner.decide, at)
        return found


class Streaming:
    """A program's `Provider`."""

    def __init__(self, inner: Provider, edge: Edge) -> None:
        self._inner, self._edge = inner, edge

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def api(self) -> str:
        return self._inner.api

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """See `Provider.stream`."""
        name = f"the provider {self.name}"
        events = await self._edge.call(name, self._inner.stream, request)
        try:
            while True:
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
                except Exception:
                    raise
                except BaseException as exc:  # `left` always raises
                    await self._edge.left(name, exc)
                yield event
        finally:
            if (close := getattr(events, "aclose", None)) is not None:
                await self._edge.call(name, close)


class Held:
    """A program's `Tool`; what it raises that is more than a failure is one of the call."""

    def __init__(self, inner: Tool, edge: Edge) -> None:
        self._inner, self._edge = inner, edge

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def spec(self) -> Any:
        return self._inner.spec

    @property
    def parallel_safe(self) -> bool:
        return self._inner.parallel_safe

    @property
    def replay(self) -> Any:
        return self._inner.replay

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """See `Tool.prepare`."""
        return self._ready(_failing(lambda: self._inner.prepare(arguments)))

    def _ready(self, made: Prepared) -> Prepared:
        only = made.only
        return replace(
            made,
            run=self._awaited(made) if inspect.iscoroutinefunction(made.run) else _threaded(made),
            only=None if only is None else lambda parts: self._ready(_failing(lambda: only(parts))),
        )

    def _awaited(self, made: Prepared) -> Callable[[RunContext], Awaitable[ToolOutcome]]:
        async def run(context: RunContext) -> ToolOutcome:
            try:
                found: Any = made.run(context)
                outcome: ToolOutcome = await found
                return outcome
            except Exception:
                raise
            except BaseException as exc:
                if isinstance(exc, KeyboardInterrupt) or asked_for(exc):
                    await self._edge.left(made.tool, exc)
                raise _failure(exc) from exc

        return run


def _threaded(made: Prepared) -> Callable[[RunContext], ToolOutcome]:
    def run(context: RunContext) -> ToolOutcome:
        outcome: ToolOutcome = _failing(lambda: made.run(context))
        return outcome

    return run


def _failing(work: Callable[[], Any]) -> Any:
    """Do blocking `work` in a worker thread, where no interrupt is a person's."""
    try:
        return work()
    except StopIteration as exc:  # means something else to whoever waits for this
        raise RuntimeError("the tool raised StopIteration") from exc
    except Exception:
        raise
    except BaseException as exc:
        raise _failure(exc) from exc


def _failure(exc: BaseException) -> ToolFailure:
    return ToolFailure("failed", f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__)


def _how(exc: BaseException) -> str:
    if isinstance(exc, SystemExit):
        return f"called sys.exit({exc.code!r}); end the program where the agent was asked"
    if isinstance(exc, asyncio.CancelledError):
        return "raised CancelledError, and nobody had cancelled it"
    return f"raised {type(exc).__name__}"
