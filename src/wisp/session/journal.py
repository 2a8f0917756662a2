"""A session file: opened with care, mended at its end, appended to, synced.

The only fsync of the session package.  Reading never changes a file; opening for writing moves a torn
tail into a side file first, so that the next record begins on a line of its own.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence

from wisp.session.codec import MAX_LINE, BadLine, Salvaged, decode, encode, salvage
from wisp.session.lock import SessionLock
from wisp.session.records import VERSION, Record
from wisp.session.storage import Damage, Loaded, StorageFailed

_CHUNK = 1 << 20
_BOM = b"\xef\xbb\xbf"


class NotASession(OSError):
    """The path is not a private regular file that a session could be."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "not a private regular file of yours", path)


_NO_FILE = (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV)
"""What opening a link, a folder or a device fails with."""


def create_private_folder(path: str) -> None:
    """Make `path` and what is missing above it, for this user alone whatever the umask says."""
    missing = []
    where = os.path.abspath(path)
    while not os.path.isdir(where):
        missing.append(where)
        where = os.path.dirname(where)
    for folder in reversed(missing):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise
        else:
            _sync_folder(os.path.dirname(folder))


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
            self._size = _private_size(self._fd, path)
        except OSError as exc:
            self.close()
            raise NotASession(path) if exc.errno in _NO_FILE else exc from None
        self._fresh = self._size == 0

    @property
    def where(self) -> str:
        """The file's path."""
        return self._path

    def load(self) -> Loaded:
        """Read everything, then move a torn tail aside so that appending is safe.

        A file of a newer format is only read.

        Raises:
            StorageFailed: it cannot be read or mended.
        """
        assert self._fd is not None
        try:
            records, damage, keep, ended = _scan(self._fd)
            newest = max((record.v for record in records), default=0)
            if newest <= VERSION:
                damage += self._mend(keep, ended)
        except OSError as exc:
            self.close()
            raise StorageFailed(f"{self._path} could not be opened: {exc.strerror or exc}") from exc
        return Loaded(tuple(records), tuple(damage), newest)

    def _mend(self, keep: int, ended: bool) -> list[Damage]:
        """Move what follows the last record or whole line aside, and end a record that only lacks its LF."""
        assert self._fd is not None
        found = []
        if keep < self._size:
            tail = os.pread(self._fd, self._size - keep, keep)
            aside = _keep_aside(f"{self._path}.torn-{keep}", tail)
            os.ftruncate(self._fd, keep)
            self._size = keep
            message = f"{len(tail)} bytes at the end were cut off in the middle of a record"
            found = [Damage(keep, message, aside)]
        if not ended:
            _write_all(self._fd, b"\n")
            self._size += 1
        if found or not ended:
            os.fsync(self._fd)
        return found

    def append(self, records: Sequence[Record], *, sync: bool) -> None:
        """Add `records` in one write, all or none."""
        if self._fd is None:
            raise StorageFailed("the session is closed")
        lines = list(map(encode, records))
        if (longest := max(map(len, lines), default=0)) > MAX_LINE:
            raise StorageFailed(f"a record of {longest} bytes is too large for {self._path}")
        data = b"".join(lines)
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


def rewrite(path: str, change: Callable[[bytes], bytes], *, keep: bool) -> None:
    """Put every line of a session file, and what was once cut off its end, through `change`.

    The file is replaced in one step, or not at all.  Lines come with their LF.

    Args:
        keep: only look, replace nothing.

    Raises:
        Locked: another process has it.
        NotASession: as for `FileJournal`.
        OSError: it cannot be read or replaced; it is as it was.
    """
    lock = SessionLock(path + ".lock")
    try:
        _rewrite_one(path, change, keep=keep)
        folder, name = os.path.split(path)
        for other in sorted(os.listdir(folder)):
            if other.startswith(name + ".torn-"):
                _rewrite_one(os.path.join(folder, other), change, keep=keep)
    finally:
        lock.release()


