"""Logging in to a server: who authorises it, becoming known there, a person's consent, tokens.

OAuth 2.1 as the protocol's authorization chapter has it.  Tokens are sent to nobody but the server they were
given for, and client and tokens belong to one issuer.  Opens no connection and keeps nothing itself.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol
from urllib.parse import quote, urlencode

import msgspec

from wisp.mcp.discovery import (
    Challenge,
    Issuer,
    Resource,
    challenge_of,
    issuer_addresses,
    read_issuer,
    read_resource,
    resource_addresses,
    usual_issuer,
)
from wisp.mcp.ports import Lost, Web
from wisp.providers.oauth import FORM_HEADERS, OAuthError, Token, expired, new_challenge, read_token

MOST_ANSWER = 1 << 20
OFFLINE = "offline_access"


class Registered(msgspec.Struct, frozen=True):
    """What an issuer knows wisp as."""

    issuer: str
    client_id: str
    client_secret: str = ""
    method: str = "none"
    port: int = 0
    """Of the callback that was registered."""


class Kept(msgspec.Struct, frozen=True):
    """What one login led to; as secret as a password."""

    registered: Registered | None = None
    access: str = ""
    refresh: str = ""
    expires_at: float | None = None
    scope: str = ""

    def __repr__(self) -> str:
        return f"Kept(scope={self.scope!r})"


class Store(Protocol):
    """Keeps what logins led to, one for each server."""

    def load(self) -> Kept:
        """What is kept; empty where nothing is."""
        ...

    def save(self, kept: Kept) -> None:
        """Keep it."""
        ...


class Asked(Protocol):
    """A question to a person that waits for its answer."""

    redirect: str
    """Where the browser is sent back to."""

    async def agreed(self, address: str) -> tuple[str, str]:
        """Show the address; the code of the answer, and who it says it is from (empty for nothing)."""
        ...


class Consent(Protocol):
    """Can ask a person to agree in a browser."""

    def asking(self, state: str, port: int) -> AbstractAsyncContextManager[Asked]:
        """Be ready for the answer that carries `state`, on that port where it is not 0."""
        ...


class Client(msgspec.Struct, frozen=True):
    """How wisp is known without registering; empty for registering by itself."""

    client_id: str = ""
    client_secret: str = ""
    document: str = ""
    """The address of a document about this client."""
    scopes: tuple[str, ...] = ()


class OAuth:
    """Implements `ports.Authorizer` for one server.

    Args:
        address: the server's.
        consent: None where nobody can be asked: then only a login that is kept is used.
        hint: what to do where a login is missing, for people.
        now: seconds since 1970.
    """

    def __init__(
        self,
        address: str,
        web: Web,
        store: Store,
        consent: Consent | None,
        now: Callable[[], float],
        client: Client | None = None,
        hint: str = "",
    ) -> None:
        self._address, self._web, self._store, self._consent = address, web, store, consent
        self._now, self._client, self._hint = now, client or Client(), hint
        self._kept = store.load()
        self._lock = asyncio.Lock()
        self._resource = ""

    async def header(self) -> str:
        """See `ports.Authorizer`; a token that ends soon is renewed first."""
        async with self._lock:
            if self._kept.refresh and expired(self._kept.expires_at, self._now()):
                await self._renewed()
            return f"Bearer {self._kept.access}" if self._kept.access else ""

    async def challenged(self, status: int, challenge: str) -> bool:
        """See `ports.Authorizer`."""
        before = self._kept.access
        async with self._lock:
            if self._kept.access != before:
                return True  # another request was here first
            said = challenge_of(challenge)
            try:
                if status == 403 and said.error != "insufficient_scope":
                    return False
                resource, issuer = await self._discover(said)
                kept = self._kept.registered
                if kept is not None and kept.issuer != issuer.name:
                    self._keep(Kept())  # another issuer: nothing of the old one is shown to it
                if status == 401 and self._kept.refresh and await self._renewed(issuer):
                    return True
                await self._log_in(said, resource, issuer)
            except OAuthError as exc:
                raise Lost(f"it wants a login: {exc.message}") from None
            return True

    # -- who authorises -----------------------------------------------------------------------------------

    async def _discover(self, said: Challenge) -> tuple[Resource, Issuer]:
        resource = None
        for address in resource_addresses(self._address, said.metadata):
            if (body := await self._document(address)) is not None:
                resource = read_resource(self._address, body)
                break
        if resource is None:
            usual = usual_issuer(self._address)
            body = await self._document(issuer_addresses(usual.name)[0])
            return Resource("", (usual.name,)), read_issuer(usual.name, body) if body is not None else usual
        self._resource = resource.name
        kept = self._kept.registered
        name = kept.issuer if kept is not None and kept.issuer in resource.issuers else resource.issuers[0]
        for address in issuer_addresses(name):
            if (body := await self._document(address)) is not None:
                return resource, read_issuer(name, body)
        raise OAuthError(f"{name[:200]!r} publishes no metadata")

    async def _document(self, address: str) -> bytes | None:
        status, body = await self._request("GET", address, {"accept": "application/json"})
        return body if status == 200 else None

    # -- becoming known -----------------------------------------------------------------------------------

    async def _known_as(self, issuer: Issuer, redirect: str, scopes: str) -> Registered:
        own, kept = self._client, self._kept.registered
        if own.client_id:
            return Registered(
                issuer.name, own.client_id, own.client_secret, _method(issuer, own.client_secret)
            )
        if own.document and issuer.takes_documents:
            return Registered(issuer.name, own.document)
        port = int(redirect.rsplit(":", 1)[1].partition("/")[0])
        if kept is not None and kept.issuer == issuer.name and kept.port == port:
            return kept
        if not issuer.registration_url:
            raise OAuthError(
                f"{issuer.name[:200]!r} lets no client register itself; state its oauth.client_id"
            )
        wanted = _method(issuer, "")
        asked = {
            "client_name": "Wisp",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": wanted,
            "application_type": "native",
            **({"scope": scopes} if scopes else {}),
        }
        headers = {"content-type": "application/json", "accept": "application/json"}
        status, body = await self._request(
            "POST", issuer.registration_url, headers, msgspec.json.encode(asked)
        )
        found = _answer(body)
        client_id, secret = found.get("client_id"), found.get("client_secret")
        if status not in (200, 201) or not isinstance(client_id, str) or not client_id:
            raise OAuthError(f"{issuer.name[:200]!r} does not register this client (HTTP {status})")
        secret = secret if isinstance(secret, str) else ""
        method = found.get("token_endpoint_auth_method")
        chosen = method if isinstance(method, str) else wanted
        return Registered(issuer.name, client_id, secret, chosen, port)

    # -- consent and tokens -------------------------------------------------------------------------------

    async def _log_in(self, said: Challenge, resource: Resource, issuer: Issuer) -> None:
        if self._consent is None:
            raise OAuthError(self._hint or "nobody can be asked here")
        scopes = self._scopes(said, resource, issuer)
        challenge = new_challenge(os.urandom(64))
        port = self._kept.registered.port if self._kept.registered is not None else 0
        async with self._consent.asking(challenge.state, port) as asked:
            known = await self._known_as(issuer, asked.redirect, scopes)
            fields = {
                "response_type": "code",
                "client_id": known.client_id,
                "redirect_uri": asked.redirect,
                "state": challenge.state,
                "code_challenge": challenge.digest,
                "code_challenge_method": "S256",
                **({"scope": scopes} if scopes else {}),
                **self._for_resource,
            }
            mark = "&" if "?" in issuer.authorization_url else "?"
            code, source = await asked.agreed(
                f"{issuer.authorization_url}{mark}{urlencode(fields, quote_via=quote)}"
            )
        if (source or issuer.names_itself) and source != issuer.name:
            raise OAuthError(f"the answer is from {source[:200]!r}, not from {issuer.name[:200]!r}")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": asked.redirect,
            "code_verifier": challenge.verifier,
            **self._for_resource,
        }
        self._take(known, await self._token(issuer, known, form), scopes)

    def _scopes(self, said: Challenge, resource: Resource, issuer: Issuer) -> str:
        """What is asked for: what the server wants now and what was given before, or all that it knows."""
        wanted = said.scope.split() or list(self._client.scopes or resource.scopes)
        if said.error == "insufficient_scope":
            wanted = [*self._kept.scope.split(), *wanted]
        if OFFLINE in issuer.scopes:
            wanted.append(OFFLINE)
        return " ".join(dict.fromkeys(wanted))

    @property
    def _for_resource(self) -> dict[str, str]:
        return {"resource": self._resource} if self._resource else {}

    async def _renewed(self, issuer: Issuer | None = None) -> bool:
        """Renew the token; False where that cannot be done, and then there is none any more."""
        known = self._kept.registered
        if known is None:
            return False
        try:
            if issuer is None:
                _, issuer = await self._discover(Challenge())
            if issuer.name != known.issuer:
                return False
            form = {"grant_type": "refresh_token", "refresh_token": self._kept.refresh, **self._for_resource}
            self._take(known, await self._token(issuer, known, form), self._kept.scope)
        except (OAuthError, Lost):
            self._keep(Kept(known, scope=self._kept.scope))
            return False
        return True

    async def _token(self, issuer: Issuer, known: Registered, form: Mapping[str, str]) -> Token:
        headers, sent = dict(FORM_HEADERS), dict(form)
        if known.client_secret and known.method == "client_secret_basic":
            pair = f"{quote(known.client_id, safe='')}:{quote(known.client_secret, safe='')}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"
        else:
            sent["client_id"] = known.client_id
            if known.client_secret and known.method == "client_secret_post":
                sent["client_secret"] = known.client_secret
        body = urlencode(sent, quote_via=quote).encode("ascii")
        status, answer = await self._request("POST", issuer.token_url, headers, body)
        before = Token(self._kept.access, self._kept.refresh, self._kept.expires_at, self._kept.scope)
        return read_token(status, answer, self._now(), before if "refresh_token" in form else None)

    def _take(self, known: Registered, token: Token, scopes: str) -> None:
        self._keep(Kept(known, token.access, token.refresh, token.expires_at, token.scope or scopes))

    def _keep(self, kept: Kept) -> None:
        self._kept = kept
        self._store.save(kept)

    async def _request(
        self, method: str, address: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, bytes]:
        response = await self._web.request(method, address, headers, body)
        data = bytearray()
        while len(data) < MOST_ANSWER and (piece := await response.read()):
            data += piece
        await response.finish()
        return response.status, bytes(data)


def _method(issuer: Issuer, secret: str) -> str:
    """How wisp shows itself at the token endpoint: without a secret where that is possible."""
    offered = issuer.secrets or ("client_secret_basic" if secret else "none",)
    wanted = (
        ("client_secret_basic", "client_secret_post")
        if secret
        else ("none", "client_secret_basic", "client_secret_post")
    )
    return next((method for method in wanted if method in offered), "none")


def _answer(body: bytes) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
