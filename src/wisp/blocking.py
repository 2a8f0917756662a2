"""An event loop in a thread of its own, so that asynchronous work can be waited for from anywhere.

Also from inside a running loop, as in a notebook.  Knows nothing of agents.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

SETTLE = 10.0
"""Seconds that interrupted work has to settle."""


ONE_AT_A_TIME = threading.Lock()
"""Held by whoever decides whether there has to be another one."""


async def within(loop: asyncio.AbstractEventLoop | None, work: Coroutine[Any, Any, T]) -> T:
    """Do `work` in `loop`, where that runs in another thread; else here."""
    if loop is None or loop is asyncio.get_running_loop() or not loop.is_running():
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


class LoopThread:
    """Runs coroutines one after another or side by side; started when it is made."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="wisp-agent", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for `work`.  An interrupt (Ctrl+C) cancels it, lets it settle, and is raised.

        Raises:
            RuntimeError: called by what runs in this very loop, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a callback of an agent cannot wait for the agent; make it async and await")
        settled = threading.Event()

        async def watched() -> tuple[BaseException, None] | tuple[None, T]:
            try:
                return None, await work
            except (KeyboardInterrupt, SystemExit) as exc:  # raised here, they would end the loop
                return exc, None
            finally:
                settled.set()

        future = asyncio.run_coroutine_threadsafe(watched(), self._loop)
        try:
            left, found = future.result()
        except BaseException:
            if future.cancel():
                settled.wait(SETTLE)
            raise
        if left is not None:
            raise left
        return found  # type: ignore[return-value]  # there is one or the other

    def close(self) -> None:
        """End the thread; what still runs in the loop is left."""
        if threading.current_thread() is not self._thread:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(SETTLE)
