"""What the session needs from others: somebody who can keep the working folder as it is."""

from __future__ import annotations

from typing import Protocol


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
