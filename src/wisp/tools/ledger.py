"""What the model last saw of each file, so that nothing is overwritten that it has not seen.

Lives as long as the conversation in this process.  Knows nothing of how files are read or written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from wisp.messages.tool import ToolFailure


class Seen(NamedTuple):
    """One file, as it was when the model saw it."""

    digest: str
    """Of all its bytes; empty for a file too big to be read again and again."""
    signature: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Device, inode, size and time of the last change."""


class ReadLedger:
    """Shared by the tools that read and write; safe from any thread.

    Args:
        editor: tells what the user's editor shows of a file, see `tools.unsaved`.
    """

    def __init__(self, editor: Callable[[str], str | None] | None = None) -> None:
        self.editor = editor
        self._seen: dict[str, Seen] = {}
        self._lock = threading.Lock()

    def note(self, path: str, seen: Seen) -> None:
        """The model has now seen (or itself written) this state of `path`."""
        with self._lock:
            self._seen[path] = seen

    def last(self, path: str) -> Seen | None:
        """What it saw last, if anything."""
        with self._lock:
            return self._seen.get(path)

    def check(self, path: str, now: Seen) -> None:
        """Refuse when `path` is not as the model last saw it; a file never seen passes.

        Raises:
            ToolFailure: `stale_input`.
        """
        last = self.last(path)
        if last is None:
            return
        same = last.digest == now.digest if last.digest and now.digest else last.signature == now.signature
        if not same:
            raise ToolFailure(
                "stale_input", f"{path} changed since you last read it; read it again, then repeat the change"
            )
