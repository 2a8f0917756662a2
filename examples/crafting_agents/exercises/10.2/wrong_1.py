"""A wrong answer: it looks at one side only and halves the doubt."""

from collections.abc import Sequence
from math import comb


def sign_test(before: Sequence[bool], after: Sequence[bool]) -> float:
    """Asks half of the question."""
    better = sum(new and not old for old, new in zip(before, after, strict=True))
    worse = sum(old and not new for old, new in zip(before, after, strict=True))
    changed = better + worse
    return sum(comb(changed, k) for k in range(min(better, worse) + 1)) / 2**changed
