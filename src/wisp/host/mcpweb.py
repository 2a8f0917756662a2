"""MCP servers with an address: the client's port for requests, through the one HTTP door."""

from __future__ import annotations

from collections.abc import Mapping

from wisp.mcp.ports import Lost, WebResponse
from wisp.providers.address import Url, parse_url, target_of
from wisp.providers.endpoint import Timeouts
from wisp.providers.errors import ProviderError
from wisp.providers.http import HttpTransport
from wisp.providers.transport import Response

_FOREVER = 86_400.0
"""Seconds; how long an answer is waited for is the client's business."""
_TIMEOUTS = Timeouts(connect=10.0, first_byte=_FOREVER, idle=_FOREVER, progress=_FOREVER)


class _Answer:
    """Implements `mcp.ports.WebResponse`."""

    def __init__(self, response: Response) -> None:
        self._response = response
        self.status, self.headers = response.status, response.headers

    async def read(self) -> bytes:
        try:
            data = await self._response.read()
        except ProviderError as exc:
            raise Lost(exc.message) from None
        self._response.progressed()
        return data

    async def finish(self) -> None:
        await self._response.finish()

    def abort(self) -> None:
        self._response.abort()


class HttpWeb:
    """Implements `mcp.ports.Web`; follows no redirect and sends no credential of its own."""

    def __init__(self, env: Mapping[str, str]) -> None:
        proxies = {name: value for name, value in env.items() if name.lower().endswith("_proxy")}
        self._transport = HttpTransport(proxies=proxies)

    async def request(
        self, method: str, address: str, headers: Mapping[str, str], body: bytes = b""
    ) -> WebResponse:
        """See `mcp.ports.Web`."""
        try:
            url = checked(address)
            fixed = [("host", url.authority), ("accept-encoding", "identity"), ("user-agent", "wisp")]
            length = [("content-length", str(len(body)))] if body or method == "POST" else []
            sent = [*fixed, *headers.items(), *length]
            return _Answer(
                await self._transport.request(method, url, target_of(address), sent, body, _TIMEOUTS)
            )
        except ProviderError as exc:
            raise Lost(exc.message) from None

    async def close(self) -> None:
        """See `mcp.ports.Web`."""
        await self._transport.aclose()


def checked(address: str) -> Url:
    """The address taken apart.

    Raises:
        ProviderError: it is none.
    """
    url = parse_url(address)
    if url.userinfo:
        raise ProviderError("the address of a server holds a name or password; use headers instead")
    return url
