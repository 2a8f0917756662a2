"""Exercise 8.1: what does a run cost, when a part of each request comes from the provider's cache?"""

from collections.abc import Sequence


def cost(requests: Sequence[tuple[int, int, int]], fresh: float, cached: float, out: float) -> float:
    """Dollars for a run.  Each request is (tokens sent, of these from the cache, tokens received).

    fresh, cached and out are dollars for a million tokens of each kind.
    """
    raise NotImplementedError
