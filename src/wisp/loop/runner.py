"""`run_agent_loop`: the model/tool cycle of one run, as an async generator of events.

Owns nothing that outlives the run.  It never touches the history it was given; what is to be kept is
handed to the guard, piece by piece, before the next effect.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from wisp.loop.boundary import Boundary, NoBoundary
from wisp.loop.events import Event
from wisp.loop.oversight import Overseer, OwnLimits
from wisp.loop.ports import (
    Cancellation,
    EffectGuard,
    Fitter,
    Mailbox,
    NeverCancelled,
    NoFitter,
    NoGuard,
    NoMail,
    ToolRuntime,
)
from wisp.loop.run import Run, RunSpec
from wisp.messages.ids import Clock
from wisp.messages.message import Message
from wisp.providers.base import Provider

__all__ = ["RunSpec", "run_agent_loop"]


async def run_agent_loop(
    history: Sequence[Message],
    spec: RunSpec,
    provider: Provider,
    tools: ToolRuntime,
    clock: Clock,
    *,
    guard: EffectGuard | None = None,
    mailbox: Mailbox | None = None,
    cancel: Cancellation | None = None,
    fitter: Fitter | None = None,
    overseer: Overseer | None = None,
    boundary: Boundary | None = None,
) -> AsyncGenerator[Event, None]:
    """Ask, run what is called, ask again, until there is a reason to stop.

    Args:
        history: a lawful history that ends with something the model may answer.  Never mutated, and not
            looked at again once the first request is built.
        spec: the model, the instruction blocks and the ceilings.
        provider: whom to ask.
        tools: the executor; calls reach it only after the provider's terminal event.
        clock: for durations and for the ids of results.
        guard: told, and awaited, around every request and every call.
        mailbox: asked for waiting messages at every request boundary.
        cancel: says whether a cancellation of this task was asked for.
        fitter: keeps requests within the model's window.
        overseer: asked before each request whether it may be made; by default the limits of `spec` alone.
        boundary: asked between two requests for a decision; see `wisp.loop.boundary`.

    Yields:
        Events in the order of `wisp.loop.events`; `AgentCompleted` last.  After a requested cancellation
        too: by then every call has its result and no tool runs.

    Raises:
        Exception: bugs in tools and failures of the guard propagate, after everything was settled.
        asyncio.CancelledError: a cancellation nobody asked for.
    """
    run = Run(
        list(history),
        spec,
        provider,
        tools,
        clock,
        guard or NoGuard(),
        mailbox or NoMail(),
        cancel or NeverCancelled(),
        fitter or NoFitter(),
        overseer or OwnLimits(),
        boundary or NoBoundary(),
    )
    async with aclosing(run.events()) as events:
        async for event in events:
            yield event
