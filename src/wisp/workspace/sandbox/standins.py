"""Things that stand where a protected name is missing, so that the box can cover the place, for a while.

A bind mount needs something to cover.  While a command runs, an empty folder (or a small file) stands in;
afterwards it is taken away: only if it is still empty (or as it was made), and only when no other command,
of this or another process, still needs it.  What a killed process left is known by its time stamp.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sys
import threading
from collections.abc import Iterator

STAMP = 86_400_000_000_321
"""Modification time, in nanoseconds since 1970, that marks what was made here."""

_ITSELF = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


class Standins:
    """Made at construction, taken away by `close`; a context manager."""

    def __init__(self) -> None:
        self._held: list[tuple[str, int, bytes | None]] = []

    def __enter__(self) -> Standins:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def folder(self, path: str) -> bool:
        """Let an empty folder stand at `path`; False when something else is there or nothing can be made."""
        return self._hold(path, None)

    def file(self, path: str, content: bytes) -> bool:
        """Let a file with `content` stand at `path`."""
        return self._hold(path, content)

    def close(self) -> None:
        """Take everything away that nobody else holds."""
        done = []
        while self._held:
            path, fd, content = self._held.pop()
            done.append(fd)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path, fd, content)
            except OSError:
                pass  # another command holds it, or it is no longer empty: then it is not ours to remove
            finally:
                fcntl.flock(fd, fcntl.LOCK_UN)
        if done:
            threading.Thread(target=_close, args=(done,), daemon=True).start()

    def _hold(self, path: str, content: bytes | None) -> bool:
        for _ in range(8):
            try:
                with _folder_of(path) as (folder, name):
                    _make(folder, name, content)
                    fd = os.open(name, _ITSELF, dir_fd=folder)
            except FileNotFoundError:
                if not os.path.isdir(os.path.dirname(path)):
                    return False
                continue  # somebody took it away in between
            except OSError:
                return False
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if _same(os.lstat(path), fd) and is_standin(os.fstat(fd)):
                    self._held.append((path, fd, content))
                    return True
            except OSError:
                pass  # it is being taken away; make it again
            there = os.fstat(fd)
            os.close(fd)
            if not is_standin(there):
                return False
        return False


def is_standin(found: os.stat_result) -> bool:
    """Whether this was made here."""
    return found.st_mtime_ns == STAMP


def _close(fds: list[int]) -> None:
    """Giving up the last hold of a removed folder frees it on disk: up to a millisecond each."""
    for fd in fds:
        os.close(fd)


@contextlib.contextmanager
def _folder_of(path: str) -> Iterator[tuple[int, str]]:
    """A handle of the folder `path` is in, and its name there; fails where a link has come in the way.

    A command that still runs could lead us out of the workspace otherwise.
    """
    folder, name = os.path.split(path)
    fd = os.open(folder, _FOLDER)
    try:
        if sys.platform == "linux" and os.readlink(f"/proc/self/fd/{fd}") != folder:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), folder)
        yield fd, name
    finally:
        os.close(fd)


def _make(folder: int, name: str, content: bytes | None) -> None:
    try:
        if content is None:
            os.mkdir(name, 0o755, dir_fd=folder)
        else:
            fd = os.open(name, _NEW, 0o644, dir_fd=folder)
            try:
                os.write(fd, content)
            finally:
                os.close(fd)
    except FileExistsError:
        return
    os.utime(name, ns=(STAMP, STAMP), dir_fd=folder, follow_symlinks=False)


def _remove(path: str, fd: int, content: bytes | None) -> None:
    with _folder_of(path) as (folder, name):
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not _same(there, fd) or not is_standin(os.fstat(fd)):
            return
        if content is None:
            os.rmdir(name, dir_fd=folder)
        elif os.pread(fd, 64, 0) == content:
            os.unlink(name, dir_fd=folder)


def _same(there: os.stat_result, fd: int) -> bool:
    held = os.fstat(fd)
    return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)
