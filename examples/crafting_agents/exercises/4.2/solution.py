"""Exercise 4.2: only what may pass by itself, only before anything came, only while attempts are left."""


def may_retry(received: bool, status: int | None, attempt: int, attempts: int) -> bool:
    """Whether to try again."""
    temporary = status is None or status >= 500
    return temporary and not received and attempt < attempts
