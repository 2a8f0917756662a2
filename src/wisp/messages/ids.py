"""Time and names: the only module that reads a clock or makes an identifier.

Everything else receives a `Clock`, so that tests decide what time it is.
"""

from __future__ import annotations

import os
import time
from datetime import datetime
from typing import Protocol

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no letters that look like digits


class Clock(Protocol):
    """Where time and randomness come from."""

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC; may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go backwards; only differences mean anything."""
        ...

    def new_id(self) -> str:
        """A fresh identifier, see `make_id`."""
        ...


def make_id(milliseconds: int, entropy: int) -> str:
    """26 characters that sort by time: 48 bits of milliseconds, 80 bits of `entropy` (the ULID layout)."""
    value = (milliseconds & (1 << 48) - 1) << 80 | entropy & (1 << 80) - 1
    return "".join(_ALPHABET[value >> shift & 31] for shift in range(125, -1, -5))


class SystemClock:
    """The real clock; identifiers of one process never repeat and never sort before an earlier one."""

    def __init__(self) -> None:
        self._last = (0, 0)

    def now(self) -> float:
        """Seconds since 1970 by the system's clock."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds by a clock that only goes forward."""
        return time.monotonic()

    def new_id(self) -> str:
        """An identifier later than every one before it, even when the system's clock is set back."""
        millis, entropy = self._last
        now = int(self.now() * 1000)
        if now > millis:
            millis, entropy = now, int.from_bytes(os.urandom(10), "big") >> 1
        else:
            entropy += 1 + (os.urandom(1)[0] & 63)
        self._last = (millis, entropy)
        return make_id(millis, entropy)


class FixedClock:
    """A clock for tests: stands still unless told, and counts its identifiers."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._start = start
        self._count = 0

    def now(self) -> float:
        """The time it was set to."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since this clock was made."""
        return self._now - self._start

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self._now += seconds

    def new_id(self) -> str:
        """The next identifier in a fixed sequence."""
        self._count += 1
        return make_id(int(self._now * 1000), self._count)


def iso(seconds: float) -> str:
    """`seconds` since 1970 as RFC 3339 in UTC with milliseconds."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds * 1000) % 1000:03d}Z"


def seconds_of(stamp: str) -> float:
    """The opposite of `iso`.

    Raises:
        ValueError: it is no such time.
    """
    return datetime.fromisoformat(stamp).timestamp()
