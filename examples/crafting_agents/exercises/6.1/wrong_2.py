"""A wrong answer: it returns what is due and leaves it in the queue, to be said again."""


def due(steering: list[str], follow_ups: list[str], stopping: bool) -> list[str]:
    """Delivers twice."""
    return steering or (follow_ups[:1] if stopping else [])
