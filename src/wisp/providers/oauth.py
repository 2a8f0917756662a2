"""OAuth 2 as a client, the protocol alone: what to send, what an answer means.  Pure.

Authorization code with PKCE and a loopback callback (RFC 6749, 7636, 8252), the device grant (RFC 8628),
refreshing with rotation, revocation (RFC 7009), and where a server publishes its addresses (RFC 8414).
Opens no connection, reads no clock, stores nothing: `host.login` does.  Imported only for a login and to
renew or end one.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import msgspec

from wisp.providers.address import is_loopback, parse_url
from wisp.providers.errors import ProviderError

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SLOWER = 5.0
"""Seconds added to the interval of a device login at each `slow_down`, as RFC 8628 says."""
EARLY = 60.0
"""Seconds before its end from which an access token counts as expired."""
_SPOKEN = 200


class OAuthError(ProviderError):
    """The login failed; the message names the server's reason and never holds a credential.

    Args:
        code: the server's error code, for instance `access_denied`; empty where it gave none.
    """

    kind = "auth"

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class OAuthClient(msgspec.Struct, frozen=True):
    """One registered client of one authorization server."""

    client_id: str
    token_url: str
    authorization_url: str = ""
    device_url: str = ""
    revocation_url: str = ""
    scopes: tuple[str, ...] = ()


class Token(msgspec.Struct, frozen=True):
    """What a login gives; shows itself to nobody."""

    access: str
    refresh: str = ""
    expires_at: float | None = None
    scope: str = ""

    def __repr__(self) -> str:
        return f"Token(expires_at={self.expires_at!r})"


class DeviceCode(msgspec.Struct, frozen=True):
    """A device login that waits for a person."""

    device_code: str
    user_code: str
    verification_url: str
    complete_url: str
    """The address with the code in it, where the server gives one."""
    expires_in: float
    interval: float

    def __repr__(self) -> str:
        return f"DeviceCode(user_code={self.user_code!r})"


def checked(client: OAuthClient) -> OAuthClient:
    """`client`, if its addresses may be sent credentials.

    Raises:
        OAuthError: one is missing, or is neither https nor on this machine.
    """
    if not client.client_id:
        raise OAuthError("the login needs a client_id in [providers.NAME.oauth]")
    if not client.token_url or not (client.authorization_url or client.device_url):
        raise OAuthError(
            "the login needs token_url, and authorization_url or device_url, in [providers.NAME.oauth]"
        )
    for address in (client.token_url, client.authorization_url, client.device_url):
        if address:
            check_address(address)
    return client


def check_address(address: str) -> None:
    """Whether an address may be opened or sent credentials.

    Raises:
        OAuthError: it is neither https nor on this machine.
    """
    try:
        url = parse_url(address)
    except ProviderError:
        raise OAuthError(f"{address[:_SPOKEN]!r} is not an address") from None
    if url.scheme != "https" and not is_loopback(url.host):
        raise OAuthError(f"{url} is not https: a login would be readable on the way")


# -- addresses that a server publishes --------------------------------------------------------------------


def metadata_path(issuer: str) -> str:
    """The address of an issuer's metadata: the well-known part goes before the issuer's own path."""
    check_address(issuer)
    url = parse_url(issuer)
    return f"{url.scheme}://{url.authority}/.well-known/oauth-authorization-server{url.path}"


def read_metadata(client: OAuthClient, issuer: str, status: int, body: bytes) -> OAuthClient:
    """`client` with the addresses it lacks.

    Raises:
        OAuthError: no metadata, or those of somebody else.
    """
    found = _object(body)
    if status != 200 or not found:
        raise OAuthError(f"{issuer} publishes no metadata (HTTP {status})")
    if str(found.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
        raise OAuthError("the metadata name another issuer")
    return msgspec.structs.replace(
        client,
        token_url=client.token_url or _text(found, "token_endpoint"),
        authorization_url=client.authorization_url or _text(found, "authorization_endpoint"),
        device_url=client.device_url or _text(found, "device_authorization_endpoint"),
        revocation_url=client.revocation_url or _text(found, "revocation_endpoint"),
    )


# -- authorization code -----------------------------------------------------------------------------------


class Challenge(msgspec.Struct, frozen=True):
    """What ties an answer to the question: both parts are random and used once."""

    state: str
    verifier: str

    @property
    def digest(self) -> str:
        """The S256 challenge of RFC 7636."""
        return _base64(hashlib.sha256(self.verifier.encode("ascii")).digest())


def new_challenge(randomness: bytes) -> Challenge:
    """A challenge from at least 64 random bytes."""
    if len(randomness) < 64:
        raise ValueError("a challenge needs 64 random bytes")
    return Challenge(_base64(randomness[:32]), _base64(randomness[32:]))


def authorization_address(client: OAuthClient, challenge: Challenge, redirect: str) -> str:
    """Where the person is sent."""
    fields = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect,
        "state": challenge.state,
        "code_challenge": challenge.digest,
        "code_challenge_method": "S256",
    }
    if client.scopes:
        fields["scope"] = " ".join(client.scopes)
    mark = "&" if "?" in client.authorization_url else "?"
    return client.authorization_url + mark + urlencode(fields, quote_via=quote)


def read_callback(query: str, state: str) -> str | None:
    """The code in a callback's query; None where the callback is not the answer to our question.

    Raises:
        OAuthError: the answer is no.
    """
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return None
    found = dict(pairs)
    if len(found) != len(pairs) or not _same(found.get("state", ""), state):
        return None
    if "error" in found:
        raise _refused(found)
    return found.get("code") or None


def callback_issuer(query: str) -> str:
    """Who a callback that `read_callback` took says it is from (RFC 9207); empty where it says nothing."""
    return dict(parse_qsl(query, keep_blank_values=True, max_num_fields=50)).get("iss", "")


def code_form(client: OAuthClient, code: str, challenge: Challenge, redirect: str) -> bytes:
    """The request that turns a code into a token."""
    return _form(
        grant_type="authorization_code",
        code=code,
        redirect_uri=redirect,
        client_id=client.client_id,
        code_verifier=challenge.verifier,
    )


# -- device grant -----------------------------------------------------------------------------------------


def device_form(client: OAuthClient) -> bytes:
    """The request that begins a device login."""
    scope = {"scope": " ".join(client.scopes)} if client.scopes else {}
    return _form(client_id=client.client_id, **scope)


def read_device(status: int, body: bytes) -> DeviceCode:
    """The answer to it.

    Raises:
        OAuthError: there is no device login here.
    """
    found = _object(body)
    code = DeviceCode(
        _text(found, "device_code"),
        _text(found, "user_code"),
        _text(found, "verification_uri") or _text(found, "verification_url"),
        _text(found, "verification_uri_complete"),
        _number(found, "expires_in") or 900.0,
        max(_number(found, "interval") or 5.0, 1.0),
    )
    if status != 200 or not (code.device_code and code.user_code and code.verification_url):
        raise _refused(found, status)
    return code


def poll_form(client: OAuthClient, code: DeviceCode) -> bytes:
    """The request that asks whether the person has agreed."""
    return _form(grant_type=DEVICE_GRANT, device_code=code.device_code, client_id=client.client_id)


def next_interval(error: OAuthError, interval: float) -> float | None:
    """Seconds until the next poll; None where `error` is final."""
    if error.code == "authorization_pending":
        return interval
    return interval + SLOWER if error.code == "slow_down" else None


# -- tokens -----------------------------------------------------------------------------------------------


def refresh_form(client: OAuthClient, refresh: str) -> bytes:
    """The request that renews a token."""
    return _form(grant_type="refresh_token", refresh_token=refresh, client_id=client.client_id)


def read_token(status: int, body: bytes, now: float, before: Token | None = None) -> Token:
    """The token in an answer of the token endpoint.

    Args:
        before: the token that was renewed; what the answer leaves out stays as it was.

    Raises:
        OAuthError: there is none; `code` says why.
    """
    found = _object(body)
    access = _text(found, "access_token")
    kind = _text(found, "token_type").lower()
    if status != 200 or not access:
        raise _refused(found, status)
    if kind not in ("", "bearer"):
        raise OAuthError(f"the server gave a token of type {kind[:40]!r}, which wisp cannot use")
    if not access.isascii() or not access.isprintable() or " " in access:
        raise OAuthError("the server gave a token that no header can hold")
    lives = _number(found, "expires_in")
    return Token(
        access,
        _text(found, "refresh_token") or (before.refresh if before else ""),
        None if lives is None else now + max(lives, 0.0),
        _text(found, "scope") or (before.scope if before else ""),
    )


def revocation_address(client: OAuthClient) -> str:
    """Where tokens are revoked; empty where the server offers no such place.

    Raises:
        OAuthError: it is neither https nor on this machine.
    """
    if client.revocation_url:
        check_address(client.revocation_url)
    return client.revocation_url


def revocation_forms(client: OAuthClient, token: Token) -> list[bytes]:
    """The requests that end a login: the refresh token first, without which there is no new access token."""
    tokens = (("refresh_token", token.refresh), ("access_token", token.access))
    return [
        _form(token=value, token_type_hint=hint, client_id=client.client_id)
        for hint, value in tokens
        if value
    ]


def read_revocation(status: int, body: bytes) -> None:
    """The answer to one of them; a token that the server does not know is as good as revoked.

    Raises:
        OAuthError: the token may still be good.
    """
    if status != 200:
        raise _refused(_object(body), status, "the token was not revoked")


def expired(expires_at: float | None, now: float) -> bool:
    """Whether a token ends so soon that a request might outlive it."""
    return expires_at is not None and now >= expires_at - EARLY


# -- small things -----------------------------------------------------------------------------------------


def _refused(found: Mapping[str, Any], status: int = 0, what: str = "the login failed") -> OAuthError:
    code = _plain(_text(found, "error"))
    said = _plain(_text(found, "error_description"))
    known = _REASONS.get(code)
    where = f" (HTTP {status})" if status and not code else ""
    reason = known or said or code or "the answer is not what an authorization server says"
    more = f": {said}" if known and said else ""
    return OAuthError(f"{what}{where}: {reason}{more}", code)


_REASONS = {
    "access_denied": "it was denied",
    "expired_token": "the code ran out before somebody agreed; begin again",
    "invalid_grant": "the server no longer accepts it; log in again",
    "invalid_client": "the server does not know this client_id",
    "authorization_pending": "nobody has agreed yet",
    "slow_down": "we ask too often",
}


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value.strip() if isinstance(value, str) else ""


def _number(found: Mapping[str, Any], name: str) -> float | None:
    value = found.get(name)
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return float(value[:12])
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e12 else None


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)[:_SPOKEN]


def _form(**fields: str) -> bytes:
    return urlencode(fields, quote_via=quote).encode("ascii")


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _same(a: str, b: str) -> bool:
    import hmac

    return hmac.compare_digest(a.encode(), b.encode())


FORM_HEADERS: Sequence[tuple[str, str]] = (
    ("content-type", "application/x-www-form-urlencoded"),
    ("accept", "application/json"),
    ("accept-encoding", "identity"),
)