def _rewrite_one(path: str, change: Callable[[bytes], bytes], *, keep: bool) -> None:
    try:
        source = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as exc:
        raise NotASession(path) if exc.errno in _NO_FILE else exc from None
    new = f"{path}.new-{os.getpid()}"
    target = -1
    with os.fdopen(source, "rb") as file:
        _private_size(source, path)
        try:
            if not keep:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
                target = os.open(new, flags, 0o600)
            for line in file:
                changed = change(line)
                if not keep:
                    _write_all(target, changed)
            if not keep:
                os.fsync(target)
                os.replace(new, path)
                _sync_folder(os.path.dirname(path))
        except BaseException:
            if target >= 0 and os.path.lexists(new):
                os.unlink(new)
            raise
        finally:
            if target >= 0:
                os.close(target)


def read_only(path: str) -> Loaded:
    """What a session file holds, without locking or changing it.

    Raises:
        OSError: it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotASession(path)
        records, damage, keep, _ = _scan(descriptor)
        size = os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
    if keep < size:
        damage.append(Damage(keep, "the last record is cut off"))
    return Loaded(tuple(records), tuple(damage), max((record.v for record in records), default=0))


def _scan(descriptor: int) -> tuple[list[Record], list[Damage], int, bool]:
    """`(records, damage, where what may stay ends, whether it ends with LF)`."""
    records: list[Record] = []
    damage: list[Damage] = []
    keep, ended = 0, True
    for offset, end, line, complete in _lines(descriptor):
        start = len(_BOM) if offset == 0 and line.startswith(_BOM) else 0
        good: list[Salvaged] = []
        if line[start:].strip():
            try:
                good = [Salvaged(start, len(line), decode(line[start:]))]
            except BadLine as exc:
                good = salvage(line)
                last = len(line.rstrip(b"\r")) if complete else (good[-1].end if good else 0)
                if lost := last - sum(item.end - item.start for item in good):
                    damage.append(Damage(offset, f"a record is damaged ({exc}); {lost} bytes are lost"))
        for item in good:
            _check_order(records, item.record, offset + item.start, damage)
            records.append(item.record)
        if complete:
            keep = end
        elif good:
            keep, ended = offset + good[-1].end, False
    return records, damage, keep, ended


def _check_order(records: list[Record], record: Record, offset: int, damage: list[Damage]) -> None:
    expected = records[-1].seq + 1 if records else 1
    if record.seq > expected:
        damage.append(Damage(offset, f"records {expected} to {record.seq - 1} are missing"))
    elif record.seq < expected:
        damage.append(Damage(offset, f"record {record.seq} comes again: two programs wrote this session"))


def _lines(descriptor: int) -> Iterator[tuple[int, int, bytes, bool]]:
    """`(offset, end, line without LF, whether its LF is there)`.

    Holds one line in memory; of a line beyond `MAX_LINE` only the beginning, cut to be no record.
    """
    offset = position = 0
    parts: list[bytes] = []
    held = 0
    while chunk := os.pread(descriptor, _CHUNK, position):
        pieces = chunk.split(b"\n")
        for number, piece in enumerate(pieces):
            if held <= MAX_LINE:
                parts.append(piece)
                held += len(piece)
            position += len(piece)
            if number < len(pieces) - 1:
                position += 1
                yield offset, position, b"".join(parts), True
                offset, parts, held = position, [], 0
    if position > offset:
        yield offset, position, b"".join(parts), False


def _private_size(descriptor: int, path: str) -> int:
    """The file's size, once it is certain that it is a private regular file of this user."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != os.geteuid():
        raise NotASession(path)
    if status.st_mode & 0o077:
        os.fchmod(descriptor, 0o600)
    return status.st_size


def _keep_aside(path: str, data: bytes) -> str:
    """Keep `data` in a new file at `path`, or at `path` with a number; returns which."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    for name in (path, *(f"{path}.{number}" for number in range(1, 1000))):
        try:
            descriptor = os.open(name, flags, 0o600)
        except FileExistsError:
            continue
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return name
    raise FileExistsError(errno.EEXIST, "too many damaged ends are kept", path)


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
