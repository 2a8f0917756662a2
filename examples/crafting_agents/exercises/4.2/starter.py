"""Exercise 4.2: decide whether a failed request may be sent again."""


def may_retry(received: bool, status: int | None, attempt: int, attempts: int) -> bool:
    """Whether to try again.

    received: something of the answer has arrived.  status: the HTTP status, None when there was no answer.
    attempt: the number of the attempt that failed, from 1; attempts: how many there may be.
    """
    raise NotImplementedError
