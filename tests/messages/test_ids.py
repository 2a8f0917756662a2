"""Identifiers sort by time and never repeat; times are RFC 3339."""

import datetime as dt
import random

from hypothesis import given
from hypothesis import strategies as st

from wisp.messages.ids import FixedClock, SystemClock, iso, make_id

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**80 - 1))
def test_an_id_is_the_ulid_layout(milliseconds: int, entropy: int) -> None:
    value = 0
    for letter in make_id(milliseconds, entropy).upper():
        value = value * 32 + ALPHABET.index(letter)
    assert value == milliseconds * 2**80 + entropy


@given(st.lists(st.tuples(st.integers(0, 2**48 - 1), st.integers(0, 2**80 - 1)), min_size=2, unique=True))
def test_ids_sort_as_their_times_do(pairs: list[tuple[int, int]]) -> None:
    assert [make_id(*pair) for pair in sorted(pairs)] == sorted(make_id(*pair) for pair in pairs)


class JumpingClock(SystemClock):
    """A system clock that is set forward and back."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def now(self) -> float:
        return 1_700_000_000 + self._random.uniform(-3600, 3600)


def test_ids_are_unique_and_rise_also_when_the_clock_goes_back() -> None:
    for clock in (SystemClock(), JumpingClock(1)):
        made = [clock.new_id() for _ in range(5000)]
        assert made == sorted(set(made))
        assert all(len(name) == 26 for name in made)


def test_a_fixed_clock_stands_still_and_counts() -> None:
    clock = FixedClock(100.0)
    first, second = clock.new_id(), clock.new_id()
    assert first < second
    assert clock.now() == 100.0
    clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (102.5, 2.5)


@given(st.floats(0, 4e9, allow_nan=False))
def test_iso_is_rfc_3339_within_a_millisecond(seconds: float) -> None:
    read = dt.datetime.fromisoformat(iso(seconds)).timestamp()
    assert abs(read - seconds) <= 0.0011
