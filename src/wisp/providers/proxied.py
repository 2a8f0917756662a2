"""Requests that go through a proxy: httpx2 does the talking.  Imported only where one is configured.

The proxy of an https address sees a host name and a port; certificates are checked end to end.  Errors
never repeat the proxy's own address, which may hold a password.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from wisp.providers.address import Url
from wisp.providers.body import Body
from wisp.providers.endpoint import Timeouts
from wisp.providers.errors import ConnectError, RequestError
from wisp.providers.transport import Headers, Response


class Proxy:
    """One proxy.

    Args:
        address: `http://[NAME:PASSWORD@]HOST:PORT`.
        tls: the context that checks certificates.
    """

    def __init__(self, address: str, tls: Any) -> None:
        try:
            self._client = httpx2.AsyncClient(proxy=address, verify=tls, trust_env=False)
        except (ValueError, ImportError, httpx2.InvalidURL):
            raise RequestError("the proxy's address cannot be used; it is http://HOST:PORT") from None

    async def request(
        self, method: str, url: Url, target: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> Response:
        """One request through the proxy.

        Raises:
            ProviderError: no answer.
        """
        patience = httpx2.Timeout(
            timeouts.first_byte, connect=timeouts.connect, pool=timeouts.connect, read=timeouts.first_byte
        )
        request = self._client.build_request(
            method,
            f"{url.scheme}://{url.authority}{target}",
            headers=headers,
            content=body,
            timeout=patience,
        )
        try:
            response = await self._client.send(request, stream=True)
        except httpx2.TimeoutException:
            raise ConnectError(f"no answer through the proxy within {timeouts.first_byte:g} s") from None
        except (httpx2.HTTPError, OSError) as exc:  # a TLS alert in the middle of a write comes as it is
            raise _error(url, exc) from None
        return _Proxied(response, timeouts)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()


class _Proxied(Body):
    """A response that came through a proxy."""

    def __init__(self, response: httpx2.Response, timeouts: Timeouts) -> None:
        self._response = response
        self._chunks: AsyncIterator[bytes] = response.aiter_raw()
        self._closing: asyncio.Task[None] | None = None
        super().__init__(response.status_code, dict(response.headers), timeouts)

    async def _next(self) -> bytes:
        try:
            return await anext(self._chunks, b"")
        except httpx2.HTTPError as exc:
            raise EOFError(type(exc).__name__) from None

    async def finish(self) -> None:
        """Give the connection back."""
        self._limits.stop()
        await self._response.aclose()

    def abort(self) -> None:
        """Close the connection as soon as the loop turns."""
        self._limits.stop()
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._response.aclose())


def _error(url: Url, exc: Exception) -> ConnectError:
    said = str(exc)
    if "CERTIFICATE_VERIFY_FAILED" in said:
        reason = said.partition("certificate verify failed: ")[2].partition(" (")[0] or "not verified"
        error = ConnectError(f"the certificate of {url.authority} is not trusted: {reason}")
        error.retryable = False
    elif isinstance(exc, httpx2.ProxyError) and said[:3] in ("401", "403", "407"):
        error = ConnectError(f"the proxy refuses to connect us to {url.authority}: {said[:60]}")
        error.retryable = False
    elif "CERTIFICATE_REQUIRED" in said:
        error = ConnectError(f"{url.authority} wants a client certificate; set client_cert and client_key")
        error.retryable = False
    else:
        error = ConnectError(f"the proxy did not connect us to {url.authority}: {type(exc).__name__}")
    return error
