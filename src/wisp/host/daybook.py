"""What all conversations of a user spent today: one small private file, shared by processes.

Kept only where a day has limits.  A file that cannot be read or written never costs an answer: what is not
known counts as unknown, which a limit in dollars does not let pass.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from wisp.loop.limits import Spent
from wisp.messages.usage import Usage

_DAY = 86_400


class Day(msgspec.Struct, frozen=True):
    """One day's figures."""

    date: str
    """In UTC, as 2026-11-30."""
    spent: Spent


class Daybook:
    """Today's figures; implements `harness.budget.Book`.

    Args:
        path: the file; its folder is made private.
        now: seconds since 1970.
    """

    def __init__(self, path: str, now: Callable[[], float]) -> None:
        self._path = path
        self._now = now
        self._broken = False

    def read(self) -> Spent:
        """What was spent today, by any process."""
        if self._broken:
            return Spent(0, Usage(), None)
        try:
            with open(self._path, "rb") as file:
                return self._current(file.read()).spent
        except FileNotFoundError:
            return Spent()
        except OSError:
            return Spent(0, Usage(), None)

    def add(self, spent: Spent) -> None:
        """Count this too."""
        import fcntl

        try:
            folder = os.path.dirname(self._path)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            with os.fdopen(os.open(self._path, flags, 0o600), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                day = self._current(file.read())
                day = Day(day.date, day.spent.and_also(spent))
                file.seek(0)  # written over, then cut: an empty file would be nothing spent
                file.write(msgspec.json.encode(day))
                file.truncate()
        except OSError:
            self._broken = True

    def _current(self, data: bytes) -> Day:
        """The day that counts: today, or the one that has begun already where the clock went back over it."""
        today, tomorrow = (self._date(self._now() + ahead) for ahead in (0, _DAY))
        if not data:
            return Day(today, Spent())
        with suppress(msgspec.MsgspecError):
            day = msgspec.json.decode(data, type=Day)
            return day if day.date in (today, tomorrow) else Day(today, Spent())
        return Day(today, Spent(0, Usage(), None))

    @staticmethod
    def _date(seconds: float) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(seconds))
