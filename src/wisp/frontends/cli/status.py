"""What a run is doing, for how long, and what it has cost: one line on standard error, rewritten in place.

Only for a terminal that a person watches.  Wraps an output, and is gone before that prints anything.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress

from wisp.frontends.cli.exitcodes import Verdict
from wisp.frontends.cli.print import Output
from wisp.frontends.cli.streams import complain, rewrite
from wisp.host.client import HostClient
from wisp.host.events import AgentCompleted, Envelope, MessageDelta
from wisp.host.showing import one_line, safe
from wisp.host.view import RunView, View, reduce

EVERY = 0.25
"""Seconds between two looks at the clock."""
NARROW = 12
"""Columns below which there is no line."""


class WithStatus:
    """An `Output` with a line below it.

    Args:
        inner: what is really told.
        busy: whether a line of `inner` is open, so that nothing may stand below it.
        summed: whether the whole is summed up at the end.
    """

    def __init__(self, inner: Output, busy: Callable[[], bool], *, summed: bool) -> None:
        self._inner = inner
        self._busy = busy
        self._summed = summed
        self._view = View()
        self._drawn = False
        self._running = False

    def begin(self, client: HostClient) -> None:
        """See `Output.begin`; the line stands from the next tick on."""
        self._inner.begin(client)
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._running = True
        self._ticker = asyncio.ensure_future(self._tick())

    def event(self, envelope: Envelope) -> None:
        """One event: the line goes, the event is told, the line comes back."""
        if not isinstance(envelope.event, MessageDelta):
            reduce(self._view, envelope)
        elif not self._drawn:
            self._inner.event(envelope)
            return
        self._erase()
        self._inner.event(envelope)
        self._running = not isinstance(envelope.event, AgentCompleted)
        self._draw()

    def end(self, client: HostClient, run: RunView, judged: Verdict) -> None:
        """See `Output.end`."""
        self._running = False
        self._ticker.cancel()
        self._erase()
        self._inner.end(client, run, judged)
        if self._summed:
            whole = ", ".join([_turns(run), *spent(run, self._loop.time() - self._began)])
            with suppress(OSError, ValueError):
                complain(safe(f"({whole})"), flush=True)

    async def _tick(self) -> None:
        try:
            while self._running:
                self._draw()
                await asyncio.sleep(EVERY)
        finally:
            self._erase()

    def _draw(self) -> None:
        if not self._running or self._busy() or self._view.phase in ("approval", "question", "idle"):
            return
        width = _width() - 1  # a line that wraps could not be taken back
        if width < NARROW:
            return
        text = told(self._view, self._loop.time() - self._began)
        rewrite(one_line(text, width))
        self._drawn = True

    def _erase(self) -> None:
        if self._drawn:
            self._drawn = False
            rewrite(safe(""))


def told(view: View, seconds: float) -> str:
    """The line's words."""
    if view.phase == "tool":
        what = f"running {view.running_tool}"
    elif view.phase == "retrying":
        what = f"waiting {view.waiting}"
    elif view.answering:
        what = "the model answers"
    else:
        what = f"waiting for {view.waiting or 'the model'}"
    return f"{what} ({', '.join(spent(view.run, seconds))})"


def spent(run: RunView, seconds: float) -> list[str]:
    """Time, tokens and money so far; what is not known is left out."""
    whole = int(seconds)
    parts = [f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"]
    prompt, output = run.usage.prompt_tokens, run.usage.output_tokens
    if prompt is not None and output is not None and prompt + output:
        parts.append(f"{prompt + output:,} tokens")
    if run.cost_usd:
        parts.append(f"${run.cost_usd:.4f}")
    return parts


def _turns(run: RunView) -> str:
    return "1 request" if run.turns == 1 else f"{run.turns} requests"


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
