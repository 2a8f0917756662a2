"""Values from one task to whoever iterates: put never waits, next does."""

from __future__ import annotations

import asyncio
from collections import deque
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
