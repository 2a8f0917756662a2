"""Sessions that were not used for as long as the user set go to the trash, by themselves and once a day."""

from __future__ import annotations

import os

from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.store import SessionStore
from wisp.messages.ids import Clock

EVERY = 86_400.0
"""Seconds between two rounds."""


def tidy(configured: Configured, clock: Clock) -> None:
    """One round, where the setting `session_days` asks for it and none was made today; blocking, never fails.

    What cannot be moved, or is in use, stays for another day.
    """
    days = configured.settings.session_days
    if days is None:
        return
    mark = os.path.join(configured.paths.state, "tidied")
    try:
        if 0 <= clock.now() - os.stat(mark).st_mtime < EVERY:
            return
    except OSError:
        pass
    try:
        with open(mark, "a", encoding="utf-8"):
            os.utime(mark, (clock.now(), clock.now()))
        SessionStore(configured.session_base, clock).prune(days, do_it=True)
    except (OSError, OpenFailed, LookupError):
        return
