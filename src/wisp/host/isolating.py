"""Tools and providers of extensions, wrapped: they run in the extension's threads, their faults are data."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from wisp.host.worker import ExtensionFailed, Worker
from wisp.messages.tool import Replay, ToolFailure, ToolOutcome, ToolSpec
from wisp.providers.base import ModelRequest, Provider
from wisp.providers.events import Failed, ProviderEvent
from wisp.tools.base import Prepared, RunContext, Tool
from wisp.workspace.stop import Stopped

PREPARE = 10.0
"""Seconds for saying what a call would do."""
CALL = 600.0
"""Seconds for one call."""
GRACE = 0.4
"""Seconds that a call has to end after it was told to stop."""


class IsolatedTool:
    """A tool of an extension; implements `Tool`.

    Args:
        inner: the extension's.
        worker: where its code runs.
    """

    def __init__(self, inner: Tool, worker: Worker) -> None:
        self._inner = inner
        self._worker = worker
        self.spec: ToolSpec = inner.spec
        self.replay: Replay = inner.replay
        self.parallel_safe = bool(inner.parallel_safe)

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """See `Tool.prepare`.

        Raises:
            ToolFailure: also for whatever else the extension raises.
        """
        found = _limited(lambda: self._inner.prepare(arguments), self.spec.name)
        if not isinstance(found, Prepared):
            raise ToolFailure("failed", f"the tool {self.spec.name!r} of an extension prepared no call")
        return replace(found, tool=self.spec.name, run=self._run_of(found))

    def _run_of(self, prepared: Prepared) -> Callable[[RunContext], Awaitable[ToolOutcome]]:
        async def run(context: RunContext) -> ToolOutcome:
            work = asyncio.ensure_future(self._worker.call(prepared.run, _bridged(context), timeout=CALL))
            try:
                await asyncio.wait([work])
            except asyncio.CancelledError:
                context.stop.stop()
                await asyncio.wait([work], timeout=GRACE)
                if not work.done():
                    work.cancel()
                    raise
            return _outcome(work, self.spec.name)

        return run


def _outcome(work: asyncio.Future[Any], name: str) -> ToolOutcome:
    try:
        found = work.result()
    except ExtensionFailed as exc:
        if isinstance(exc.cause, ToolFailure | Stopped):
            raise exc.cause from None
        raise ToolFailure("failed", str(exc)) from None
    if not isinstance(found, ToolOutcome):
        raise ToolFailure("failed", f"the tool {name!r} returned {type(found).__name__}, no outcome")
    return found


def _bridged(context: RunContext) -> RunContext:
    """A context that can be used in the extension's own loop."""
    ask, here = context.ask, asyncio.get_running_loop()
    if ask is None:
        return context

    async def bridged(text: str, options: tuple[str, ...]) -> str:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_awaited(ask(text, options)), here))

    return replace(context, ask=bridged)


async def _awaited(work: Awaitable[str]) -> str:
    return await work


def _limited(work: Callable[[], Any], name: str) -> Any:
    """Do blocking `work` of an extension, for a limited time; its faults are failures of the call."""
    found: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as exc:  # raised again below, as a failure of the call
            failed.append(exc)

    thread = threading.Thread(target=run, name=f"wisp-extension-{name}", daemon=True)
    thread.start()
    thread.join(PREPARE)
    if failed:
        if isinstance(failed[0], ToolFailure):
            raise failed[0]
        raise ToolFailure("failed", f"the tool {name!r} failed: {type(failed[0]).__name__}: {failed[0]}")
    if not found:
        raise ToolFailure("timeout", f"the tool {name!r} took longer than {PREPARE:g} s to prepare the call")
    return found[0]


class BridgedProvider:
    """A provider of an extension, asked in its own loop; implements `Provider`."""

    def __init__(self, name: str, inner: Provider, worker: Worker) -> None:
        self.name = name
        self.api = str(getattr(inner, "api", "extension"))
        self._inner = inner
        self._worker = worker

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """See `Provider.stream`; whatever the extension raises is a failure of the service."""
        try:
            async with aclosing(self._worker.iterate(lambda: self._inner.stream(request))) as events:
                async for event in events:
                    yield event
        except ExtensionFailed as exc:
            yield Failed("server", str(exc))
