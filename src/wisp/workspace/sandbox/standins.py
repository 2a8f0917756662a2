"""Things that stand where a protected name is missing, so that the box can cover the place, for a while.

A bind mount needs something to cover.  While a command runs, an empty folder (or a small file) stands in;
afterwards it is taken away: only if it is still empty (or as it was made), and only when no other command,
of this or another process, still needs it.  What a killed process left is known by its time stamp.
"""

from __future__ import annotations

import fcntl
import os
import threading

STAMP = 86_400_000_000_321
"""Modification time, in nanoseconds since 1970, that marks what was made here."""


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
                _make(path, content)
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                if not os.path.isdir(os.path.dirname(path)):
                    return False
                continue  # somebody took it away in between
            except OSError:
                return False
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if _same(path, fd) and is_standin(os.fstat(fd)):
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


def _make(path: str, content: bytes | None) -> None:
    try:
        if content is None:
            os.mkdir(path, 0o755)
        else:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            try:
                os.write(fd, content)
            finally:
                os.close(fd)
    except FileExistsError:
        return
    os.utime(path, ns=(STAMP, STAMP), follow_symlinks=False)


def _remove(path: str, fd: int, content: bytes | None) -> None:
    if not _same(path, fd) or not is_standin(os.fstat(fd)):
        return
    if content is None:
        os.rmdir(path)
    elif os.pread(fd, 64, 0) == content:
        os.unlink(path)


def _same(path: str, fd: int) -> bool:
    there, held = os.lstat(path), os.fstat(fd)
    return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)
