"""Driving a login that a provider offers over OAuth.

Listens on loopback only while a login is in progress, for one answer to one question.  The protocol
itself is `providers.oauth`; keeping and renewing tokens is `host.renewal`.  Imported only when used.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping

from wisp.host.choosing import http_transport
from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.credentials import CredentialFile, Stored
from wisp.host.models import ConfigError, Service, services
from wisp.host.settings import OAuthSettings
from wisp.messages.ids import Clock
from wisp.providers import oauth
from wisp.providers.address import parse_url
from wisp.providers.endpoint import Timeouts
from wisp.providers.errors import ProviderError
from wisp.providers.http import HttpTransport
from wisp.providers.oauth import DeviceCode, OAuthClient, OAuthError, Token
from wisp.providers.transport import Response

PATIENCE = 600.0
"""Seconds a person has to agree in the browser."""
MAX_ANSWER = 256 * 1024
_TIMEOUTS = Timeouts(connect=10.0, first_byte=30.0, idle=30.0, progress=60.0)
_PAGE = "<!doctype html><meta charset=utf-8><title>wisp</title><p>{}</p>"

_GOODBYE = 15.0
"""Seconds a logout waits for the server."""
_UNTOLD = "the service itself was not told"

Sleep = Callable[[float], Awaitable[object]]


class Server:
    """One authorization server, over the network.

    Args:
        transport: carries the requests; closed by its owner.
        settings: the provider's `[providers.NAME.oauth]` table.
    """

    def __init__(self, transport: HttpTransport, settings: OAuthSettings, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock
        self._issuer = settings.issuer
        self._client = OAuthClient(
            settings.client_id,
            settings.token_url,
            settings.authorization_url,
            settings.device_url,
            settings.revocation_url,
            settings.scopes,
        )
        self._port = settings.redirect_port
        self._ready = False

    async def client(self) -> OAuthClient:
        """The client with every address it needs.

        Raises:
            ProviderError: one is missing or unsafe, or the issuer does not answer.
        """
        client = self._client
        if not self._ready:
            if self._issuer and not (client.token_url and client.authorization_url and client.device_url):
                status, body = await self._get(oauth.metadata_path(self._issuer))
                client = oauth.read_metadata(client, self._issuer, status, body)
            self._client, self._ready = oauth.checked(client), True
        return self._client

    async def by_browser(self, show: Callable[[str], None], patience: float = PATIENCE) -> Token:
        """Have a person agree in a browser on this machine.

        Args:
            show: takes the address to open.

        Raises:
            ProviderError: denied, too late, or the server does not answer.
        """
        client = await self.client()
        if not client.authorization_url:
            raise OAuthError("this provider has no authorization_url; log in with --device")
        challenge = oauth.new_challenge(os.urandom(64))
        callback = Callback(challenge.state)
        redirect = await callback.open(self._port)
        try:
            show(oauth.authorization_address(client, challenge, redirect))
            async with asyncio.timeout(patience):
                code = await callback.code
        except TimeoutError:
            raise OAuthError(f"nobody agreed within {patience:g} s; begin again") from None
        finally:
            await callback.close()
        form = oauth.code_form(client, code, challenge, redirect)
        return oauth.read_token(*await self._post(client.token_url, form), self._clock.now())

    async def by_device(self, show: Callable[[DeviceCode], None], sleep: Sleep = asyncio.sleep) -> Token:
        """Have a person agree on any device: show a code, ask until it was entered.

        Raises:
            ProviderError: denied, too late, or the server does not answer.
        """
        client = await self.client()
        if not client.device_url:
            raise OAuthError("this provider has no device_url; log in without --device")
        code = oauth.read_device(*await self._post(client.device_url, oauth.device_form(client)))
        show(code)
        ends, interval = self._clock.monotonic() + code.expires_in, code.interval
        while self._clock.monotonic() + interval < ends:
            await sleep(interval)
            try:
                status, body = await self._post(client.token_url, oauth.poll_form(client, code))
                return oauth.read_token(status, body, self._clock.now())
            except OAuthError as exc:
                following = oauth.next_interval(exc, interval)
                if following is None:
                    raise
                interval = following
            except ProviderError as exc:
                if not exc.retryable:
                    raise
                interval *= 2  # RFC 8628: on a connection time-out, ask less often
        raise OAuthError("the code ran out before somebody agreed; begin again", "expired_token")

    async def renew(self, before: Token) -> Token:
        """A new token for an old one.

        Raises:
            ProviderError: the server refuses, or does not answer.
        """
        client = await self.client()
        form = oauth.refresh_form(client, before.refresh)
        return oauth.read_token(*await self._post(client.token_url, form), self._clock.now(), before)

    async def revoke(self, token: Token) -> bool:
        """Tell the server that a login is over; False where it offers no way to.

        Raises:
            ProviderError: the server refuses, or does not answer.
        """
        client = self._client
        if self._issuer and not client.revocation_url:
            status, body = await self._get(oauth.metadata_path(self._issuer))
            client = oauth.read_metadata(client, self._issuer, status, body)
        address = oauth.revocation_address(client)
        if not address:
            return False
        for form in oauth.revocation_forms(client, token):
            oauth.read_revocation(*await self._post(address, form))
        return True

    async def _post(self, address: str, form: bytes) -> tuple[int, bytes]:
        url = parse_url(address)
        headers = [("host", url.authority), *oauth.FORM_HEADERS, ("content-length", str(len(form)))]
        return await whole(await self._transport.send(url, url.path or "/", headers, form, _TIMEOUTS))

    async def _get(self, address: str) -> tuple[int, bytes]:
        url = parse_url(address)
        headers = [("host", url.authority), ("accept", "application/json"), ("accept-encoding", "identity")]
        return await whole(await self._transport.get(url, url.path or "/", headers, _TIMEOUTS))


async def whole(answer: Response) -> tuple[int, bytes]:
    """Status and body of a small answer; what is too long for one is cut and will not parse."""
    pieces, size = [], 0
    while size < MAX_ANSWER and (piece := await answer.read()):
        pieces.append(piece)
        size += len(piece)
    if size < MAX_ANSWER:
        await answer.finish()
    else:
        answer.abort()
    return answer.status, b"".join(pieces)


class Callback:
    """A listener on 127.0.0.1 that waits for the one request which answers our question.

    Whatever else arrives is refused and changes nothing: any page in the person's browser can send
    requests here, but none knows the state.
    """

    def __init__(self, state: str) -> None:
        self._state = state
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.issuer = ""
        """Who the answer says it is from (RFC 9207)."""
        self.code: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open(self, port: int) -> str:
        """Listen; the address to be redirected to."""
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=16 * 1024)
        except OSError as exc:
            raise OAuthError(
                f"the callback cannot listen on 127.0.0.1:{port}: {exc.strerror or exc}"
            ) from None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/callback"

    async def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
        for writer in tuple(self._writers):
            writer.close()
        if not self.code.done():
            self.code.cancel()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            async with asyncio.timeout(10.0):
                head = await reader.readuntil(b"\r\n\r\n")
                status, text = self._answer(head.decode("latin-1").partition("\r\n")[0])
                page = _PAGE.format(text).encode()
                writer.write(
                    f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\n"
                    f"referrer-policy: no-referrer\r\ncontent-length: {len(page)}\r\n\r\n".encode()
                    + page
                )
                await writer.drain()
        except (OSError, EOFError, ValueError, TimeoutError, asyncio.LimitOverrunError):
            pass  # not a browser that answers; the login goes on waiting
        finally:
            self._writers.discard(writer)
            writer.close()

    def _answer(self, line: str) -> tuple[str, str]:
        method, _, rest = line.partition(" ")
        target = rest.partition(" ")[0]
        path, _, query = target.partition("?")
        if path != "/callback":
            return "404 Not Found", "There is nothing here."
        if method != "GET":
            return "405 Method Not Allowed", "There is nothing here."
        if self.code.done():
            return "410 Gone", "This login is over."
        try:
            code = oauth.read_callback(query, self._state)
        except OAuthError as exc:
            self.code.set_exception(exc)
            return "200 OK", "The login was refused. You can close this page."
        if code is None:
            return "400 Bad Request", "This is not the answer wisp waits for."
        self.issuer = oauth.callback_issuer(query)
        self.code.set_result(code)
        return "200 OK", "You are logged in. You can close this page and go back to the terminal."


def stored_from(token: Token) -> Stored:
    """A token as it is kept."""
    return Stored("oauth", token.access, token.refresh, token.expires_at, token.scope)


def revoke(service: Service, stored: Stored, env: Mapping[str, str], clock: Clock) -> str:
    """Tell the server of a login that was just forgotten; what came of it, for a person.  Raises nothing that
    is expected: the login is forgotten here whatever the server says."""

    async def told() -> bool:
        transport = http_transport(env, service)
        try:
            async with asyncio.timeout(_GOODBYE):
                server = Server(transport, service.oauth or OAuthSettings(), clock)
                return await server.revoke(Token(stored.secret, stored.refresh))
        finally:
            await transport.aclose()

    try:
        if asyncio.run(told()):
            return "the service was told and no longer accepts it"
    except TimeoutError:
        return f"the service was not told: no answer within {_GOODBYE:g} s"
    except (ProviderError, ConfigError) as exc:
        return f"the service was not told: {exc}"
    return _UNTOLD


def log_in(
    configured: Configured,
    env: Mapping[str, str],
    clock: Clock,
    provider: str,
    show: Callable[[str], None],
    *,
    device: bool,
) -> str:
    """A whole login at a person's terminal; says where the token is kept.

    Args:
        show: takes what the person has to do.

    Raises:
        OpenFailed: it did not come about.
    """
    service = services(configured.settings, env).get(provider)
    if service is None or service.oauth is None:
        raise OpenFailed(f"there is no [providers.{provider}.oauth] in the settings", 2)
    settings = service.oauth
    file = CredentialFile(configured.paths.credentials_file)

    def browser(address: str) -> None:
        show(f"Open this address in a browser on this machine, and agree there:\n\n  {address}\n")

    def code(found: DeviceCode) -> None:
        short = f"  (or open {found.complete_url})" if found.complete_url else ""
        show(f"Open {found.verification_url} on any device and enter the code {found.user_code}{short}")

    async def whole_login() -> Token:
        transport = http_transport(env, service)
        server = Server(transport, settings, clock)
        try:
            client = await server.client()
            if device or not client.authorization_url:
                return await server.by_device(code)
            return await server.by_browser(browser)
        finally:
            await transport.aclose()

    try:
        file.put(provider, stored_from(asyncio.run(whole_login())))
    except ProviderError as exc:
        raise OpenFailed(exc.message) from None
    except ConfigError as exc:
        raise OpenFailed(str(exc)) from None
    except OSError as exc:
        raise OpenFailed(f"{file.path}: {exc.strerror or exc}") from None
    return f"logged in to {provider}; the token is in {file.path}"
