"""Exercise 10.2: count the tasks that changed sides, and ask how often a fair coin does as much."""

from collections.abc import Sequence
from math import comb


def sign_test(before: Sequence[bool], after: Sequence[bool]) -> float:
    """The two-sided p-value of the exact sign test on tasks that were tried under both."""
    better = sum(new and not old for old, new in zip(before, after, strict=True))
    worse = sum(old and not new for old, new in zip(before, after, strict=True))
    changed = better + worse
    tail = sum(comb(changed, k) for k in range(min(better, worse) + 1)) / 2**changed
    return min(1.0, 2 * tail)
