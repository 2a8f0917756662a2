"""A server as a child process: messages by lines over its standard input and output.

Owns one thread, in which the process door runs the program, and what waits to be written.  Knows nothing of
what messages mean or of how the program is started and confined.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from wisp.mcp.intake import Intake, Log
from wisp.mcp.ports import Lost, Receiver, Start
from wisp.mcp.wire import Id, Message, line_of
from wisp.workspace.errors import Refused
from wisp.workspace.stop import Stopped, StopToken

MOST_UNSENT = 64 << 20
"""Bytes that may wait for a server which does not read."""
PATIENCE = 8.0
"""Seconds that closing waits for the program to be gone."""


class StdioLink:
    """Implements `ports.Link`.

    Args:
        start: runs the program.
        now: seconds.
    """

    modern_first = False

    def __init__(self, start: Start, now: Callable[[], float]) -> None:
        self._start, self._now = start, now
        self.version = ""
        self._log = Log()
        self._stop = StopToken()
        self._unsent = bytearray()
        self._stdin = -1
        self._over = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def said(self) -> str:
        """See `ports.Link`."""
        return self._log.text

    def open(self, receiver: Receiver) -> None:
        """Start the program; see `ports.Link`."""
        theirs, self._stdin = os.pipe()
        os.set_blocking(self._stdin, False)
        self._receiver = receiver
        threading.Thread(target=self._live, args=(theirs,), name="wisp-mcp", daemon=True).start()

    def drop(self, id_: Id) -> None:
        """See `ports.Link`; the server was told by a message."""

    async def send(self, message: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        """See `ports.Link`; returns before the server has read it."""
        if self._stdin < 0:
            raise Lost("the server is not running")
        if len(self._unsent) > MOST_UNSENT:
            raise Lost("the server reads no more")
        idle = not self._unsent
        self._unsent += line_of(message)
        if idle:
            self._write()
            if self._unsent and self._stdin >= 0:
                self._loop.add_writer(self._stdin, self._write)

    def _write(self) -> None:
        try:
            del self._unsent[: os.write(self._stdin, self._unsent[: 1 << 20])]
        except BlockingIOError:
            return
        except OSError:  # it reads no more; how it ended is told by the thread
            self._unsent.clear()
        if not self._unsent:
            self._loop.remove_writer(self._stdin)

    async def close(self) -> None:
        """See `ports.Link`."""
        self._hang_up()
        self._stop.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._over.wait()

    def _hang_up(self) -> None:
        if self._stdin >= 0:
            self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = -1

    # -- in the thread ------------------------------------------------------------------------------------

    def _live(self, stdin: int) -> None:
        def on_loop(work: Callable[..., None], *args: Any) -> None:
            with suppress(RuntimeError):  # the event loop may be gone; a thread must not fail for that
                self._loop.call_soon_threadsafe(work, *args)

        def deliver(message: Message) -> None:
            on_loop(self._receiver.receive, message)

        def spoiled(id_: Id, why: str) -> None:
            on_loop(self._receiver.spoiled, id_, why)

        intake = Intake(self._receiver.expects, deliver, spoiled, self._log, self._now)
        why = "a fault of wisp"
        try:
            ending = self._start(self._stop, intake.feed, self._log.write, stdin)
            why = intake.trouble or (
                f"it ended with exit code {ending.code}" if ending.how == "exited" else f"it was {ending.how}"
            )
        except Refused as exc:
            why = str(exc)
        except Stopped:
            why = "it was stopped"
        finally:
            os.close(stdin)
            on_loop(self._ended, why)

    def _ended(self, why: str) -> None:
        self._hang_up()
        self._over.set()
        self._receiver.lost(why)
