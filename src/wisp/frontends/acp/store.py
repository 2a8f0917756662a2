"""The stored sessions and the models that can be used, asked in a thread: both read files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from wisp.frontends.acp.types import SessionList, SessionRow
from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.library import SessionContent, SessionInfo
from wisp.host.showing import flat
from wisp.messages.ids import iso
from wisp.messages.message import Message

if TYPE_CHECKING:
    from wisp.host.store import SessionStore

PAGE = 50
"""Sessions in one answer of `session/list`."""
FRESH = 30.0
"""Seconds for which a list of models counts as true."""


class Library(Protocol):
    """What `host.small.HostLibrary` offers of use here."""

    def models(self, words: str = "", *, all_: bool = False) -> list[dict[str, Any]]: ...
    def session(self, prefix: str, last: int = 0) -> SessionContent: ...
    def store(self) -> SessionStore: ...


class Stored:
    """What is kept outside of the sessions that are open.

    Args:
        request: what every session has in common.
        library: makes a library for a request.
    """

    def __init__(self, request: OpenRequest, library: Callable[[OpenRequest], Library]) -> None:
        self._request = request
        self._library = library
        self._models: dict[str, tuple[float, list[dict[str, Any]]]] = {}

    def _for(self, cwd: str) -> Library:
        return self._library(msgspec.structs.replace(self._request, cwd=cwd))

    async def models(self, cwd: str) -> list[dict[str, Any]]:
        """The models that can be used in `cwd`; none where the settings cannot be read."""
        now = asyncio.get_running_loop().time()
        known = self._models.get(cwd)
        if known is None or now - known[0] > FRESH:
            try:
                rows = await asyncio.to_thread(lambda: self._for(cwd).models())
            except (OpenFailed, OSError):
                rows = []
            self._models[cwd] = known = (now, rows)
        return known[1]

    async def find(self, session_id: str) -> SessionInfo | None:
        """The session with exactly this id."""
        return await asyncio.to_thread(self._find, session_id)

    def _find(self, session_id: str) -> SessionInfo | None:
        return next((info for info in self._for("").store().listed() if info.id == session_id), None)

    async def messages(self, session_id: str) -> list[Message]:
        """Everything that was said in a session.

        Raises:
            LookupError: there is none.
            OSError: it cannot be read.
        """
        return await asyncio.to_thread(lambda: list(self._for("").session(session_id).messages))

    async def delete(self, session_id: str) -> None:
        """Throw a session away; nothing where there is none."""
        await asyncio.to_thread(self._delete, session_id)

    def _delete(self, session_id: str) -> None:
        if self._find(session_id) is not None:
            self._for("").store().remove(session_id)

    async def listed(self, cwd: str | None, after: int) -> SessionList:
        """One page of the sessions, newest first."""
        place = None if cwd is None else os.path.realpath(cwd)
        rows = await asyncio.to_thread(lambda: self._for("").store().listed(place))
        page = rows[after : after + PAGE]
        more = str(after + PAGE) if len(rows) > after + PAGE else None
        return SessionList(sessions=tuple(row_of(info) for info in page), next_cursor=more)


def row_of(info: SessionInfo) -> SessionRow:
    """A stored session as the protocol tells it."""
    title = flat(info.name or info.title) or None
    return SessionRow(session_id=info.id, cwd=info.cwd, title=title, updated_at=iso(info.modified))
