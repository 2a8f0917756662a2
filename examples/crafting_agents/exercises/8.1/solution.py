"""Exercise 8.1: cached tokens are among those that were sent, so they are taken out before the full price."""

from collections.abc import Sequence


def cost(requests: Sequence[tuple[int, int, int]], fresh: float, cached: float, out: float) -> float:
    """Dollars for a run."""
    total = 0.0
    for sent, from_cache, received in requests:
        total += (sent - from_cache) * fresh + from_cache * cached + received * out
    return total / 1_000_000
