"""What only the system can say of handles: resolving beneath one, where one really is, and what it is of.

Knows the system calls; nothing of what is opened.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes

_OPENAT2 = 437
_GETPATH = 50
_GETFLAGS, _APPEND_ONLY = 0x80086601, 0x20
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


def may_take_away(folder: int) -> None:
    """Raise OSError where a name in the directory could be made and never taken away again (`chattr +a`)."""
    if sys.platform != "linux":
        return
    import fcntl

    flags = bytearray(8)
    try:
        fcntl.ioctl(folder, _GETFLAGS, flags)
    except OSError:
        return  # a file system without such
    if int.from_bytes(flags, sys.byteorder) & _APPEND_ONLY:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def small_file(path: str | bytes, most: int, *, folder: int | None = None) -> bytes | None:
    """The first `most` bytes of a regular file, from the directory `folder` on; None where it is none.

    Whoever may write in a folder can put a pipe there, which would never answer, or a device without an end.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=folder)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        data = b""
        while len(data) < most and (piece := os.read(file, most - len(data))):
            data += piece
        return data
    except OSError:
        return None
    finally:
        os.close(file)


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
