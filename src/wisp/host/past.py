"""The messages of a conversation by their places, also those that are no longer held in memory.

Of a long conversation the file stays open and its tree known while nothing is added, so that paging through
it costs reading it once.  Changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from wisp.messages.message import Message

if TYPE_CHECKING:
    from wisp.host.service import SessionHost
    from wisp.session.open import Tree


class PastMessages:
    """The messages of one conversation.

    Args:
        host: whoever serves it now.
    """

    def __init__(self, host: Callable[[], SessionHost]) -> None:
        self._host = host
        self._file: _File | None = None
        self._asking = asyncio.Lock()

    async def ids(self) -> Sequence[str]:
        """The ids of all messages, in order.

        Raises:
            OSError: the session cannot be read.
        """
        state = self._host().session.state
        if not state.earlier.count:
            return [message.id for message in state.messages]
        async with self._asking:
            return (await self._opened()).ids

    async def slice(self, start: int, end: int) -> list[Message]:
        """The messages from place `start` to `end`, counted from 0; as many of them as there are.

        Raises:
            OSError: the session cannot be read.
        """
        state = self._host().session.state
        first = state.earlier.count
        if start >= first:
            return list(state.messages[start - first : max(0, end - first)])
        async with self._asking:
            return await asyncio.to_thread((await self._opened()).slice, start, end)

    async def _opened(self) -> _File:
        session = self._host().session
        if self._file is None or self._file.leaf != session.state.leaf:
            self.close()
            self._file = await asyncio.to_thread(_File, session.where)
        return self._file

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()
            self._file = None


class _File:
    """A session file, read to its end."""

    def __init__(self, path: str) -> None:
        from wisp.session.open import opened_tree

        self._open = ExitStack()
        self._tree: Tree = self._open.enter_context(opened_tree(path))
        self.leaf = self._tree.fold.state.leaf
        self.ids = self._tree.fold.path(self.leaf)

    def slice(self, start: int, end: int) -> list[Message]:
        return [self._tree.fold.message(one) for one in self.ids[start:end]]

    def close(self) -> None:
        self._open.close()
