"""What the session needs from others: one who keeps the working folder, one who is asked about compaction."""

from __future__ import annotations

from typing import Literal, Protocol


class FileHistory(Protocol):
    """Snapshots of the working folder.  Blocking; called in a worker thread."""

    def take(self) -> str:
        """Keep the folder as it is now; returns the snapshot's id.

        Raises:
            OSError: it could not be kept; the message says why.
        """
        ...

    def warm(self, snapshot: str) -> None:
        """Know a snapshot's files already; never fails."""
        ...


class CompactionWatch(Protocol):
    """Somebody who is asked before the conversation is shortened, and told afterwards."""

    async def before_compaction(self, trigger: Literal["manual", "auto"], wish: str) -> str:
        """Why it is not to be; empty where it may.  `wish` is what a person wants of the summary."""
        ...

    async def after_compaction(self, trigger: Literal["manual", "auto"], summary: str) -> None:
        """It was, and is kept; `summary` stands for the older part."""
        ...
