"""Access tokens that run out: renewed by one process at a time, and never lost on the way.

Imported only for a provider whose login is a token.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing

from wisp.host.choosing import LetGo, http_transport
from wisp.host.credentials import CredentialFile, Stored, busy, waits
from wisp.host.login import Server, stored_from
from wisp.host.models import Choice, endpoint_of
from wisp.host.settings import OAuthSettings, Settings
from wisp.messages.ids import Clock
from wisp.providers import oauth
from wisp.providers.base import ModelRequest, Provider
from wisp.providers.errors import ProviderError
from wisp.providers.events import Failed, ProviderEvent
from wisp.providers.oauth import OAuthError, Token
from wisp.providers.registry import build_provider
from wisp.providers.transport import Transport


class Renewer:
    """The access token of one login, renewed when it runs out, by one process at a time.

    A refresh token may be good for one use.  So the file's lock is taken first and the file read again:
    when another process has renewed meanwhile, its token is taken and nothing is sent.
    """

    def __init__(self, provider: str, file: CredentialFile, server: Server, clock: Clock) -> None:
        self._provider = provider
        self._file = file
        self._server = server
        self._clock = clock
        self._renewal: asyncio.Task[str] | None = None

    async def token(self, current: str, *, refused: bool = False) -> str:
        """A token that is good now.

        Args:
            current: the one we have.
            refused: the service does not accept it, whatever its date says.

        Raises:
            ProviderError: the login has to be made again, or the server does not answer.
        """
        stored = self._read()
        if self._good(stored, current, refused):
            return stored.secret
        lock = await self._lock()
        # Once it was sent, the answer is kept even if the run is cancelled: the old token may be void.
        self._renewal = asyncio.ensure_future(self._renew(lock, current, refused))
        return await asyncio.shield(self._renewal)

    async def aclose(self) -> None:
        """Let a renewal that was sent be answered, for a few seconds at most."""
        if self._renewal is not None and not self._renewal.done():
            await asyncio.wait([self._renewal], timeout=5.0)

    def _good(self, stored: Stored, current: str, refused: bool) -> bool:
        late = oauth.expired(stored.expires_at, self._clock.now())
        return not late and not (refused and stored.secret == current)

    async def _renew(self, lock: int, current: str, refused: bool) -> str:
        """With the lock, which is let go."""
        try:
            stored = self._read()
            if self._good(stored, current, refused):
                return stored.secret
            if not stored.refresh:
                raise self._over("it ran out")
            before = Token(stored.secret, stored.refresh, stored.expires_at, stored.scope)
            token = await self._server.renew(before)
            self._file.write({**self._file.read(), self._provider: stored_from(token)})
            return token.access
        except OAuthError as exc:
            if exc.code == "invalid_grant":
                raise self._over("the server no longer accepts it") from None
            raise
        except OSError as exc:
            raise OAuthError(f"the renewed login cannot be kept: {exc.strerror or exc}") from None
        finally:
            os.close(lock)

    def _read(self) -> Stored:
        try:
            stored = self._file.get(self._provider)
        except OSError as exc:
            raise OAuthError(f"{self._file.path}: {exc.strerror or exc}") from None
        if stored is None or stored.kind != "oauth":
            raise self._over("it is no longer stored")
        return stored

    def _over(self, why: str) -> OAuthError:
        return OAuthError(f"the login to {self._provider} is over ({why}); run 'wisp login {self._provider}'")

    async def _lock(self) -> int:
        try:
            lock = self._file.try_lock()
            for pause in waits():
                if lock is not None:
                    return lock
                await asyncio.sleep(pause)
                lock = self._file.try_lock()
        except OSError as exc:
            raise OAuthError(f"{self._file.path}: {exc.strerror or exc}") from None
        raise OAuthError(str(busy(self._file.path)))


class RenewingProvider:
    """A provider whose key is an access token: renewed before a request that would outlive it, and once
    when the service refuses it.

    Args:
        token: the one to begin with.
        build: makes the provider for a token.
    """

    def __init__(self, token: str, build: Callable[[str], Provider], renewer: Renewer) -> None:
        self._token = token
        self._build = build
        self._inner = build(token)
        self._renewer = renewer
        self.renewed: Callable[[str], None] = lambda token: None
        """Told of every new token before it is used."""

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self._inner.name

    @property
    def api(self) -> str:
        """The dialect it speaks."""
        return self._inner.api

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """Ask the model; see `providers.base.Provider.stream`."""
        try:
            await self._renew(refused=False)
            answered = False
            async with aclosing(self._inner.stream(request)) as events:  # type: ignore[type-var]
                async for event in events:
                    if isinstance(event, Failed) and event.kind == "auth" and not answered:
                        break
                    answered = True
                    yield event
                else:
                    return
            await self._renew(refused=True)
        except ProviderError as exc:
            yield Failed(exc.kind, exc.message, exc.status, None, exc.retryable)
            return
        async with aclosing(self._inner.stream(request)) as events:  # type: ignore[type-var]
            async for event in events:
                yield event

    async def _renew(self, *, refused: bool) -> None:
        token = await self._renewer.token(self._token, refused=refused)
        if token != self._token:
            self.renewed(token)
            self._token, self._inner = token, self._build(token)


def renewing(
    choice: Choice, path: str, env: Mapping[str, str], clock: Clock, transport: Transport, settings: Settings
) -> tuple[RenewingProvider, LetGo]:
    """The provider of a choice whose key is an access token, and what to await when the run is over.

    Args:
        path: the file of credentials.
        transport: carries the model's requests; the authorization server is asked over one of its own.
    """
    service = choice.service
    own = http_transport(env, service)
    server = Server(own, service.oauth or OAuthSettings(), clock)
    renewer = Renewer(service.name, CredentialFile(path), server, clock)

    def build(token: str) -> Provider:
        endpoint = endpoint_of(
            service, token, token=True, settings=settings, dead_after=choice.endpoint.dead_after
        )
        return build_provider(endpoint, clock, transport)

    async def let_go() -> None:
        await renewer.aclose()
        await own.aclose()

    return RenewingProvider(choice.endpoint.key.reveal(), build, renewer), let_go
