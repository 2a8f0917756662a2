"""Records on their way to the storage, and what happens when it cannot keep them.

Where a person is there, the run pauses with a choice: try again, go on without keeping, or stop.  Without
one, and after `stop`, the failure ends the run.  Nothing is ever half-written: see `Storage.append`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from wisp.session.records import Record
from wisp.session.storage import Storage, StorageFailed

Choice = Literal["again", "unkept", "stop"]
Trouble = Callable[[str], Awaitable[Choice]]
"""Asks what to do about a failure, described by its text."""


class Keeping:
    """One storage and the choice a person made about it."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.ask: Trouble | None = None
        self.unkept = False
        """A person chose to go on although nothing is kept any more."""
        self._stopped = False

    def begin(self) -> None:
        """A new run: what was decided to stop the last one does not stop this."""
        self._stopped = False

    async def append(self, records: Sequence[Record], *, sync: bool) -> None:
        """Keep `records`, or do what a person decides.

        Raises:
            StorageFailed: they are not kept and the run is to end.
        """
        while not self.unkept:
            try:
                await self._append(records, sync=sync)
                return
            except StorageFailed as exc:
                if self.ask is None or self._stopped:
                    raise
                choice = await self.ask(str(exc))
                if choice == "unkept":
                    self.unkept = True
                elif choice == "stop":
                    self._stopped = True
                    raise

    async def _append(self, records: Sequence[Record], *, sync: bool) -> None:
        if sync and self._storage.where:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, lambda: self._storage.append(records, sync=True))
        else:
            self._storage.append(records, sync=sync)
