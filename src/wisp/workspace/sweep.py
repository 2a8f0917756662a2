"""Finding and ending processes by a mark in their environment: the last resort when a guardian died.

Knows nothing of who set the mark.
"""

from __future__ import annotations

import os
import signal
import time

MARK = "WISP_CALL_ID"
"""Environment variable by which a call's processes can be found again."""

_LOOKS, _PAUSE = 200, 0.005


def sweep(mark: str) -> int:
    """End every process of this user that carries `mark` in its environment; how many were found.

    Takes up to a second where the machine is too busy to end them at once.  Two looks must find nothing: a
    process that is just replacing its program shows no environment for a moment.
    """
    wanted = f"{MARK}={mark}".encode()
    found: set[int] = set()
    clean = 0
    for _ in range(_LOOKS):
        alive = [pid for pid in _pids() if _carries(pid, wanted)]
        clean = 0 if alive else clean + 1
        if clean == 2:
            break
        for pid in alive:
            found.add(pid)
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue  # ended meanwhile
        time.sleep(_PAUSE)
    return len(found)


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    except OSError:
        return []


def _carries(pid: int, wanted: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return wanted in file.read().split(b"\0")
    except OSError:
        return False
