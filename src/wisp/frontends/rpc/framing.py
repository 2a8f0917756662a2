"""Lines of bytes in and out of file descriptors of any kind: pipes, sockets, terminals, regular files.

Reading and writing may block, and not every kind of descriptor can be waited for, so each has a thread.  What
waits is bounded: a client that sends too fast is slowed down, one that reads nothing is given up.
"""

from __future__ import annotations

import asyncio
import os
import queue
import select
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

MOST_WAITING = 64 << 20
"""Bytes that may wait to be read by the other side before it counts as gone."""
_CHUNK = 1 << 16


class Overlong:
    """Stands for a line that was longer than it may be; its bytes were thrown away."""


class LineReader:
    """Lines that arrive on a descriptor, without their LF.

    Args:
        descriptor: where to read; stays open.
        most: bytes of the longest line; may be changed at any time.
    """

    def __init__(self, descriptor: int, most: int) -> None:
        self.most = most
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[list[bytes | Overlong] | None] = asyncio.Queue(16)
        threading.Thread(target=self._read, name="rpc-reader", daemon=True).start()

    async def lines(self) -> AsyncIterator[bytes | Overlong]:
        """Until the other side closes; what comes after the last LF is no line."""
        while (batch := await self._lines.get()) is not None:
            for line in batch:
                yield line

    def _read(self) -> None:
        held, skipping = bytearray(), False
        while data := self._chunk():
            batch: list[bytes | Overlong] = []
            held += data
            *whole, rest = held.split(b"\n")
            for line in whole:
                if skipping or len(line) > self.most:
                    batch.append(Overlong())
                else:
                    batch.append(bytes(line))
                skipping = False
            held = bytearray(rest)
            if len(held) > self.most:
                held, skipping = bytearray(), True
            if batch and not self._hand_over(batch):
                return
        self._hand_over(None)

    def _chunk(self) -> bytes:
        while True:
            try:
                return os.read(self._descriptor, _CHUNK)
            except BlockingIOError:
                select.select([self._descriptor], [], [])
            except OSError:  # a terminal that is gone
                return b""

    def _hand_over(self, batch: list[bytes | Overlong] | None) -> bool:
        """Wait until there is room; whether somebody still listens."""
        putting = self._lines.put(batch)
        try:
            asyncio.run_coroutine_threadsafe(putting, self._loop).result()
        except RuntimeError:  # the loop is closed
            putting.close()
            return False
        return True


class LineWriter:
    """Bytes to a descriptor, in order, without ever making the caller wait.

    Args:
        descriptor: where to write; stays open.
        gone: called once, in the event loop, when the other side takes nothing more.
    """

    def __init__(self, descriptor: int, gone: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._items: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._taken = self._written = 0
        """Bytes so far, each counted by one thread."""
        self.broken = False
        self._thread = threading.Thread(target=self._write, name="rpc-writer", daemon=True)
        self._thread.start()

    def send(self, data: bytes) -> None:
        """Have `data` written; dropped once the other side is gone."""
        if self.broken:
            return
        self._taken += len(data)
        if self._taken - self._written > MOST_WAITING:
            self._break()
            return
        self._items.put(data)

    async def close(self, seconds: float) -> None:
        """Until everything is written, for at most `seconds`."""
        self._items.put(None)
        await asyncio.to_thread(self._thread.join, seconds)

    def _write(self) -> None:
        while (data := self._items.get()) is not None:
            rest = memoryview(data)
            while rest:
                try:
                    written = os.write(self._descriptor, rest)
                except BlockingIOError:
                    select.select([], [self._descriptor], [])
                    continue
                except OSError:
                    self._break()
                    return
                rest = rest[written:]
            self._written += len(data)

    def _break(self) -> None:
        if not self.broken:
            self.broken = True
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._gone)
