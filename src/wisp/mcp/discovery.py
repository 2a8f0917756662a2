"""Who may authorise requests to a server, read from what server and authorization server publish.  Pure.

RFC 9728 (protected resources), RFC 8414 and OpenID Connect discovery (authorization servers), RFC 6750
(challenges).  Everything here was said by somebody who is not trusted: addresses are https or on this
machine, a resource is the server that was asked, an issuer is who it says it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from wisp.providers.oauth import OAuthError, check_address

_PARAMETER = re.compile(r'([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))')


class Challenge(msgspec.Struct, frozen=True):
    """What a `WWW-Authenticate` says of a bearer token."""

    metadata: str = ""
    scope: str = ""
    error: str = ""


class Issuer(msgspec.Struct, frozen=True):
    """One authorization server."""

    name: str
    authorization_url: str
    token_url: str
    registration_url: str = ""
    scopes: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    """How clients may show themselves at the token endpoint."""
    takes_documents: bool = False
    """A client may be known by the address of a document about it."""
    names_itself: bool = False
    """Its answers say who gives them (RFC 9207)."""


class Resource(msgspec.Struct, frozen=True):
    """One server as a protected resource."""

    name: str
    issuers: tuple[str, ...]
    scopes: tuple[str, ...] = ()


def challenge_of(header: str) -> Challenge:
    """The challenge in a header; empty where it has none for bearer tokens."""
    _, found, rest = header.partition("Bearer")
    if not found:
        return Challenge()
    said = {name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(rest)}
    return Challenge(said.get("resource_metadata", ""), said.get("scope", ""), said.get("error", ""))


def resource_addresses(server: str, stated: str) -> list[str]:
    """Where a server may publish who authorises it, in the order to be tried; only at itself."""
    parts = urlsplit(server)
    origin = f"{parts.scheme}://{parts.netloc}"
    if stated:
        if not stated.startswith(origin + "/"):
            raise OAuthError(f"the server wants its metadata read elsewhere, from {stated[:200]!r}")
        return [stated]
    known = f"{origin}/.well-known/oauth-protected-resource"
    path = parts.path.rstrip("/")
    return [known + path, known] if path else [known]


def read_resource(server: str, body: bytes) -> Resource:
    """The resource in a document.

    Raises:
        OAuthError: it is of another server, or names nobody.
    """
    found = _object(body)
    name = _text(found, "resource")
    if not name or not (_slash(server)).startswith(_slash(name)):
        raise OAuthError(f"the metadata are of another resource: {name[:200]!r}")
    issuers = _texts(found, "authorization_servers")
    if not issuers:
        raise OAuthError("the metadata name no authorization server")
    return Resource(name, issuers, _texts(found, "scopes_supported"))


def issuer_addresses(issuer: str) -> list[str]:
    """Where an issuer may publish its addresses, in the order to be tried."""
    check_address(issuer)
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    found = [
        f"{origin}/.well-known/{kind}{path}"
        for kind in ("oauth-authorization-server", "openid-configuration")
    ]
    return [*found, f"{origin}{path}/.well-known/openid-configuration"] if path else found


def read_issuer(issuer: str, body: bytes) -> Issuer:
    """The authorization server in a document.

    Raises:
        OAuthError: it is of another, lacks what is needed, or an address is not safe.
    """
    found = _object(body)
    if _text(found, "issuer") != issuer:
        raise OAuthError(
            f"the metadata of {issuer[:200]!r} name another issuer: {_text(found, 'issuer')[:200]!r}"
        )
    if "S256" not in _texts(found, "code_challenge_methods_supported"):
        raise OAuthError(f"{issuer[:200]!r} does not offer PKCE with S256")
    made = Issuer(
        issuer,
        _text(found, "authorization_endpoint"),
        _text(found, "token_endpoint"),
        _text(found, "registration_endpoint"),
        _texts(found, "scopes_supported"),
        _texts(found, "token_endpoint_auth_methods_supported"),
        found.get("client_id_metadata_document_supported") is True,
        found.get("authorization_response_iss_parameter_supported") is True,
    )
    return safe(made)


def usual_issuer(server: str) -> Issuer:
    """Where revision 2025-03-26 expects what a server publishes nothing of."""
    parts = urlsplit(server)
    origin = f"{parts.scheme}://{parts.netloc}"
    return safe(Issuer(origin, f"{origin}/authorize", f"{origin}/token", f"{origin}/register"))


def safe(issuer: Issuer) -> Issuer:
    """`issuer`, if its addresses may be opened and sent credentials.

    Raises:
        OAuthError: one is missing, or is neither https nor on this machine.
    """
    if not issuer.authorization_url or not issuer.token_url:
        raise OAuthError(f"{issuer.name[:200]!r} offers no login: it names no endpoints")
    for address in (issuer.authorization_url, issuer.token_url, issuer.registration_url):
        if address:
            check_address(address)
    return issuer


def _slash(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/"


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) and value.isprintable() else ""


def _texts(found: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = found.get(name)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
