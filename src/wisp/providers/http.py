"""The network: one request out, one response in.  The only module that opens connections to services.

Direct connections are h11 over asyncio streams, one small pool a host.  `providers.proxied`, with `httpx2`,
is imported only where a proxy leads to the host, `ssl` only for https.  Knows nothing of what the bytes
mean; never logs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import h11

from wisp.providers.address import Url, proxy_for
from wisp.providers.body import Body, Broken, reason_of
from wisp.providers.endpoint import Timeouts
from wisp.providers.errors import ConnectError, ProviderError, RequestError, WireError
from wisp.providers.transport import Headers, Response

if TYPE_CHECKING:
    from wisp.providers.proxied import Proxy

IDLE_EXPIRY = 4.0
"""Seconds an unused connection is kept; servers drop theirs after five."""
MAX_IDLE = 4
"""Unused connections kept for one host."""
MAX_HEAD = 256 * 1024
"""Most bytes of a response's status line and headers."""
READ = 64 * 1024
_ENDED = (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)
"""States of the server in which its body is over."""


class HttpTransport:
    """Real connections.

    Args:
        proxies: `HTTP_PROXY` and its relatives, as the caller read them.
        ca_bundle: a file of certificate authorities to trust instead of the system's.
        client_cert: a certificate and its key to show, as two file names; the second may be empty.
        pin: says which network address a direct connection is made to, instead of looking the name up.
    """

    def __init__(
        self,
        proxies: Mapping[str, str] | None = None,
        ca_bundle: str = "",
        client_cert: tuple[str, str] | None = None,
        pin: Callable[[Url], Awaitable[str]] | None = None,
    ) -> None:
        self._pin = pin
        self._proxies = dict(proxies or {})
        self._ca_bundle = ca_bundle
        self._client_cert = client_cert
        self._tls: Any = None
        self._idle: dict[tuple[str, str, int], list[_Connection]] = {}
        self._live: set[_Connection] = set()
        self._proxied: dict[str, Proxy] = {}

    def warm(self, url: Url) -> None:
        """Read the certificates before they are needed; 20 ms, and only for https."""
        if url.scheme == "https":
            self._context()

    async def send(
        self, url: Url, target: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> Response:
        """POST `body`; a reused connection that dies before its first byte is replaced once, silently.

        Raises:
            ProviderError: no answer.
        """
        return await self.request("POST", url, target, headers, body, timeouts)

    async def get(self, url: Url, target: str, headers: Headers, timeouts: Timeouts) -> Response:
        """GET, for small questions to servers: which models, how large a window.

        Raises:
            ProviderError: no answer.
        """
        return await self.request("GET", url, target, headers, b"", timeouts)

    async def request(
        self, method: str, url: Url, target: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> Response:
        """Any request; see `send`.

        Raises:
            ProviderError: no answer.
        """
        proxy = proxy_for(url, self._proxies)
        if proxy:
            return await self._through(proxy).request(method, url, target, headers, body, timeouts)
        try:
            head = h11.Request(method=method, target=target, headers=headers)
        except h11.LocalProtocolError:
            raise RequestError("a header of the request holds characters that headers cannot") from None
        connection = self._take(url)
        if connection is not None:
            try:
                return await self._exchange(connection, head, body, timeouts)
            except _Stale:
                pass
        connection = await self._connect(url, timeouts)
        try:
            return await self._exchange(connection, head, body, timeouts)
        except _Stale:
            raise ConnectError(f"{url.authority} closed the connection without an answer") from None

    async def aclose(self) -> None:
        """Close every connection, those in use too."""
        for connection in tuple(self._live):
            connection.close()
        self._idle.clear()
        for proxy in self._proxied.values():
            await proxy.aclose()
        self._proxied.clear()

    def _through(self, proxy: str) -> Proxy:
        found = self._proxied.get(proxy)
        if found is None:
            from wisp.providers.proxied import Proxy

            found = self._proxied[proxy] = Proxy(proxy, self._context())
        return found

    def _take(self, url: Url) -> _Connection | None:
        waiting = self._idle.get((url.scheme, url.host, url.port), [])
        while waiting:
            connection = waiting.pop()
            if connection.reusable():
                connection.in_use()
                return connection
            connection.close()
        return None

    def _keep(self, connection: _Connection) -> None:
        waiting = self._idle.setdefault(connection.key, [])
        if len(waiting) >= MAX_IDLE:
            waiting.pop(0).close()
        waiting.append(connection)
        connection.expire(IDLE_EXPIRY, waiting)

    async def _connect(self, url: Url, timeouts: Timeouts) -> _Connection:
        tls = self._context() if url.scheme == "https" else None
        try:
            async with asyncio.timeout(timeouts.connect):
                host = url.host if self._pin is None else await self._pin(url)
                reader, writer = await asyncio.open_connection(
                    host,
                    url.port,
                    ssl=tls,
                    server_hostname=url.host if tls is not None else None,
                    happy_eyeballs_delay=0.25,
                    limit=4 * READ,
                )
        except TimeoutError:
            raise ConnectError(f"no connection to {url.authority} within {timeouts.connect:g} s") from None
        except OSError as exc:
            raise _connect_error(url, exc) from None
        return _Connection((url.scheme, url.host, url.port), reader, writer, self._live)

    async def _exchange(
        self, connection: _Connection, head: h11.Request, body: bytes, timeouts: Timeouts
    ) -> Response:
        try:
            async with asyncio.timeout(timeouts.first_byte):
                answer = await connection.ask(head, body)
        except TimeoutError:
            connection.close()
            raise ConnectError(f"no answer within {timeouts.first_byte:g} s") from None
        except BaseException:
            connection.close()
            raise
        return _Direct(self._keep, connection, answer, timeouts)

    def _context(self) -> Any:
        if self._tls is None:
            import ssl

            place = self._ca_bundle
            try:
                context = ssl.create_default_context(cafile=place or None)
                context.set_alpn_protocols(["http/1.1"])
                if self._client_cert is not None:
                    place, key = self._client_cert
                    # a key with a passphrase is refused: nobody could be asked for it in the middle of a run
                    context.load_cert_chain(place, key or None, password=_no_passphrase)
            except (OSError, ValueError) as exc:  # an SSLError is an OSError
                raise RequestError(f"the certificates in {place} cannot be used: {reason_of(exc)}") from None
            self._tls = context
        return self._tls


class _Stale(Exception):
    """The connection was dead before the first byte of an answer."""


class _Connection:
    """One TCP connection and its protocol state."""

    def __init__(
        self,
        key: tuple[str, str, int],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        live: set[_Connection],
    ) -> None:
        self.key = key
        self._live = live
        live.add(self)
        self._reader = reader
        self._writer = writer
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        self._expiry: asyncio.TimerHandle | None = None

    async def ask(self, head: h11.Request, body: bytes) -> h11.Response:
        """Send a request; the head of its answer."""
        protocol = self._h11
        out = (
            protocol.send(head) or b"",
            protocol.send(h11.Data(data=body)) or b"",
            protocol.send(h11.EndOfMessage()) or b"",
        )
        try:
            self._writer.writelines(out)
            await self._writer.drain()
        except OSError:
            pass  # a server may refuse before it has read everything: its answer says why
        heard = False
        while True:
            try:
                event = protocol.next_event()
            except h11.RemoteProtocolError as exc:
                raise (WireError(f"the answer is not HTTP: {exc}") if heard else _Stale()) from None
            if isinstance(event, h11.Response):
                return event
            if event is h11.NEED_DATA:
                try:
                    data = await self._reader.read(READ)
                except OSError:
                    data = b""
                if not data and not heard:
                    raise _Stale
                heard = True
                protocol.receive_data(data)
            elif not isinstance(event, h11.InformationalResponse):
                raise WireError("the answer ended before its head")

    async def body(self) -> bytes:
        """The next bytes of the body; empty at its end."""
        protocol = self._h11
        pieces: list[bytes] = []
        while pieces or protocol.their_state not in _ENDED:
            try:
                event = protocol.next_event()
            except h11.RemoteProtocolError as exc:
                if pieces:
                    break  # raised again by the next call
                raise Broken(str(exc)) from None
            if isinstance(event, h11.Data):
                pieces.append(bytes(event.data))
            elif event is h11.NEED_DATA:
                if pieces:
                    return b"".join(pieces)
                protocol.receive_data(await self._reader.read(READ))
            else:
                break
        return b"".join(pieces)

    @property
    def over(self) -> bool:
        """Both sides of the exchange are done."""
        return self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE

    def renew(self) -> bool:
        """Make ready for the next request; False where the connection has to go."""
        if not self.over or self._writer.transport.is_closing() or self._reader.at_eof():
            return False
        self._h11.start_next_cycle()
        return not self._h11.trailing_data[0]

    def reusable(self) -> bool:
        """Nothing has happened to it while it waited."""
        return not (self._writer.transport.is_closing() or self._reader.at_eof())

    def in_use(self) -> None:
        """No longer waiting."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def expire(self, seconds: float, waiting: list[_Connection]) -> None:
        """Close it after `seconds`, unless it is used before."""
        self._expiry = asyncio.get_running_loop().call_later(seconds, self._expired, waiting)

    def _expired(self, waiting: list[_Connection]) -> None:
        if self in waiting:
            waiting.remove(self)
        self.close()

    def close(self) -> None:
        """Close now, without waiting for anything."""
        self.in_use()
        self._live.discard(self)
        self._writer.transport.abort()


class _Direct(Body):
    """A response over our own connection."""

    def __init__(self, keep: Any, connection: _Connection, head: h11.Response, timeouts: Timeouts) -> None:
        self._keep = keep
        self._connection: _Connection | None = connection
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        super().__init__(head.status_code, headers, timeouts)

    async def _next(self) -> bytes:
        return await self._connection.body() if self._connection is not None else b""

    async def finish(self) -> None:
        """Keep the connection where the rest of the body is already here or comes at once."""
        connection = self._connection
        if connection is None:
            return
        if not connection.over:
            with contextlib.suppress(TimeoutError, ProviderError):
                async with asyncio.timeout(0.1):
                    while await self._raw():
                        pass
        if self._connection is not None and connection.renew():
            self._limits.stop()
            self._connection = None
            self._keep(connection)
        else:
            self.abort()

    def abort(self) -> None:
        """Close the connection now."""
        self._limits.stop()
        if self._connection is not None:
            self._connection.close()
            self._over = not self._limits.broken
            self._connection = None


def _no_passphrase() -> bytes:
    raise ValueError("the key needs a passphrase, which wisp does not ask for")


def _connect_error(url: Url, exc: OSError) -> ConnectError:
    name = type(exc).__name__
    if name == "gaierror":
        return ConnectError(f"no such host: {url.host}")
    if name == "SSLCertVerificationError":
        error = ConnectError(f"the certificate of {url.authority} is not trusted: {reason_of(exc)}")
        error.retryable = False
        return error
    if isinstance(exc, ConnectionRefusedError):
        return ConnectError(
            f"no connection to {url.authority}: nothing listens there; is the server running?"
        )
    return ConnectError(f"no connection to {url.authority}: {reason_of(exc)}")
