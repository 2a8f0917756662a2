"""A wrong answer: it repeats a request whose answer had begun, and pays twice."""


def may_retry(received: bool, status: int | None, attempt: int, attempts: int) -> bool:
    """Forgets what has been received."""
    return (status is None or status >= 500) and attempt < attempts
