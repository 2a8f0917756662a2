"""The end of a conversation: what was opened for it is let go of, and once a day it is tidied up."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

from wisp.host.asking import ModelService
from wisp.host.configure import Configured
from wisp.host.external import External
from wisp.messages.ids import Clock
from wisp.workspace.background import Backgrounds
from wisp.workspace.box import Box
from wisp.workspace.root import Workspace

DAY = 86_400.0
"""Seconds between two rounds of tidying."""


def closing(
    configured: Configured,
    clock: Clock,
    service: ModelService,
    workspace: Workspace,
    box: Box,
    backgrounds: Backgrounds,
    external: External,
) -> Callable[[], Awaitable[None]]:
    """How a conversation is closed."""

    async def close() -> None:
        await external.close()
        backgrounds.close()
        box.close()
        workspace.close()
        await service.close()
        _tidy(configured, clock)  # nothing else runs any more

    return close


def _tidy(configured: Configured, clock: Clock) -> None:
    """Throw away what was kept for long enough, on the first end of a conversation in a day."""
    mark = os.path.join(configured.paths.state, "tidied")
    with suppress(OSError):
        if os.path.isfile(mark) and 0 <= clock.now() - os.stat(mark).st_mtime < DAY:
            return
        with open(mark, "a", encoding="utf-8"):
            os.utime(mark, (clock.now(), clock.now()))
        from wisp.host.tidying import tidy

        tidy(configured, clock)
