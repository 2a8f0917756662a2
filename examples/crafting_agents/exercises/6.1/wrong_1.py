"""A wrong answer: it says all follow-ups at once, and two tasks become one muddle."""


def due(steering: list[str], follow_ups: list[str], stopping: bool) -> list[str]:
    """Delivers too much."""
    said = steering[:]
    steering.clear()
    if stopping and not said:
        said = follow_ups[:]
        follow_ups.clear()
    return said
