"""Logins to MCP servers: where they are kept, and how a person is asked to agree."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import msgspec

from wisp.host.login import PATIENCE, Callback
from wisp.mcp.oauth import Client, Kept, OAuth
from wisp.mcp.ports import Web
from wisp.providers.oauth import OAuthError
from wisp.session.whole import replace_private

MOST_BYTES = 1 << 20


class LoginFile:
    """Logins in one private file, by the server's address; implements `mcp.oauth.Store` for one of them."""

    def __init__(self, path: str, address: str) -> None:
        self._path, self._address = path, address

    def load(self) -> Kept:
        """What is kept; nothing where the file is not private or cannot be read."""
        return self._all().get(self._address, Kept())

    def save(self, kept: Kept) -> None:
        """Keep it, or forget what was kept where it holds nothing.  A full disk costs the next login."""
        found = {**self._all(), self._address: kept}
        if not (kept.access or kept.refresh or kept.registered):
            del found[self._address]
        with suppress(OSError):
            replace_private(self._path, msgspec.json.encode(found))

    def _all(self) -> dict[str, Kept]:
        try:
            with os.fdopen(os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
                    return {}
                return msgspec.json.decode(file.read(MOST_BYTES), type=dict[str, Kept])
        except (OSError, msgspec.MsgspecError):
            return {}


class _Question:
    """A callback on loopback that waits for one answer; implements `mcp.oauth.Asked`."""

    def __init__(self, callback: Callback, redirect: str, show: Callable[[str], None]) -> None:
        self._callback, self.redirect, self._show = callback, redirect, show

    async def agreed(self, address: str) -> tuple[str, str]:
        self._show(address)
        try:
            async with asyncio.timeout(PATIENCE):
                code = await self._callback.code
        except TimeoutError:
            raise OAuthError(f"nobody agreed within {PATIENCE:g} s; begin again") from None
        return code, self._callback.issuer


class Browser:
    """Asks by showing an address; implements `mcp.oauth.Consent`.  Nothing is opened unasked."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    @asynccontextmanager
    async def asking(self, state: str, port: int) -> AsyncIterator[_Question]:
        """Listen on 127.0.0.1 while the question is open; on another port where the one is taken."""
        callback = Callback(state)
        try:
            redirect = await callback.open(port)
        except OAuthError:
            redirect = await callback.open(0)
        try:
            yield _Question(callback, redirect, self._show)
        finally:
            await callback.close()


def authorizer(
    name: str,
    address: str,
    web: Web,
    path: str,
    now: Callable[[], float],
    client: tuple[str, str, tuple[str, ...]],
    show: Callable[[str], None] | None,
) -> OAuth:
    """How requests to one server are authorised.

    Args:
        path: the file of logins.
        client: id and secret where wisp is registered by hand, and the scopes to ask for.
        show: takes the address at which a person can agree; None where nobody is there.
    """
    client_id, secret, scopes = client
    return OAuth(
        address,
        web,
        LoginFile(path, address),
        Browser(show) if show is not None else None,
        now,
        Client(client_id, secret, "", scopes),
        f"run 'wisp mcp login {name}'",
    )
