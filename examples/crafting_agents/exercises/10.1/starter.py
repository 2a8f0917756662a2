"""Exercise 10.1: the other figure that is called pass at k."""


def pass_any(attempts: int, passed: int, k: int) -> float:
    """The chance that at least one of k attempts, drawn without putting back, passes."""
    raise NotImplementedError
