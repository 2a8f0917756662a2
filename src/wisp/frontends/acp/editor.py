"""What the client, an editor, shows of a file that the agent reads: with what the user has not saved yet."""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError

import msgspec

from wisp.frontends.acp.types import FileContent
from wisp.frontends.wire.peer import METHOD_NOT_FOUND, Gone, Peer, RpcError

WAIT = 2.0
"""Seconds that an editor has to answer; otherwise the file counts as it is on the disk."""
MOST_SILENCES = 3
"""After so many questions without an answer none is asked any more."""


class EditorFiles:
    """Asks one client; called in the threads of tools, while the event loop runs."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._loop = asyncio.get_running_loop()
        self._silences = 0
        self.session_id = ""
        """As the client knows it; nothing is asked before it is set."""

    def __call__(self, path: str) -> str | None:
        """What the editor shows of the file at an absolute path; None when it does not say."""
        if not self.session_id or self._silences >= MOST_SILENCES or not _is_text(path):
            return None
        try:
            return asyncio.run_coroutine_threadsafe(self._asked(path), self._loop).result(WAIT + 1)
        except (TimeoutError, CancelledError, RuntimeError):  # the loop is over
            return None

    async def _asked(self, path: str) -> str | None:
        try:
            async with asyncio.timeout(WAIT):
                answer = await self._peer.ask(
                    "fs/read_text_file", {"sessionId": self.session_id, "path": path}
                )
            self._silences = 0
            return msgspec.json.decode(answer, type=FileContent).content
        except TimeoutError:
            self._silences += 1
        except RpcError as exc:  # it does not have the file, or will not say
            if exc.code == METHOD_NOT_FOUND:
                self._silences = MOST_SILENCES
        except (Gone, msgspec.MsgspecError):
            pass
        return None


def _is_text(path: str) -> bool:
    """Whether a path can stand in a message: bytes that are no text cannot."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
