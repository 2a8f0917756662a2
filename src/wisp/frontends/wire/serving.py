"""Serving one client from its first message to its last, or to a signal; which exit code that is."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any

from wisp.frontends.wire.peer import Peer

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def listened(peer: Peer) -> int:
    """Listen until the client leaves or one of `SIGNALS` comes: its number, 0 for none.

    Nothing is read any more when this returns; requests may still be at work.
    """
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        if not stopped.done():
            stopped.set_result(number)

    for number in SIGNALS:
        loop.add_signal_handler(number, stop, number)
    listening = asyncio.ensure_future(peer.listen())
    first: list[asyncio.Future[Any]] = [listening, stopped]
    await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
    listening.cancel()
    await asyncio.wait([listening])
    return stopped.result() if stopped.done() else 0


def exit_code(number: int, failure: OSError | None, log: Callable[[str], None]) -> int:
    """What the process ends with.

    Args:
        number: of the signal that ended it; 0 for none.
        failure: why the client could not be written to; told in `log` unless it went away.
    """
    if number:
        return 128 + number
    if isinstance(failure, BrokenPipeError):
        return 141
    if failure is not None:
        log(f"the client cannot be written to: {failure.strerror}")
        return 1
    return 0
