"""Finishing what must be finished although the task is being cancelled, and knowing whether it is."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def uncancelled(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` to its end even if this task is cancelled meanwhile; then raise that cancellation.

    For short work only: closing a file, recording a result.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as exc:
            if task.cancelled():
                raise
            cancelled = exc
        except BaseException:  # the work's own failure; `result` below raises it
            break
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result


def asked_for(exc: BaseException) -> bool:
    """Whether this is a cancellation of the running task, not one that code in it made up or passed on."""
    task = asyncio.current_task()
    return isinstance(exc, asyncio.CancelledError) and task is not None and task.cancelling() > 0
