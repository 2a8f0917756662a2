"""Exercise 10.1: one minus the chance that all k come from those that failed."""

from math import comb


def pass_any(attempts: int, passed: int, k: int) -> float:
    """The chance that at least one of k attempts, drawn without putting back, passes."""
    return 1 - comb(attempts - passed, k) / comb(attempts, k)
