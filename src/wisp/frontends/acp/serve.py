"""A whole life as an agent: from the first byte to the exit code."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any

from wisp.frontends.acp.agent import Agent, Opener
from wisp.frontends.acp.store import Library
from wisp.frontends.wire.peer import Peer
from wisp.frontends.wire.pipes import Input, Output
from wisp.host.client import OpenRequest

MOST_BYTES = 64 * 1024 * 1024
"""Longest message taken."""
PATIENCE = 10.0
"""Seconds that what is being served has to end once the client has left."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_acp(
    request: OpenRequest,
    opener: Opener,
    library: Callable[[OpenRequest], Library],
    *,
    version: str,
    reading: int,
    writing: int,
    log: Callable[[str], None],
) -> int:
    """Serve the client at two descriptors until it leaves or a signal comes; returns the exit code.

    Args:
        request: what every session has in common.
        opener: opens a conversation.
        library: makes what knows of stored sessions and models.
        version: the program's own.
        reading, writing: descriptors; from then on nothing else may use them.
        log: takes lines for a person who looks for a fault.
    """
    return asyncio.run(
        _serve(Agent(request, opener, library, version), Input(reading, MOST_BYTES), Output(writing), log)
    )


async def _serve(agent: Agent, reading: Input, writing: Output, log: Callable[[str], None]) -> int:
    peer = Peer(reading, writing, agent, cancellable=("session/prompt",), log=log)
    agent.peer = peer
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        if not stopped.done():
            stopped.set_result(number)

    for number in SIGNALS:
        loop.add_signal_handler(number, stop, number)
    listening = asyncio.ensure_future(peer.listen())
    try:
        first: list[asyncio.Future[Any]] = [listening, stopped]
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        await asyncio.wait([listening])
        await agent.stop()
        await peer.settle(PATIENCE)
    finally:
        await agent.close()
    if stopped.done():
        return 128 + stopped.result()
    if isinstance(peer.failure, BrokenPipeError):
        return 141
    if peer.failure is not None:
        log(f"the client cannot be written to: {peer.failure.strerror}")
        return 1
    return 0
