"""Whether a failed attempt may be repeated, and after how long: a pure policy.

Knows errors and numbers.  Who waits, and with which clock, is the caller's business.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from wisp.providers.errors import ConnectError, OverloadError, ProviderError, WireError

MAX_HINT = 60.0
"""Longest wait a server may ask for, in seconds; more is clamped to this."""


class RetryPolicy(msgspec.Struct, frozen=True):
    """The numbers of the policy."""

    max_retries: int = 3
    """Attempts after the first."""
    base: float = 0.5
    """Seconds before the second attempt; doubles each time."""
    ceiling: float = 16.0
    """Longest wait of our own choosing."""
    deadline: float | None = None
    """Seconds from the first request within which an attempt may still begin; None for no limit."""


def wait_before_retry(
    policy: RetryPolicy,
    *,
    attempt: int,
    error: ProviderError,
    elapsed: float,
    jitter: Callable[[], float],
    effective: bool = False,
) -> float | None:
    """Seconds to wait before attempt `attempt + 1`, or None to give up.

    Args:
        policy: the numbers.
        attempt: the attempt that just failed, from 1.
        error: why it failed; `error.retryable` is already the server's word where it gave one.
        elapsed: seconds since the first attempt began.
        jitter: a source of numbers in [0, 1).
        effective: something outside the request has already acted on this answer; then never.
    """
    if effective or not error.retryable or attempt > policy.max_retries:
        return None
    if error.retry_after is not None:
        delay = error.retry_after
    else:
        delay = min(policy.base * 2.0 ** (attempt - 1), policy.ceiling)
        delay *= 1.0 - 0.25 * jitter()
    if policy.deadline is not None and elapsed + delay >= policy.deadline:
        return None
    return delay


def should_retry(status: int, headers: Mapping[str, str]) -> bool | None:
    """The server's own word about repeating a failed request; None where it says nothing."""
    word = headers.get("x-should-retry", "").strip().lower()
    if word == "true":
        return True
    if word == "false":
        return False
    return None


def hinted_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the server asks us to wait, made sane; None where it said nothing we understand.

    Negative figures and dates in the past are no wait; absurd ones are clamped to `MAX_HINT`.
    `now` is seconds since 1970, for the form that is a date.
    """
    seconds = _number(headers.get("retry-after-ms"))
    if seconds is not None:
        return _sane(seconds / 1000.0)
    text = headers.get("retry-after")
    if not text:
        return None
    seconds = _number(text)
    if seconds is not None:
        return _sane(seconds)
    when = http_date(text)
    return None if when is None else _sane(when - now)


def _sane(seconds: float) -> float:
    return min(max(seconds, 0.0), MAX_HINT)


def _number(text: str | None) -> float | None:
    try:
        value = float(text.strip()) if text else math.nan
    except ValueError:
        return None
    return None if math.isnan(value) else value


_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}


def http_date(text: str) -> float | None:
    """Seconds since 1970 of an HTTP date (`Sun, 06 Nov 1994 08:49:37 GMT`); None where it is not one."""
    import calendar

    words = text.replace("-", " ").replace(",", " ").split()
    try:
        if len(words) < 5:
            return None
        day, month, year = int(words[1]), _MONTHS[words[2].lower()[:3]], int(words[3])
        hour, minute, second = (int(part) for part in words[4].split(":"))
        if year < 100:
            year += 2000 if year < 70 else 1900
        return float(calendar.timegm((year, month, day, hour, minute, second)))
    except (KeyError, ValueError, OverflowError):
        return None


def limit_of(error: ProviderError) -> str:
    """A short word for what was waited for, for people."""
    if isinstance(error, OverloadError):
        return "the service is busy" if error.status != 429 else "rate limited"
    if isinstance(error, ConnectError):
        return "no connection"
    if isinstance(error, WireError):
        return "the answer was cut"
    return error.kind
