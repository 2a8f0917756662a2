"""Tokens add up part by part, unknown stays unknown, and money is tokens times list price."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.messages.usage import ZERO, Price, Usage, cost_of

COUNT = st.none() | st.integers(0, 10**9)
USAGE = st.builds(Usage, COUNT, COUNT, COUNT, COUNT, COUNT)
FIELDS = Usage.__struct_fields__


@given(USAGE, USAGE)
def test_a_sum_is_known_where_both_sides_are(a: Usage, b: Usage) -> None:
    total = a.plus(b)
    for name in FIELDS:
        x, y = getattr(a, name), getattr(b, name)
        assert getattr(total, name) == (None if x is None or y is None else x + y)


@given(USAGE)
def test_zero_changes_nothing(a: Usage) -> None:
    assert ZERO.plus(a) == a == a.plus(ZERO)


def test_the_whole_prompt_counts_its_cached_parts_once() -> None:
    assert Usage(10, 5, 100, 7, 3).prompt_tokens == 117
    assert Usage(10, 5).prompt_tokens == 10
    assert Usage(None, 5, 100).prompt_tokens is None


@given(*[st.integers(0, 10**9)] * 4, *[st.decimals(0, 1000, places=3)] * 4)
def test_cost_is_exact_arithmetic(
    i: int, o: int, r: int, w: int, pi: Decimal, po: Decimal, pr: Decimal, pw: Decimal
) -> None:
    price = Price(float(pi), float(po), float(pr), float(pw))
    expected = (i * pi + o * po + r * pr + w * pw) / 1_000_000
    assert cost_of(Usage(i, o, r, w), price) == pytest.approx(float(expected), rel=1e-9, abs=1e-12)


def test_a_price_or_count_that_matters_and_is_unknown_makes_the_cost_unknown() -> None:
    price = Price(1.0, 2.0)
    assert cost_of(Usage(1_000_000, 1_000_000), price) == 3.0
    assert cost_of(Usage(1, 1, 5), price) is None
    assert cost_of(Usage(1, 1, 0, 0), price) == pytest.approx(3e-6)
    assert cost_of(Usage(None, 1), price) is None
    assert cost_of(Usage(1, None), price) is None
    assert cost_of(Usage(1, 1), Price(1.0, None)) is None
    assert cost_of(Usage(1, 0), Price(1.0, None)) == pytest.approx(1e-6)
