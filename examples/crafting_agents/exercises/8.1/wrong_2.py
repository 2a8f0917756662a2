"""A wrong answer: it charges only the last request, as if the others had been free."""

from collections.abc import Sequence


def cost(requests: Sequence[tuple[int, int, int]], fresh: float, cached: float, out: float) -> float:
    """Forgets that every request is sent whole, and paid."""
    sent, hit, received = requests[-1] if requests else (0, 0, 0)
    return ((sent - hit) * fresh + hit * cached + received * out) / 1_000_000
