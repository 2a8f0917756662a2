"""`wisp rpc` as a process: which descriptors, which signals, which exit code."""

from __future__ import annotations

import asyncio
import os

from wisp.frontends.rpc.events import EventWriter
from wisp.frontends.rpc.framing import LineReader, LineWriter
from wisp.frontends.rpc.methods import FRAME_BYTES, HANDSHAKE_BYTES
from wisp.frontends.rpc.server import SIGNALS, Opener, RpcServer
from wisp.host.client import OpenRequest

PATIENCE = 10.0
"""Seconds that a client has to take the last answers."""


def run_rpc(request: OpenRequest, opener: Opener, version: str) -> int:
    """Serve standard input and output; returns the exit code."""
    return asyncio.run(_serve(request, opener, version))


async def _serve(request: OpenRequest, opener: Opener, version: str) -> int:
    # Whatever else writes to standard output must not get between the frames.
    out = os.dup(1)
    os.dup2(2, 1)
    reader = LineReader(0, HANDSHAKE_BYTES)
    sink = LineWriter(out, lambda: server.stop(141))
    loop = asyncio.get_running_loop()

    def opened() -> None:
        reader.most = FRAME_BYTES

    server = RpcServer(request, opener, EventWriter(sink.send, loop.call_later), version, opened)
    for number, code in SIGNALS.items():
        loop.add_signal_handler(number, server.stop, code)
    code = await server.serve(reader.lines())
    await sink.close(PATIENCE)
    return code
