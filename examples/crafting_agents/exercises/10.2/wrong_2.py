"""A wrong answer: it counts tasks that did not change, and finds no difference where there is one."""

from collections.abc import Sequence
from math import comb


def sign_test(before: Sequence[bool], after: Sequence[bool]) -> float:
    """Lets silence vote."""
    worse = sum(old >= new for old, new in zip(before, after, strict=True))
    total = len(before)
    tail = sum(comb(total, k) for k in range(min(worse, total - worse) + 1)) / 2**total
    return min(1.0, 2 * tail)
