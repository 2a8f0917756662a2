"""Several services with certificates of their own, behind one transport: each host gets the one made for it.

Needed only where a run may turn to another service whose certificates are set otherwise; never shows one
service's client certificate to another.
"""

from __future__ import annotations

from collections.abc import Mapping

from wisp.providers.address import Url
from wisp.providers.endpoint import Timeouts
from wisp.providers.http import HttpTransport
from wisp.providers.transport import Headers, Response


class ByHost:
    """Implements `providers.transport.Transport`.

    Args:
        routes: transports by the authority of the addresses they are for.
    """

    def __init__(self, routes: Mapping[str, HttpTransport]) -> None:
        self._routes = dict(routes)

    async def send(
        self, url: Url, target: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> Response:
        """Send by the transport that was made for this address."""
        return await self._routes[url.authority].send(url, target, headers, body, timeouts)

    def warm(self, url: Url) -> None:
        """Read the certificates for this address."""
        self._routes[url.authority].warm(url)

    async def aclose(self) -> None:
        """Close all."""
        for transport in self._routes.values():
            await transport.aclose()
