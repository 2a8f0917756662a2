"""A wrong answer: it repeats what the server has refused, and tries once too often."""


def may_retry(received: bool, status: int | None, attempt: int, attempts: int) -> bool:
    """Takes a refusal for bad luck."""
    return not received and attempt <= attempts and status != 200
