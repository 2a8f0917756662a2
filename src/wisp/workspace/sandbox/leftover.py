"""The private folder of one run, and those that killed runs left: known by a lock that nobody holds any more.

Only folders of this user are touched, by handle, and only when they have not just been made.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile

PREFIX = "wisp-box-"
YOUNG = 60_000_000_000
"""Nanoseconds: the lock of one this young may not be taken yet."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def private_folder(now: int) -> tuple[str, int]:
    """A new one and the descriptor that holds it; close that last.  Takes away what killed runs left.

    Args:
        now: the wall clock, in nanoseconds.
    """
    made = os.path.realpath(tempfile.mkdtemp(prefix=PREFIX))
    hold = os.open(made, _FOLDER)
    fcntl.flock(hold, fcntl.LOCK_SH)
    sweep(os.path.dirname(made), now)
    return made, hold


def sweep(top: str, now: int) -> None:
    """Remove folders of this user beneath `top` that no run holds."""
    try:
        names = [name for name in os.listdir(top) if name.startswith(PREFIX)]
    except OSError:
        return
    for name in names:
        path = os.path.join(top, name)
        try:
            fd = os.open(path, _FOLDER)
        except OSError:
            continue  # a link, a file, or somebody else's
        try:
            about = os.fstat(fd)
            if about.st_uid == os.geteuid() and now - about.st_ctime_ns > YOUNG:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            pass  # its run is alive
        finally:
            os.close(fd)
