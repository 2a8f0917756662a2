"""Exercise 10.2: is the new prompt better, or was it luck?"""

from collections.abc import Sequence


def sign_test(before: Sequence[bool], after: Sequence[bool]) -> float:
    """The two-sided p-value of the exact sign test on tasks that were tried under both.

    Tasks with the same outcome say nothing.  If the change made no difference, each of the others would be
    better or worse with the same chance; the value is the chance of a split at least as uneven as this one.
    """
    raise NotImplementedError
