"""A wrong answer: it charges cached tokens twice."""

from collections.abc import Sequence


def cost(requests: Sequence[tuple[int, int, int]], fresh: float, cached: float, out: float) -> float:
    """Counts a part as if it were beside the whole."""
    total = sum(sent * fresh + hit * cached + received * out for sent, hit, received in requests)
    return total / 1_000_000
