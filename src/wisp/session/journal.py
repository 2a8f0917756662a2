"""A session file: opened with care, mended at its end, appended to, synced.

Reading never changes a file; opening for writing moves a torn
tail into a side file first, so that the next record begins on a line of its own.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence

from wisp.session.codec import MAX_LINE, BadLine, decode, encode
from wisp.session.fold import Fold
from wisp.session.index import LARGE
from wisp.session.index import load as load_index
from wisp.session.index import save as save_index
from wisp.session.lock import SessionLock
from wisp.session.open import fold_scan
from wisp.session.records import VERSION, MessageRecord, Record
from wisp.session.scan import Scan
from wisp.session.state import State
from wisp.session.storage import Damage, Loaded, StorageFailed
from wisp.session.whole import NO_FILE, NotASession, keep_aside, private_size, sync_folder, write_all

_END = 1 << 16


class FileJournal:
    """One session file, open for appending by this process alone.  Implements `Storage`."""

    def __init__(self, path: str) -> None:
        """Open or create `path` and take its lock.

        Raises:
            Locked: another process has it.
            NotASession: a link, a folder, a device, another user's file, or one with several names.
            OSError: it cannot be opened or created.
        """
        self._path = path
        self._lock = SessionLock(path + ".lock")
        self._fd: int | None = None
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            self._fd = os.open(path, flags, 0o600)
            self._size = private_size(self._fd, path)
        except OSError as exc:
            self.close()
            raise NotASession(path) if exc.errno in NO_FILE else exc from None
        self._fresh = self._size == 0
        self._places: dict[str, int] = {}
        self._damage: list[Damage] = []
        self._newest = 0
        self._indexed = -1
        """Size of the file that the index beside it describes."""

    @property
    def where(self) -> str:
        """The file's path."""
        return self._path

    def load(self) -> Loaded:
        """Read everything, then move a torn tail aside so that appending is safe.

        Of a large file that is as its index says, only what the next request needs is read.  A file of a
        newer format is only read.

        Raises:
            StorageFailed: it cannot be read or mended.
        """
        assert self._fd is not None
        try:
            if self._size >= LARGE:
                return self._load_large(self._fd)
            scan = Scan(self._fd)
            records = []
            for record, place, _ in scan:
                records.append(record)
                self._placed(record, place)
            self._mended(scan)
        except OSError as exc:
            self.close()
            raise StorageFailed(f"{self._path} could not be opened: {exc.strerror or exc}") from exc
        return Loaded(tuple(records), tuple(self._damage), scan.newest)

    def _load_large(self, descriptor: int) -> Loaded:
        found = load_index(self._path, descriptor)
        if found is not None:
            self._places, self._damage, self._newest = dict(found.places), list(found.damage), found.newest
            self._indexed = self._size
            return Loaded((), found.damage, found.newest, found.state)
        fold = self._fold_all(descriptor)
        state = fold.state
        del fold
        self.remember(state)
        return Loaded((), tuple(self._damage), self._newest, state)

    def folded(self) -> Fold:
        """Read everything again, whatever the index says."""
        assert self._fd is not None
        try:
            return self._fold_all(self._fd)
        except OSError as exc:
            raise StorageFailed(f"{self._path} could not be read: {exc.strerror or exc}") from exc

    def _fold_all(self, descriptor: int) -> Fold:
        scan = Scan(descriptor)
        fold = fold_scan(scan, descriptor)
        self._mended(scan)
        held = fold.state.messages
        self._places = {m.id: fold.nodes[m.id].place for m in held if m.id in fold.nodes}
        return fold

    def _mended(self, scan: Scan) -> None:
        self._newest = scan.newest
        self._damage = scan.damage
        if scan.newest <= VERSION:
            self._damage = scan.damage + self._mend(scan.keep, scan.ended)

    def _placed(self, record: Record, place: int) -> None:
        if isinstance(record.body, MessageRecord):
            self._places.setdefault(record.id, place)

    def remember(self, state: State) -> None:
        """Keep an index of a large file."""
        if self._fd is None or self._size < LARGE or self._newest > VERSION or self._size == self._indexed:
            return
        told = [damage for damage in self._damage if not damage.kept_in]
        with contextlib.suppress(OSError):
            save_index(self._path, self._fd, state, self._places, told, self._newest)
            self._indexed = self._size

    def _mend(self, keep: int, ended: bool) -> list[Damage]:
        """Move what follows the last record or whole line aside, and end a record that only lacks its LF."""
        assert self._fd is not None
        found = []
        if keep < self._size:
            tail = os.pread(self._fd, self._size - keep, keep)
            aside = keep_aside(f"{self._path}.torn-{keep}", tail)
            os.ftruncate(self._fd, keep)
            self._size = keep
            message = f"{len(tail)} bytes at the end were cut off in the middle of a record"
            found = [Damage(keep, message, aside)]
        if not ended:
            write_all(self._fd, b"\n")
            self._size += 1
        if found or not ended:
            os.fsync(self._fd)
        return found

    def append(self, records: Sequence[Record], *, sync: bool) -> None:
        """Add `records` in one write, all or none; none where somebody else removed or changed the file."""
        if self._fd is None:
            raise StorageFailed("the session is closed")
        if self._newest > VERSION:
            raise StorageFailed(
                f"{self._path} was written in format {self._newest}; update wisp to change it"
            )
        lines = list(map(encode, records))
        if (longest := max(map(len, lines), default=0)) > MAX_LINE:
            raise StorageFailed(f"a record of {longest} bytes is too large for {self._path}")
        data = b"".join(lines)
        self._check(os.fstat(self._fd))
        try:
            write_all(self._fd, data)
            if sync:
                os.fdatasync(self._fd)
                if self._fresh:
                    sync_folder(os.path.dirname(self._path))
                    self._fresh = False
        except OSError as exc:
            self._take_back()
            raise StorageFailed(f"{self._path} could not be written: {exc.strerror or exc}") from exc
        for record, line in zip(records, lines, strict=True):
            self._placed(record, self._size)
            self._size += len(line)

    def _check(self, now: os.stat_result) -> None:
        """What is written to a file that is no longer there, or lost its beginning, is not kept."""
        if now.st_nlink == 0:
            raise StorageFailed(f"{self._path} was removed while it was in use")
        if now.st_size != self._size:
            raise StorageFailed(
                f"{self._path} was changed by somebody else while it was in use: "
                f"it has {now.st_size:,} bytes instead of {self._size:,}"
            )

    def _take_back(self) -> None:
        """Leave no half record behind; if even that fails, the checksum will find it on the next open."""
        assert self._fd is not None
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            return

    def close(self) -> None:
        """Close the file and free the lock."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._lock.release()


def read_only(path: str) -> Loaded:
    """What a session file holds, without locking or changing it.

    Raises:
        OSError: it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotASession(path)
        scan = Scan(descriptor)
        records = tuple(placed.record for placed in scan)
        size = os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
    if scan.keep < size:
        scan.damage.append(Damage(scan.keep, "the last record is cut off"))
    return Loaded(records, tuple(scan.damage), scan.newest)


def newest_of(path: str) -> int:
    """The format that the end of the session file at `path` was written in; 0 where nothing tells.

    Raises:
        OSError: it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        size = os.fstat(descriptor).st_size
        end = os.pread(descriptor, _END, max(0, size - _END))
    finally:
        os.close(descriptor)
    found = [record.v for line in end.split(b"\n") if (record := _record(line)) is not None]
    return found[-1] if found else 0


def _record(line: bytes) -> Record | None:
    try:
        return decode(line)
    except BadLine:
        return None
