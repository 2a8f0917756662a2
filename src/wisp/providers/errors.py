"""What can go wrong with a request, sorted by whose fault it is and what helps.

ProviderError
├── AuthError         the key is missing, wrong or not allowed      -> fix credentials (exit 3 or 4)
├── QuotaError        money or plan is used up                      -> not retried
├── OverloadError     rate limit, overload, 5xx, 408, 409           -> retried, with the server's hint
├── RequestError      the request itself was refused (4xx)          -> ours to mend
│   └── TooLongError  the prompt does not fit the model's window    -> compaction may help
├── WireError         the bytes were not the protocol, or stopped   -> retried while nothing ran
└── ConnectError      no connection, no name, no answer in time     -> retried
"""

from __future__ import annotations


class ProviderError(Exception):
    """A request failed.

    Args:
        message: one sentence for a person; never holds a credential.
        status: HTTP status, or 0 where there was none.
        retry_after: seconds the server asked us to wait, already made sane; None where it said nothing.
        request_id: the provider's own id of the request, for their support.
    """

    kind = "error"
    retryable = False

    def __init__(
        self, message: str, *, status: int = 0, retry_after: float | None = None, request_id: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.retry_after = retry_after
        self.request_id = request_id


class AuthError(ProviderError):
    """The credentials are missing, wrong, or not allowed to do this."""

    kind = "auth"


class QuotaError(ProviderError):
    """The account's money or plan is used up; waiting does not help."""

    kind = "quota"


class OverloadError(ProviderError):
    """The service is busy, limits our rate, or failed on its side; waiting helps."""

    kind = "overload"
    retryable = True


class RequestError(ProviderError):
    """The service understood the request and refused it."""

    kind = "request"


class TooLongError(RequestError):
    """The prompt does not fit the model's context window."""

    kind = "too_long"


class WireError(ProviderError):
    """The answer was not the protocol we know, or ended before its end."""

    kind = "wire"
    retryable = True


class ConnectError(ProviderError):
    """No connection, no such host, or silence beyond the time-out."""

    kind = "connect"
    retryable = True
