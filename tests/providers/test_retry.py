"""The retry policy as a table."""

import email.utils

import pytest

from wisp.providers.errors import (
    AuthError,
    ConnectError,
    OverloadError,
    QuotaError,
    RequestError,
    TooLongError,
    WireError,
)
from wisp.providers.retry import RetryPolicy, hinted_wait, http_date, should_retry, wait_before_retry

POLICY = RetryPolicy(max_retries=3, base=0.5, ceiling=16.0)


def wait(error, attempt=1, elapsed=0.0, jitter=0.0, policy=POLICY, **options):
    return wait_before_retry(
        policy, attempt=attempt, error=error, elapsed=elapsed, jitter=lambda: jitter, **options
    )


@pytest.mark.parametrize("error", [OverloadError("x"), WireError("x"), ConnectError("x")])
def test_failures_that_pass_are_tried_again_with_growing_waits(error):
    assert [wait(error, attempt) for attempt in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, None]


@pytest.mark.parametrize("error", [AuthError("x"), QuotaError("x"), RequestError("x"), TooLongError("x")])
def test_failures_that_stay_are_not_tried_again(error):
    assert wait(error) is None


def test_jitter_takes_up_to_a_quarter_off():
    assert wait(OverloadError("x"), jitter=1.0) == 0.375


def test_our_own_wait_has_a_ceiling():
    assert wait(OverloadError("x"), 9, policy=RetryPolicy(max_retries=20)) == 16.0


def test_the_servers_wait_comes_before_ours():
    assert wait(OverloadError("x", retry_after=11.0), jitter=0.9) == 11.0


def test_nothing_is_tried_again_once_it_had_an_effect():
    assert wait(OverloadError("x"), effective=True) is None


def test_no_attempt_begins_after_the_deadline():
    policy = RetryPolicy(deadline=90.0)
    assert wait(ConnectError("x"), elapsed=89.0, policy=policy) == 0.5
    assert wait(ConnectError("x"), elapsed=89.6, policy=policy) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "999999999"}, 60.0),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, 60.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 0.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:27 GMT"}, 7.0),
        ({"retry-after": "Fri, 31 Dec 2999 23:59:59 GMT"}, 60.0),
        ({"retry-after-ms": "nan", "retry-after": "2"}, 2.0),
    ],
)
def test_hints_are_made_sane(headers, seconds):
    assert hinted_wait(headers, now=1_700_000_000.0) == seconds


@pytest.mark.parametrize("when", [0, 784111777, 1_700_000_000, 4102444799])
def test_dates_are_read_like_the_standard_library_writes_them(when):
    assert http_date(email.utils.formatdate(when, usegmt=True)) == when


@pytest.mark.parametrize(
    "text", ["", "yesterday", "Sun, 99 Foo 1994 08:49:37 GMT", "1 2 3 4 5", "a b c d e:f:g"]
)
def test_what_is_no_date_is_none(text):
    assert http_date(text) is None


def test_the_servers_word_is_read():
    assert should_retry(500, {"x-should-retry": "false"}) is False
    assert should_retry(400, {"x-should-retry": "true"}) is True
    assert should_retry(500, {}) is None
