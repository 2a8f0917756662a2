"""Kept outputs by what they hold: each stands once, under its SHA-256, however often it was printed.

An output is written under a name of its own and gets its lasting name when it is whole, in one step, so that
a file of such a name is never half an output.  Who refers to one is told by those who prune; this knows
nothing of sessions.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

_FRESH = 3600.0
"""Seconds in which nothing is pruned: who printed it may not have been able to write its name down yet."""


class Kept(NamedTuple):
    """What a folder of outputs holds, and what went from it."""

    files: int
    size: int
    """Bytes."""
    gone: int
    """Bytes that went."""


def name_of(digest: str, suffix: str) -> str:
    """The lasting name of an output with this SHA-256."""
    return f"sha256-{digest}{suffix}"


def keep(folder: str, data: bytes, suffix: str = ".log") -> str:
    """Keep `data` in a private folder, which is made; where it is.

    Raises:
        OSError: it cannot be written; nothing is left.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    digest = hashlib.sha256(data).hexdigest()
    new = os.path.join(folder, f".{name_of(digest, suffix)}.{os.getpid()}-{os.urandom(4).hex()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
        return settle(new, digest, suffix)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def settle(path: str, digest: str, suffix: str = ".log", *, told: bool = False) -> str:
    """Give the whole output at `path`, which was synced, its lasting name; where it is now, for certain.

    An equal one that is there already is replaced by this one, which cannot be half of it.

    Args:
        digest: SHA-256 of what `path` holds, in hexadecimal digits.
        told: somebody knows it as `path`, so that it keeps this name too (of the same file, at no cost).

    Raises:
        OSError: it could not be named; it is where it was.
    """
    folder = os.path.dirname(path)
    target = os.path.join(folder, name_of(digest, suffix))
    with _locked(folder):
        os.utime(path)
        if not told:
            os.rename(path, target)
            _sync(folder)
            return target
        new = f"{target}.{os.getpid()}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        os.link(path, new)
        os.rename(new, target)
        with contextlib.suppress(FileNotFoundError):  # renaming one name of a file over another does nothing
            os.unlink(new)
        _sync(folder)
    return target


def prune(
    folder: str, now: float, days: float, most: int, referred: Callable[[Collection[str]], Collection[str]]
) -> Kept:
    """Delete what nothing refers to and is older than `days` or, oldest first, beyond `most` bytes together.

    Links and folders are left alone, and so is what was written within the last hour.

    Args:
        now: seconds since 1970.
        referred: which of these names something refers to; asked only when something would go.

    Raises:
        OSError: the folder cannot be read, or `referred` could not find out; nothing went.
    """
    try:
        files = _files(folder)
    except FileNotFoundError:
        return Kept(0, 0, 0)
    total = sum(size for _, size, _ in files)
    old = [item for item in files if now - item[0] > days * 86_400 or total > most]
    old = [item for item in old if now - item[0] > _FRESH]
    if not old:
        return Kept(len(files), total, 0)
    held = referred({name for _, _, name in old})
    gone = count = 0
    with _locked(folder):
        for modified, size, name in sorted(old):
            if name in held or (now - modified <= days * 86_400 and total - gone <= most):
                continue
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                if os.lstat(path).st_mtime == modified:  # else it was printed again meanwhile
                    os.unlink(path)
                    gone, count = gone + size, count + 1
    return Kept(len(files) - count, total - gone, gone)


def count(folder: str) -> tuple[int, int]:
    """How many outputs are kept, and how many bytes they are."""
    try:
        files = _files(folder)
    except OSError:
        return 0, 0
    return sum(size > 0 for _, size, _ in files), sum(size for _, size, _ in files)


def _files(folder: str) -> list[tuple[float, int, str]]:
    with os.scandir(folder) as entries:
        found = [(entry.stat(follow_symlinks=False), entry.name) for entry in entries]
    met: set[int] = set()
    files: list[tuple[float, int, str]] = []
    for status, name in found:
        if stat.S_ISREG(status.st_mode) and name != ".lock":
            again = status.st_ino in met  # another name of a file takes no room
            met.add(status.st_ino)
            files.append((status.st_mtime, 0 if again else status.st_size, name))
    return files


def _sync(folder: str) -> None:
    """Names in `folder` outlast a power cut from here on."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Nothing is named and nothing pruned by another process meanwhile."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(os.path.join(folder, ".lock"), flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
