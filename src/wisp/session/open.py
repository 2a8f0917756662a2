"""Looking at a stored session without locking or changing it, in memory that does not grow with it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from wisp.messages.message import Message
from wisp.session.codec import BadLine
from wisp.session.fold import Fold
from wisp.session.index import load as load_index
from wisp.session.records import MessageRecord
from wisp.session.scan import Placed, Scan, record_at
from wisp.session.state import State
from wisp.session.storage import Damage


class Seen(msgspec.Struct, frozen=True):
    """A stored session at one moment."""

    state: State
    damage: tuple[Damage, ...]
    newest_version: int


class Tree(msgspec.Struct, frozen=True):
    """A stored session with all its branches, while its file is open."""

    fold: Fold
    places: list[tuple[int, int]]
    """Where records stand and how long they are, in order."""
    descriptor: int


def fold_scan(scan: Iterable[Placed], descriptor: int) -> Fold:
    """Add up everything that a scan finds; what is not needed is let go of and read again when asked for."""
    fold = _fold(descriptor)
    for record, place, size in scan:
        fold.add(record, place, size)
    return fold


def _fold(descriptor: int) -> Fold:
    """An empty fold that reads messages again from an open file."""

    def read(place: int) -> Message:
        try:
            body = record_at(descriptor, place).body
        except BadLine as exc:
            raise OSError(f"a record at byte {place} changed while it was read: {exc}") from None
        assert isinstance(body, MessageRecord)
        return body.message

    return Fold(read=read)


@contextmanager
def opened_scan(path: str) -> Iterator[tuple[Scan, Fold]]:
    """The records of the session at `path`, to be read once, and an empty fold to feed them to.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    descriptor = _open(path)
    try:
        yield Scan(descriptor), _fold(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def opened_tree(path: str) -> Iterator[Tree]:
    """The whole session at `path`; read to its end.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    descriptor = _open(path)
    try:
        places: list[tuple[int, int]] = []

        def noted() -> Iterator[Placed]:
            for placed in Scan(descriptor):
                places.append((placed.place, placed.size))
                yield placed

        yield Tree(fold_scan(noted(), descriptor), places, descriptor)
    finally:
        os.close(descriptor)


def seen(path: str) -> Seen:
    """What the session at `path` adds up to, from its index where that fits.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    descriptor = _open(path)
    try:
        found = load_index(path, descriptor)
        if found is not None:
            return Seen(found.state, found.damage, found.newest)
        scan = Scan(descriptor)
        state = fold_scan(scan, descriptor).state
        cut = os.fstat(descriptor).st_size > scan.keep
    finally:
        os.close(descriptor)
    damage = [*scan.damage, *([Damage(scan.keep, "the last record is cut off")] if cut else [])]
    return Seen(state, tuple(damage), scan.newest)


def _open(path: str) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no session file")
    return descriptor
