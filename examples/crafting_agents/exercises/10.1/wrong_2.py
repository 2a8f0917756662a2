"""A wrong answer: this is the chance that all k pass."""

from math import comb


def pass_any(attempts: int, passed: int, k: int) -> float:
    """Mixes up any and all."""
    return comb(passed, k) / comb(attempts, k)
