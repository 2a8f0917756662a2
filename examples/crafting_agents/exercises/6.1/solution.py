"""Exercise 6.1: all steering at every boundary; one follow-up, only when nothing else keeps the run going."""


def due(steering: list[str], follow_ups: list[str], stopping: bool) -> list[str]:
    """Remove from the two queues what is due now, and return it in the order in which it is said."""
    said = steering[:]
    steering.clear()
    if stopping and not said and follow_ups:
        said.append(follow_ups.pop(0))
    return said
