"""`wisp rpc` as a process: which descriptors, which signals, which exit code."""

from __future__ import annotations

import asyncio

from wisp.frontends.rpc.events import EventWriter
from wisp.frontends.rpc.methods import FRAME_BYTES, HANDSHAKE_BYTES
from wisp.frontends.rpc.server import SIGNALS, Opener, RpcServer
from wisp.frontends.wire.pipes import Input, Output, Sender, own_descriptors
from wisp.host.client import OpenRequest

PATIENCE = 10.0
"""Seconds that a client has to take the last answers."""
MOST_WAITING = 64 << 20
"""Bytes that may wait to be read by the client before it counts as gone."""


def run_rpc(request: OpenRequest, opener: Opener, version: str) -> int:
    """Serve standard input and output; returns the exit code."""
    return asyncio.run(_serve(request, opener, version))


async def _serve(request: OpenRequest, opener: Opener, version: str) -> int:
    reading, writing = own_descriptors()
    reader = Input(reading, HANDSHAKE_BYTES, unfinished=False)
    sink = Sender(Output(writing), MOST_WAITING, lambda: server.stop(141))
    loop = asyncio.get_running_loop()

    def opened() -> None:
        reader.most = FRAME_BYTES

    server = RpcServer(request, opener, EventWriter(sink.send, loop.call_later), version, opened)
    for number, code in SIGNALS.items():
        loop.add_signal_handler(number, server.stop, code)
    code = await server.serve(reader.lines())
    await sink.close(PATIENCE)
    return code
