"""Where a session's records are kept, as a protocol, and the keeping in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from wisp.session.fold import Fold
from wisp.session.records import Record
from wisp.session.state import State


class Damage(msgspec.Struct, frozen=True):
    """Something wrong with a stored session, and what became of it."""

    offset: int
    """Byte in the file."""
    message: str
    kept_in: str = ""
    """The side file that holds the damaged bytes, where they were moved."""


class Loaded(msgspec.Struct, frozen=True):
    """What a storage held when it was opened."""

    records: tuple[Record, ...]
    damage: tuple[Damage, ...] = ()
    newest_version: int = 0
    state: State | None = None
    """What a large session adds up to; `records` is then empty."""


class StorageFailed(Exception):
    """Records could not be kept (full disk, I/O error).  None of them is half-written."""


class Storage(Protocol):
    """An append-only sequence of records."""

    @property
    def where(self) -> str:
        """A path or name for messages; empty for memory."""
        ...

    def load(self) -> Loaded:
        """Everything that is there; called before any append."""
        ...

    def folded(self) -> Fold:
        """Everything that is there, added up, with every message in reach."""
        ...

    def append(self, records: Sequence[Record], *, sync: bool) -> None:
        """Add `records`, all or none; with `sync`, return only when they would survive a power loss.

        Raises:
            StorageFailed: nothing was added.
        """
        ...

    def remember(self, state: State) -> None:
        """Take note of what the records add up to, to be quicker the next time; never fails."""
        ...

    def close(self) -> None:
        """Let go of files and locks; later calls do nothing."""
        ...


class MemoryStorage:
    """Keeps records as long as the object lives."""

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self.records: list[Record] = list(records)

    @property
    def where(self) -> str:
        """Nowhere."""
        return ""

    def load(self) -> Loaded:
        """What it was given."""
        return Loaded(tuple(self.records), (), max((r.v for r in self.records), default=0))

    def append(self, records: Sequence[Record], *, sync: bool) -> None:
        """Keep them."""
        del sync
        self.records.extend(records)

    def folded(self) -> Fold:
        """What it holds, added up."""
        return Fold(self.records)

    def remember(self, state: State) -> None:
        """Nothing: the next life begins with nothing."""

    def close(self) -> None:
        """Nothing to let go of."""
