"""One writer per session: an advisory lock on a file beside it, freed by the kernel when its holder dies.

The lock file is never the data file (which may be replaced) and never inherited by children.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat


class Locked(Exception):
    """Another process writes this session."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"the session is in use by {holder}")
        self.holder = holder


class SessionLock:
    """Held from construction until `release` or the end of the process."""

    def __init__(self, path: str) -> None:
        """Take the lock at `path` at once.

        Raises:
            Locked: somebody holds it; names them as far as they said.
            OSError: the file cannot be made or is not a regular file of ours.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        self._held = False
        self._fd: int | None = os.open(path, flags, 0o600)
        try:
            self._take(path, self._fd)
            self._held = True
        except BaseException:
            self.release()
            raise

    @staticmethod
    def _take(path: str, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != os.geteuid():
            raise OSError(errno.EPERM, "not a private regular file of yours", path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            if exc.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise Locked(_holder(descriptor) or "another process") from None
        with contextlib.suppress(OSError):  # a full disk has no room for a name; deleting must go on there
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)

    def release(self) -> None:
        """Let the next writer in; a second call does nothing."""
        if self._fd is not None:
            if self._held:
                with contextlib.suppress(OSError):  # so that nobody is named who no longer has it
                    os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None


def _holder(descriptor: int) -> str:
    """Who says to have it; a holder that has just taken it says so a moment later."""
    for _ in range(200):
        if said := os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip():
            return said
    return ""
