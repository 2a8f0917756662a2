"""The screen from its opening to the exit code."""

from __future__ import annotations

import asyncio
import errno
from contextlib import suppress

from wisp.frontends.tui.app import Connect, WispApp
from wisp.frontends.tui.outside import HUNG_UP


def run_screen(connect: Connect, first: str = "", *, inline: bool = False) -> int:
    """Open the screen and serve the person at it; returns the exit code.

    Args:
        connect: opens the host, once the first frame stands.
        first: a first prompt.
        inline: below the shell's prompt instead of on a screen of its own.

    Raises:
        Exception: what `connect` raised, or what broke; the terminal is restored by then.
    """
    return asyncio.run(run_app(WispApp(connect, first), inline=inline))


async def run_app(app: WispApp, *, inline: bool = False) -> int:
    """Run the screen to its end; returns the exit code.  What broke is raised with the terminal restored."""
    code = await app.run_async(inline=inline, inline_no_clear=inline)
    with suppress(asyncio.CancelledError):
        await app.close()
    if isinstance(app.failure, OSError) and app.failure.errno == errno.EIO:
        return HUNG_UP  # the terminal is gone, and with it whom the last lines were for
    if app.failure is not None:
        raise app.failure
    return code or 0
