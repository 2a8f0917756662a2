"""What carries requests, as ports: a transport sends, a response is read as it comes.

Implemented by `providers.http` over the network and by `providers.replayed` without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from wisp.providers.address import Url
from wisp.providers.endpoint import Timeouts

Headers = list[tuple[str, str]]


class Response(Protocol):
    """An answer whose body is read as it comes."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case; of a repeated header the last."""

    async def read(self) -> bytes:
        """The next bytes of the body, decoded; empty at its end.

        Raises:
            ProviderError: the connection failed, fell silent, or broke the protocol.
        """
        ...

    def progressed(self, patience: float | None = None) -> None:
        """Something sensible arrived; `patience` replaces the idle limit from here on."""
        ...

    async def finish(self) -> None:
        """Nothing more is wanted; the connection is kept where the body is over, else closed."""
        ...

    def abort(self) -> None:
        """Close the connection now."""
        ...


class Transport(Protocol):
    """What sends requests."""

    async def send(
        self, url: Url, target: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> Response:
        """POST `body` and wait for the head of the answer.

        Raises:
            ProviderError: there was none.
        """
        ...

    def warm(self, url: Url) -> None:
        """Prepare what can be prepared without the network."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...
