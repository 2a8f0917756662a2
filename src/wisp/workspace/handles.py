"""What only the system can say of handles: resolving beneath one, and where one really is.

Knows the system calls; nothing of what is opened.
"""

from __future__ import annotations

import errno
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes

_OPENAT2 = 437
_GETPATH = 50
_WRITE_OUT = 2
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08


@cache
def _libc() -> ctypes.CDLL:
    """Made once: it costs as much as the calls."""
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def openat2(base: int, relative: str, flags: int, *, links: bool) -> int | None:
    """One system call, or None where only the walk can tell (absolute links, a link to be named)."""
    import ctypes
    import struct

    rules = _BENEATH | _NO_MAGICLINKS | (0 if links else _NO_SYMLINKS)
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, rules)
    name = os.fsencode(relative)
    libc = _libc()
    for _ in range(16):
        fd: int = libc.syscall(_OPENAT2, base, name, how, len(how))
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code != errno.EAGAIN:
            break
    if code in (errno.EXDEV, errno.ELOOP, errno.ENOSYS, errno.EAGAIN):
        return None
    raise OSError(code, os.strerror(code))


def where(fd: int, otherwise: str) -> str:
    """The present path of an open file; `otherwise` where the system does not tell."""
    try:
        if sys.platform == "darwin":
            import fcntl

            found = os.fsdecode(fcntl.fcntl(fd, _GETPATH, bytes(1024)).rstrip(b"\0"))
        else:
            found = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return otherwise
    return found if found.startswith("/") and not found.endswith(" (deleted)") else otherwise


def as_folder(fd: int) -> str:
    """A path by which a program started now gets into this very directory."""
    path = f"/proc/self/fd/{fd}"
    return path if os.path.isdir(path) else where(fd, path)


def start_writing(fd: int) -> None:
    """Let the disk begin with what was written to `fd`, so that syncing it later waits less; a hint only."""
    if sys.platform != "linux":
        return
    import ctypes

    start = getattr(_libc(), "sync_file_range", None)
    if start is not None:
        start(fd, ctypes.c_int64(0), ctypes.c_int64(0), _WRITE_OUT)


def works(top: int) -> bool:
    """Whether this system has it; `top` is any directory."""
    if sys.platform != "linux":
        return False
    try:
        fd = openat2(top, ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, links=True)
    except OSError:
        return False
    if fd is None:
        return False
    os.close(fd)
    return True
