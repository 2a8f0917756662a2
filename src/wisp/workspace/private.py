"""Keeping this process's memory and first environment to itself, where the system allows.

Only for a process that is ours from start to end: it changes what debuggers and core dumps can do.
"""

from __future__ import annotations

import sys
from collections.abc import Collection

_SET_DUMPABLE = 4


def keep_private(names: Collection[str]) -> bool:
    """No core dumps, no reading by other processes of this user, and the values of `names` gone from view.

    The values stay in `os.environ`; what disappears is the copy that `/proc/PID/environ` shows, which root's
    other processes could read even so.  Returns whether all of it was done.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        blanked = _blank({name.encode() for name in names})
    except (OSError, ValueError, IndexError):
        blanked = False
    return ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0) == 0 and blanked


def _blank(names: Collection[bytes]) -> bool:
    """Overwrite values in the block of memory that this program was started with."""
    import ctypes

    with open("/proc/self/stat", "rb") as file:
        words = file.read().rpartition(b")")[2].split()
    start, end = int(words[47]), int(words[48])
    if not 0 < start < end < start + (1 << 24):
        return False
    with open("/proc/self/environ", "rb") as file:
        block = file.read()
    if ctypes.string_at(start, end - start) != block:
        return False  # moved, or not what it seems: better to leave it
    at = start
    for entry in block.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name in names and value:
            ctypes.memset(at + len(name) + 1, ord("*"), len(value))
        at += len(entry) + 1
    return True
