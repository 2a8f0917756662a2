"""Bytes in and out of two descriptors on the event loop, whatever they are: pipe, socket, terminal or file.

Knows lines and nothing of what they say.  The descriptors' flags are left as they are, because another
process may share them: reading and writing wait until the system says that neither would block.
"""

from __future__ import annotations

import asyncio
import os
import resource
import select
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from wisp.host.showing import Shown

_PIECE = 4096
"""Bytes that a pipe takes without blocking where it says that it takes any (`PIPE_BUF`)."""
_READ = 1 << 16
MOST_FILES = 4096
"""Files open at once, where the system lets us."""


class TooLong(Exception):
    """A line is longer than what is accepted; what followed it was kept."""


class Input:
    """Lines from a descriptor.

    Args:
        descriptor: open for reading.
        most: longest line in bytes, may be changed at any time; a longer one is passed over and told as
            `TooLong`.
        unfinished: whether what comes after the last line end is a line.
    """

    def __init__(self, descriptor: int, most: int, *, unfinished: bool = True) -> None:
        self.most = most
        self._descriptor = descriptor
        self._unfinished = unfinished

    async def lines(self) -> AsyncIterator[bytes | TooLong]:
        """Every line without its end."""
        parts: list[bytes] = []
        size = 0
        while chunk := await self._read():
            *whole, rest = chunk.split(b"\n")
            for piece in whole:
                size += len(piece)
                yield TooLong() if size > self.most else b"".join([*parts, piece])
                parts, size = [], 0
            size += len(rest)
            if size <= self.most:
                parts.append(rest)
            else:
                parts = []
        if size and self._unfinished:
            yield TooLong() if size > self.most else b"".join(parts)

    async def _read(self) -> bytes:
        """What is there; empty at the end, and where the other side broke off."""
        if _ready(self._descriptor, select.POLLIN):
            await asyncio.sleep(0)  # somebody who never stops writing must not keep others from their turn
        else:
            loop = asyncio.get_running_loop()
            await _until(loop.add_reader, loop.remove_reader, self._descriptor)
        try:
            return os.read(self._descriptor, _READ)
        except OSError:
            return b""


class Output:
    """Bytes to a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def write(self, data: bytes) -> None:
        """Write all of `data`, waiting for a reader that is slow.

        Raises:
            OSError: nobody reads any more (`BrokenPipeError`), or it cannot be written.
        """
        rest = memoryview(data)
        loop = asyncio.get_running_loop()
        while rest:
            if not _ready(self._descriptor, select.POLLOUT):
                await _until(loop.add_writer, loop.remove_writer, self._descriptor)
            rest = rest[os.write(self._descriptor, rest[:_PIECE]) :]


class Sender:
    """Writes in order to an `Output` without ever making the caller wait.

    Args:
        most: bytes that may wait; whoever lets more than that wait counts as gone.
        gone: called once when nothing more is taken.
    """

    def __init__(self, output: Output, most: int, gone: Callable[[], None]) -> None:
        self._output, self._most, self._gone = output, most, gone
        self._items: deque[bytes] = deque()
        self._waiting = 0
        self._more = asyncio.Event()
        self._closing = False
        self._broken = False
        self._pump = asyncio.ensure_future(self._write())

    def send(self, data: bytes) -> None:
        """Have `data` written; dropped once the other side is gone."""
        if self._broken:
            return
        self._waiting += len(data)
        if self._waiting > self._most:
            self._break()
            return
        self._items.append(data)
        self._more.set()

    async def close(self, seconds: float) -> None:
        """Until everything is written, for at most `seconds`."""
        self._closing = True
        self._more.set()
        await asyncio.wait([self._pump], timeout=seconds)
        self._pump.cancel()

    async def _write(self) -> None:
        while not self._broken:
            await self._more.wait()
            self._more.clear()
            while self._items:
                batch = bytearray()
                while self._items and len(batch) < _READ:
                    batch += self._items.popleft()
                try:
                    await self._output.write(bytes(batch))
                except OSError:
                    self._break()
                    return
                self._waiting -= len(batch)
            if self._closing:
                return

    def _break(self) -> None:
        if not self._broken:
            self._broken = True
            self._items.clear()
            self._gone()


def own_descriptors() -> tuple[int, int]:
    """Standard input and output for the protocol alone: whatever else is printed goes to standard error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # many sessions hold many files
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, MOST_FILES)), hard))
    reading, writing = os.dup(0), os.dup(1)
    for descriptor in (reading, writing):
        os.set_inheritable(descriptor, False)
    with suppress(OSError):
        os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return reading, writing


def remark(descriptor: int, text: Shown) -> None:
    """Write a line for a person, unless nobody takes it: what is not read must not hold up what is."""
    with suppress(OSError):
        if _ready(descriptor, select.POLLOUT):
            os.write(descriptor, text.encode("utf-8", "replace")[: _PIECE - 1] + b"\n")


def _ready(descriptor: int, what: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, what)
    return bool(poll.poll(0))


async def _until(
    watch: Callable[[int, Callable[[], None]], None], forget: Callable[[int], bool], descriptor: int
) -> None:
    ready = asyncio.Event()
    watch(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        forget(descriptor)
