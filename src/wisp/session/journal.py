"""A session file: opened with care, mended at its end, appended to, synced.

The only fsync of the session package.  Reading never changes a file; opening for writing moves a torn
tail into a side file first, so that the next record begins on a line of its own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence

from wisp.session.codec import MAX_LINE, encode
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
        self._places: dict[str, int] = {}
        self._damage: list[Damage] = []
        self._newest = 0

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
        if self._fd is None or self._size < LARGE or self._newest > VERSION:
            return
        told = [damage for damage in self._damage if not damage.kept_in]
        with contextlib.suppress(OSError):
            save_index(self._path, self._fd, state, self._places, told, self._newest)

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
        for record, line in zip(records, lines, strict=True):
            self._placed(record, self._size)
            self._size += len(line)

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


def create(path: str, lines: Iterable[bytes]) -> None:
    """Make the session file `path` of whole lines, in one step, durable when this returns.

    Raises:
        FileExistsError: there is one.
        OSError: it cannot be made; nothing is left.
    """
    create_private_folder(os.path.dirname(path))
    new = f"{path}.new-{os.getpid()}"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            held: list[bytes] = []
            size = 0
            for line in lines:
                held.append(line)
                size += len(line)
                if size > 1 << 20:
                    _write_all(descriptor, b"".join(held))
                    held, size = [], 0
            _write_all(descriptor, b"".join(held))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.link(new, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)
    _sync_folder(os.path.dirname(path))


def move(path: str, target: str) -> None:
    """Move a session that nobody uses, with what was once cut off its end, to `target`.

    Raises:
        Locked: a process has it.
        FileExistsError: there is one at `target`.
        OSError: it cannot be moved; it is where it was.
    """
    lock = SessionLock(path + ".lock")
    try:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "a session of that id is there already", target)
        create_private_folder(os.path.dirname(target))
        folder, name = os.path.split(path)
        for other in sorted(os.listdir(folder)):
            if other.startswith(name + "."):
                rest = other[len(name) :]
                if rest.startswith((".torn-", ".before-")):
                    os.rename(os.path.join(folder, other), target + rest)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + ".index")
        os.rename(path, target)
        _sync_folder(os.path.dirname(target))
        _sync_folder(folder)
    finally:
        lock.release()


def destroy(path: str) -> None:
    """Delete a session that nobody uses, for ever, and everything beside it.

    Raises:
        Locked: a process has it.
        OSError: it cannot be deleted.
    """
    lock = SessionLock(path + ".lock")
    try:
        folder, name = os.path.split(path)
        os.unlink(path)
        for other in os.listdir(folder):
            if other.startswith(name + "."):
                os.unlink(os.path.join(folder, other))
        _sync_folder(folder)
    finally:
        lock.release()


def replace(path: str, lines: Iterable[bytes], aside: str) -> str:
    """Put a mended session in the place of `path`, which is kept beside it under its name and `aside`.

    The caller holds no lock; the file is replaced in one step, or not at all.  Returns where the old one is.

    Raises:
        Locked: a process has it.
        OSError: it cannot be replaced; it is as it was.
    """
    lock = SessionLock(path + ".lock")
    try:
        kept = next(name for number in range(1, 10_000) if not os.path.lexists(name := f"{path}{aside}-{number}"))
        new = f"{path}.mended-{os.getpid()}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        create(new, lines)
        os.link(path, kept)
        os.replace(new, path)
        _sync_folder(os.path.dirname(path))
        return kept
    finally:
        lock.release()


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
        scan = Scan(descriptor)
        records = tuple(placed.record for placed in scan)
        size = os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
    if scan.keep < size:
        scan.damage.append(Damage(scan.keep, "the last record is cut off"))
    return Loaded(records, tuple(scan.damage), scan.newest)


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
