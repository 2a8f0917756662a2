"""A wrong answer: it draws with putting back."""


def pass_any(attempts: int, passed: int, k: int) -> float:
    """Lets one attempt count twice."""
    return 1 - (1 - passed / attempts) ** k
