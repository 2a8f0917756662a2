"""Values from one task to whoever iterates, one reader or many: put never waits, next does."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from typing import Generic, TypeVar

T = TypeVar("T")


class Channel(Generic[T]):
    """Unbounded, in order, one reader, same event loop.  Bound what is put, not the channel."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False

    def put(self, item: T) -> None:
        """Add `item`; after `close` it is dropped."""
        if not self._closed:
            self._items.append(item)
            self._wake()

    def close(self) -> None:
        """Nothing follows; what was put before is still delivered."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def next(self) -> T | None:
        """The next item; None at the end."""
        while not self._items:
            if self._closed:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._items.popleft()


class Fanout(Generic[T]):
    """The same values to any number of readers, each from the moment it subscribed on."""

    def __init__(self) -> None:
        self._channels: list[Channel[T]] = []

    def put(self, item: T) -> None:
        """Add `item` for everyone who has subscribed."""
        for channel in self._channels:
            channel.put(item)

    def close(self) -> None:
        """Nothing follows; what was put before is still delivered."""
        for channel in self._channels:
            channel.close()

    def subscribe(self) -> AsyncGenerator[T, None]:
        """Every value from now on, also those that are put before the first one is asked for."""
        channel = Channel[T]()
        self._channels.append(channel)
        return self._watched(channel)

    async def _watched(self, channel: Channel[T]) -> AsyncGenerator[T, None]:
        try:
            while (item := await channel.next()) is not None:
                yield item
        finally:
            self._channels.remove(channel)
