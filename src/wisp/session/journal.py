"""A session file: opened with care, mended at its end, appended to, synced.

The only fsync of the session package.  Reading never changes a file; opening for writing moves a torn
tail into a side file first, so that the next record begins on a line of its own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

from wisp.session.codec import MAX_LINE, BadLine, decode, encode, salvage
from wisp.session.lock import SessionLock
from wisp.session.records import Record
from wisp.session.storage import Damage, Loaded, StorageFailed

_CHUNK = 1 << 20
_BOM = b"\xef\xbb\xbf"


class NotASession(OSError):
    """The path is not a private regular file that a session could be."""


def create_private_folder(path: str) -> None:
    """Make `path` and what is missing above it, for this user alone."""
    os.makedirs(path, mode=0o700, exist_ok=True)


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
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            self._fd: int | None = os.open(path, flags, 0o600)
            self._check(os.fstat(self._fd))
        except OSError:
            self._lock.release()
            raise
        self._size = os.fstat(self._fd).st_size
        self._fresh = self._size == 0

    def _check(self, status: os.stat_result) -> None:
        assert self._fd is not None
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != os.geteuid():
            os.close(self._fd)
            raise NotASession(f"{self._path} is not a private regular file of yours")
        if status.st_mode & 0o077:
            os.fchmod(self._fd, 0o600)

    @property
    def where(self) -> str:
        """The file's path."""
        return self._path

    def load(self) -> Loaded:
        """Read everything, then move a torn tail aside so that appending is safe."""
        assert self._fd is not None
        records, damage, good_end, last_complete = _scan(self._fd)
        if last_complete != self._size or good_end != self._size:
            damage = [*damage, *self._mend(good_end, last_complete)]
        newest = max((record.v for record in records), default=0)
        return Loaded(tuple(records), tuple(damage), newest)

    def _mend(self, good_end: int, last_complete: int) -> list[Damage]:
        """Cut what follows the last whole line, or end a whole record that only lacks its LF."""
        assert self._fd is not None
        if good_end == self._size and last_complete < self._size:
            os.write(self._fd, b"\n")
            os.fsync(self._fd)
            self._size += 1
            return []
        tail = os.pread(self._fd, self._size - last_complete, last_complete)
        if not tail:
            return []
        aside = self._path + f".torn-{last_complete}"
        descriptor = os.open(
            aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        try:
            _write_all(descriptor, tail)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.ftruncate(self._fd, last_complete)
        os.fsync(self._fd)
        self._size = last_complete
        message = f"{len(tail)} bytes at the end were cut off in the middle of a record"
        return [Damage(last_complete, message, aside)]

    def append(self, records: Sequence[Record], *, sync: bool) -> None:
        """Add `records` in one write, all or none."""
        if self._fd is None:
            raise StorageFailed("the session is closed")
        data = b"".join(map(encode, records))
        try:
            _write_all(self._fd, data)
            if sync:
                os.fdatasync(self._fd)
                if self._fresh:
                    _sync_folder(os.path.dirname(self._path))
                    self._fresh = False
        except OSError as exc:
            self._take_back()
            raise StorageFailed(f"{self._path} could not be written: {exc.strerror or exc}") from exc
        self._size += len(data)

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
            raise NotASession(f"{path} is not a regular file")
        records, damage, good_end, last_complete = _scan(descriptor)
        size = os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
    if good_end < size and last_complete < size:
        damage.append(Damage(last_complete, "the last record is cut off"))
    return Loaded(tuple(records), tuple(damage), max((record.v for record in records), default=0))


def _scan(descriptor: int) -> tuple[list[Record], list[Damage], int, int]:
    """`(records, damage, end of the last good record, end of the last whole line)`."""
    records: list[Record] = []
    damage: list[Damage] = []
    good_end = last_complete = 0
    for offset, end, line, complete in _lines(descriptor):
        if complete:
            last_complete = end
        body = line[len(_BOM) :] if offset == 0 and line.startswith(_BOM) else line
        if not body.strip():
            good_end = end if complete else good_end
            continue
        try:
            record = decode(body)
        except BadLine as exc:
            found = salvage(body)
            if found is None:
                if complete:
                    damage.append(Damage(offset, f"a record is damaged: {exc}"))
                    good_end = end
                continue
            damage.append(Damage(offset, f"{len(found[0])} bytes before a record are damaged"))
            record = found[1]
        _check_order(records, record, offset, damage)
        records.append(record)
        good_end = end
    return records, damage, good_end, last_complete


def _check_order(records: list[Record], record: Record, offset: int, damage: list[Damage]) -> None:
    if not records:
        return
    expected = records[-1].seq + 1
    if record.seq > expected:
        damage.append(Damage(offset, f"records {expected} to {record.seq - 1} are missing"))
    elif record.seq < expected:
        damage.append(Damage(offset, f"record {record.seq} comes again: two programs wrote this session"))


def _lines(descriptor: int) -> Iterator[tuple[int, int, bytes, bool]]:
    """`(offset, end, line without LF, whether its LF is there)`.

    Holds one line in memory; of a line beyond `MAX_LINE` only the beginning, cut to be no record.
    """
    offset, position, rest, dropped = 0, 0, b"", 0
    while chunk := os.pread(descriptor, _CHUNK, position):
        position += len(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            end = offset + len(line) + dropped + 1
            yield offset, end, line, True
            offset, dropped = end, 0
        if len(rest) > MAX_LINE:
            dropped += len(rest) - MAX_LINE - 1
            rest = rest[: MAX_LINE + 1]
    if rest:
        yield offset, offset + len(rest) + dropped, rest, False


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(path: str) -> None:
    descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
