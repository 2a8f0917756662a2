"""Exercise 6.1: what is delivered at a boundary?"""


def due(steering: list[str], follow_ups: list[str], stopping: bool) -> list[str]:
    """Remove from the two queues what is due now, and return it in the order in which it is said."""
    raise NotImplementedError
