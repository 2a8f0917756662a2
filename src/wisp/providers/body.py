"""A response's body: patience, decompression and size limits, whatever the bytes come from.

No sockets and no protocol here; `providers.http` supplies the bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from wisp.providers.endpoint import Timeouts
from wisp.providers.errors import ConnectError, ProviderError, WireError

MAX_BODY = 256 * 1024 * 1024
"""Most bytes of one response, decoded."""


class Broken(Exception):
    """The bytes stopped being HTTP, or stopped."""


class Limits:
    """Idle and progress limits of one body, kept by one timer however many reads there are."""

    def __init__(self, timeouts: Timeouts, expired: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._idle = timeouts.idle
        self._progress = timeouts.progress
        self._expired = expired
        self._last_byte = self._last_event = self._loop.time()
        self._waiting = False
        self._timer = self._loop.call_at(self._due(), self._check)
        self.broken = ""

    def waiting(self) -> None:
        """A reader waits from now on; time it spent elsewhere is not the server's."""
        now = self._loop.time()
        self._last_event += now - self._last_byte
        self._last_byte = now
        self._waiting = True

    def byte(self) -> None:
        """Bytes arrived."""
        self._waiting = False
        self._last_byte = self._loop.time()

    def progressed(self, patience: float | None) -> None:
        """An event arrived."""
        self._last_event = self._loop.time()
        if patience is not None and patience < self._idle:
            self._idle = patience
            self._timer.cancel()
            self._timer = self._loop.call_at(self._due(), self._check)

    def stop(self) -> None:
        """No limit any more."""
        self._timer.cancel()

    def _due(self) -> float:
        return min(self._last_byte + self._idle, self._last_event + self._progress)

    def _check(self) -> None:
        now = self._loop.time()
        if not self._waiting or now + 0.001 < self._due():
            self._timer = self._loop.call_at(max(self._due(), now + 0.05), self._check)
            return
        silent = now + 0.001 >= self._last_byte + self._idle
        limit = self._idle if silent else self._progress
        self.broken = f"{'silence' if silent else 'no progress'} for {limit:g} s in the middle of the answer"
        self._expired()


class Body:
    """What both kinds of response share: limits, decoding, caps."""

    def __init__(self, status: int, headers: Mapping[str, str], timeouts: Timeouts) -> None:
        self.status = status
        self.headers = headers
        self._limits = Limits(timeouts, self.abort)
        self._decode = inflater(headers.get("content-encoding", ""))
        self._size = 0
        self._over = False

    def abort(self) -> None:
        """Close the connection now."""
        raise NotImplementedError

    async def _next(self) -> bytes:
        raise NotImplementedError

    async def read(self) -> bytes:
        """The next decoded bytes; empty at the end."""
        while not self._over:
            data = await self._raw()
            if not data:
                self._over = True
                break
            self._limits.byte()
            if self._decode is not None:
                data = self._decode(data)
            self._size += len(data)
            if self._size > MAX_BODY:
                self.abort()
                raise too_large()
            if data:
                return data
        return b""

    async def _raw(self) -> bytes:
        self._limits.waiting()
        try:
            data = await self._next()
        except (Broken, OSError, EOFError) as exc:
            self.abort()
            if self._limits.broken:
                raise ConnectError(self._limits.broken) from None
            raise WireError(f"the connection broke in the middle of the answer: {reason_of(exc)}") from None
        if not data and self._limits.broken:
            raise ConnectError(self._limits.broken)
        return data

    def progressed(self, patience: float | None = None) -> None:
        """Something sensible arrived."""
        self._limits.progressed(patience)


def inflater(encoding: str) -> Any:
    """Decodes gzip and deflate with a cap; None where nothing has to be done."""
    kind = encoding.strip().lower()
    if kind in ("", "identity"):
        return None
    if kind not in ("gzip", "x-gzip", "deflate"):
        raise WireError(f"the answer is encoded as {kind[:20]!r}, which was not asked for")
    import zlib

    inflate = zlib.decompressobj(47 if kind != "deflate" else 15)

    def decode(data: bytes) -> bytes:
        try:
            made = inflate.decompress(data, MAX_BODY // 4)
        except zlib.error:
            raise WireError("the answer is not the compressed data it claims to be") from None
        if inflate.unconsumed_tail:
            raise too_large()
        return made

    return decode


def too_large() -> ProviderError:
    error = WireError("the answer is larger than any answer can be")
    error.retryable = False
    return error


def reason_of(exc: BaseException) -> str:
    """A short reason for people."""
    return getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
