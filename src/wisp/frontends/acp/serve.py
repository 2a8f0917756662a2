"""A whole life as an agent: from the first byte to the exit code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from wisp.frontends.acp.agent import Agent, Opener
from wisp.frontends.acp.store import Library
from wisp.frontends.wire.peer import Peer
from wisp.frontends.wire.pipes import Input, Output
from wisp.frontends.wire.serving import exit_code, listened
from wisp.host.client import OpenRequest

MOST_BYTES = 64 * 1024 * 1024
"""Longest message taken."""
PATIENCE = 10.0
"""Seconds that what is being served has to end once the client has left."""


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
    try:
        number = await listened(peer)
        await agent.stop()
        await peer.settle(PATIENCE)
    finally:
        await agent.close()
    return exit_code(number, peer.failure, log)
