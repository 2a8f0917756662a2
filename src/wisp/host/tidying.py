"""Once a day, at the end of a conversation: what was kept for long enough goes.

Kept outputs of commands after `OUTPUT_DAYS`, or the oldest beyond `OUTPUT_BYTES`; sessions that were not used
for as long as the setting `session_days` says, to the trash.
"""

from __future__ import annotations

import contextlib
import os
import stat

from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.store import SessionStore
from wisp.messages.ids import Clock

OUTPUT_DAYS = 30
OUTPUT_BYTES = 4 << 30
"""Of all kept outputs together."""


def tidy(configured: Configured, clock: Clock) -> None:
    """One round; blocking, never fails.  What cannot be moved, or is in use, stays for another day."""
    with contextlib.suppress(OSError):
        prune_outputs(configured.paths.output, clock.now())
    days = configured.settings.session_days
    if days is not None:
        with contextlib.suppress(OSError, OpenFailed, LookupError):
            SessionStore(configured.session_base, clock).prune(days, do_it=True)


def prune_outputs(folder: str, now: float, days: float = OUTPUT_DAYS, most: int = OUTPUT_BYTES) -> int:
    """Delete outputs that are older than `days` or, oldest first, beyond `most` bytes together.

    Links and folders are left alone.  Returns how many bytes went.

    Raises:
        OSError: the folder cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            found = [(entry.stat(follow_symlinks=False), entry.path) for entry in entries]
    except FileNotFoundError:
        return 0
    files = [
        (status.st_mtime, status.st_size, path) for status, path in found if stat.S_ISREG(status.st_mode)
    ]
    total = sum(size for _, size, _ in files)
    gone = 0
    for modified, size, path in sorted(files):
        if now - modified <= days * 86_400 and total - gone <= most:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
            gone += size
    return gone
