"""Where an extension's code runs: never in the program's own thread, so that it can delay and break nothing.

Asynchronous functions run in an event loop of the extension's own, others each in a thread.  Whatever is
raised comes back as `ExtensionFailed`.  Code that does not end is left behind at its limit; its threads are
daemons and hold up no exit.  Knows nothing of what extensions are for.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TextIO, cast

from wisp.loop.settle import asked_for

_THREADS = ("wisp-extension-", "wisp-tool")
"""How the names of threads begin in which an extension's code may run."""
MOST_QUEUED = 1_000
STUCK = 0.5
"""Seconds after which a loop that does nothing counts as blocked by the code in it."""


class ExtensionFailed(Exception):
    """An extension's code raised or took too long; the message says which.

    Args:
        cause: what it raised; None where it took too long.
    """

    def __init__(self, message: str, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.cause = cause


class Worker:
    """Runs one extension's code.  Its loop is started with the first asynchronous function.

    Args:
        name: for people.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, function: Callable[..., Any], *args: Any, timeout: float) -> Any:
        """Call `function`, asynchronous or not, and return what it returns.

        Args:
            timeout: seconds after which it is given up.

        Raises:
            ExtensionFailed: it raised, or took too long.
        """
        if inspect.iscoroutinefunction(function):
            made = _guarded(lambda: function(*args))
            work = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(made, self._running()))
        else:
            work = self._in_thread(function, *args)
        try:
            await asyncio.wait([work], timeout=timeout)  # `wait_for` may lose a cancellation
        finally:
            late = not work.done()
            work.cancel()
        if late:
            await self._leave_if_stuck()
            raise ExtensionFailed(f"the extension {self._name!r} took longer than {timeout:g} s")
        found = work.result()
        if isinstance(found, _Raised):
            raise ExtensionFailed(f"the extension {self._name!r} failed: {found}", found.cause)
        if inspect.isawaitable(found):
            return await self.call(_awaiting(found), timeout=timeout)
        return found

    async def _leave_if_stuck(self) -> None:
        """Have another loop made with the next call where this one does not answer any more."""
        loop = self._loop
        if loop is None:
            return
        alive = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop))
        await asyncio.wait([alive], timeout=STUCK)
        if not alive.done():
            alive.cancel()
            self._loop = None

    async def iterate(self, make: Callable[[], AsyncIterator[Any]]) -> AsyncGenerator[Any, None]:
        """What an asynchronous iterator of the extension yields.

        Raises:
            ExtensionFailed: it raised.
        """
        here = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

        def put(kind: str, value: Any) -> None:
            with suppress(RuntimeError):  # the program's loop is gone, and with it whoever waited
                here.call_soon_threadsafe(queue.put_nowait, (kind, value))

        async def pump() -> None:
            try:
                async for item in make():
                    put("item", item)
                put("end", None)
            except BaseException as exc:  # told as the extension's failure, whatever it is
                if asked_for(exc):
                    raise
                put("raised", exc)

        pumping = asyncio.run_coroutine_threadsafe(pump(), self._running())
        try:
            while True:
                kind, value = await queue.get()
                if kind == "end":
                    return
                if kind == "raised":
                    raise ExtensionFailed(f"the extension {self._name!r} failed: {_Raised(value)}", value)
                yield value
        finally:
            pumping.cancel()

    def close(self) -> None:
        """Let its loop end."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            loop = self._loop = asyncio.new_event_loop()

            def work() -> None:
                asyncio.set_event_loop(loop)
                loop.run_forever()
                loop.run_until_complete(asyncio.sleep(0))  # what was handed over meanwhile begins, and ends
                left = asyncio.all_tasks(loop)
                for task in left:
                    task.cancel()
                loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
                loop.close()

            threading.Thread(target=work, name=f"wisp-extension-{self._name}", daemon=True).start()
        return self._loop

    def _in_thread(self, function: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        here = asyncio.get_running_loop()
        done: asyncio.Future[Any] = here.create_future()

        def settle(found: Any) -> None:
            if not done.done():
                done.set_result(found)

        def work() -> None:
            try:
                found = function(*args)
            except BaseException as exc:  # `sys.exit()` too: an extension does not end the program
                found = _Raised(exc)
            with suppress(RuntimeError):  # the program's loop is gone, and with it whoever waited
                here.call_soon_threadsafe(settle, found)

        threading.Thread(target=work, name=f"wisp-extension-{self._name}", daemon=True).start()
        return done


class _Raised:
    """What an extension's code raised, as a value: an exception could be one that means something here."""

    def __init__(self, cause: BaseException) -> None:
        self.cause = cause

    def __str__(self) -> str:
        said = " ".join(str(self.cause).split())[:2_000]
        return f"{type(self.cause).__name__}: {said}" if said else type(self.cause).__name__


async def _guarded(work: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await work()
    except BaseException as exc:  # handed over as a value, see `_Raised`
        if asked_for(exc):
            raise
        return _Raised(exc)


def _awaiting(found: Awaitable[Any]) -> Callable[[], Any]:
    async def wait() -> Any:
        return await found

    return wait


class Printed:
    """Standard output for a program that has extensions: what they print is told, and is no answer.

    Args:
        inner: the program's own, which is written to from the main thread.
        tell: takes a line that an extension printed.
    """

    def __init__(self, inner: Any, tell: Callable[[str], None]) -> None:
        self._inner = inner
        self._tell = tell
        self._main = threading.main_thread()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, text: str) -> int:
        """Write, or tell."""
        thread = threading.current_thread()
        if thread is not self._main and thread.name.startswith(_THREADS):
            if text.strip():
                self._tell(f"{thread.name.partition('-')[2]} printed: {text.strip()[:500]}")
            return len(text)
        return int(self._inner.write(text))


def keep_prints_off(tell: Callable[[str], None]) -> Callable[[], None]:
    """Have what extensions print told from now on; returns how to undo that."""
    before = sys.stdout
    sys.stdout = cast(TextIO, Printed(before, tell))

    def undo() -> None:
        sys.stdout = before

    return undo
