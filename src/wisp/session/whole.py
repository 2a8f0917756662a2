"""Whole session files: made, moved, replaced and deleted in one step each, with what stands beside them.

With the journal the only place of the session package that asks the disk to keep its word.  Knows nothing
of records.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator

from wisp.session.lock import SessionLock


class NotASession(OSError):
    """The path is not a private regular file that a session could be."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "not a private regular file of yours", path)


NO_FILE = (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV)
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
            sync_folder(os.path.dirname(folder))


@contextlib.contextmanager
def about(path: str) -> Iterator[None]:
    """What the system refuses meanwhile is said of `path`, where the system names nothing itself."""
    try:
        yield
    except OSError as exc:
        if exc.filename is None and exc.errno is not None:
            raise OSError(exc.errno, exc.strerror, path) from exc
        raise


def replace_private(path: str, data: bytes, *, mode: int = 0o600) -> None:
    """Make `data` the whole content of the file `path`, in one step, durable when this returns.

    Raises:
        OSError: it cannot be written, and is as it was; it names `path`, and nothing is left beside it.
    """
    new = f"{path}.{os.getpid()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with about(path):
        create_private_folder(os.path.dirname(path))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)  # of a process with our number that died
        try:
            descriptor = os.open(new, flags, 0o600)
            try:
                os.fchmod(descriptor, mode)
                write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(new, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(new)
            raise
        sync_folder(os.path.dirname(path))


def create(path: str, lines: Iterable[bytes]) -> None:
    """Make the session file `path` of whole lines, in one step, durable when this returns.

    Raises:
        FileExistsError: there is one.
        OSError: it cannot be made; nothing is left.
    """
    with about(path):
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
                        write_all(descriptor, b"".join(held))
                        held, size = [], 0
                write_all(descriptor, b"".join(held))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, "there is a file of that name already", path)
            os.rename(new, path)  # never a second name: a kill between would leave a file nobody accepts
        finally:
            with contextlib.suppress(OSError):
                os.unlink(new)
        sync_folder(os.path.dirname(path))


def move(path: str, target: str) -> None:
    """Move a session that nobody uses, with what was once cut off its end, to `target`.

    Raises:
        Locked: a process has it.
        FileExistsError: there is one at `target`.
        OSError: it cannot be moved; it is where it was.
    """
    lock = SessionLock(path + ".lock")
    try:
        if os.path.lexists(target) and not _same(path, target):  # a power cut can leave both
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
        sync_folder(os.path.dirname(target))
        sync_folder(folder)
    finally:
        lock.release()


def _same(one: str, other: str) -> bool:
    with open(one, "rb") as left, open(other, "rb") as right:
        while (piece := left.read(1 << 20)) == right.read(1 << 20):
            if not piece:
                return True
    return False


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
        sync_folder(folder)
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
        kept = next(
            name for number in range(1, 10_000) if not os.path.lexists(name := f"{path}{aside}-{number}")
        )
        new = f"{path}.mended-{os.getpid()}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        create(new, lines)
        with open(path, "rb") as file:
            create(kept, iter(lambda: file.read(1 << 20), b""))
        os.replace(new, path)
        sync_folder(os.path.dirname(path))
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
        raise NotASession(path) if exc.errno in NO_FILE else exc from None
    new = f"{path}.new-{os.getpid()}"
    target = -1
    with os.fdopen(source, "rb") as file:
        private_size(source, path)
        try:
            if not keep:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
                target = os.open(new, flags, 0o600)
            for line in file:
                changed = change(line)
                if not keep:
                    write_all(target, changed)
            if not keep:
                os.fsync(target)
                os.replace(new, path)
                sync_folder(os.path.dirname(path))
        except BaseException:
            if target >= 0 and os.path.lexists(new):
                os.unlink(new)
            raise
        finally:
            if target >= 0:
                os.close(target)


def private_size(descriptor: int, path: str) -> int:
    """The file's size, once it is certain that it is a private regular file of this user."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != os.geteuid():
        raise NotASession(path)
    if status.st_mode & 0o077:
        os.fchmod(descriptor, 0o600)
    return status.st_size


def keep_aside(path: str, data: bytes) -> str:
    """Keep `data` in a new file at `path`, or at `path` with a number; returns which."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    for name in (path, *(f"{path}.{number}" for number in range(1, 1000))):
        try:
            descriptor = os.open(name, flags, 0o600)
        except FileExistsError:
            continue
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return name
    raise FileExistsError(errno.EEXIST, "too many damaged ends are kept", path)


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(path: str) -> None:
    descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
