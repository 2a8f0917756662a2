"""Exchanges with a provider, written to a file and played back: the same bytes through the same decoder.

A recording is JSON Lines in ASCII.  The first line is `{"wisp_recording": 1, "variables": {...}}`; the
variables are texts that another run has otherwise (its folder, its session id) and that are looked for in
requests and answers at replay.  Every further line is one exchange: `target`, `body` (the request),
`status`, `headers` (of the answer), `chunks` (its body as it came) and `error` (how it broke off, empty where
it ended).  Bytes that are not UTF-8 stand as `{"base64": ...}`.
Request headers are not kept, cookies neither, and known credentials are masked wherever they appear.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from wisp.messages.codec import ascii_json
from wisp.providers.address import Url
from wisp.providers.endpoint import Timeouts
from wisp.providers.errors import ConnectError, ProviderError, RequestError, WireError
from wisp.providers.transport import Headers, Response, Transport

VERSION = 1
MASK = "[redacted]"
_KEPT_HEADERS = (
    "content-type",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "x-request-id",
    "request-id",
)


class Exchange(msgspec.Struct):
    """One request and its answer, as bytes."""

    target: str
    body: bytes
    status: int
    headers: dict[str, str]
    chunks: list[bytes]
    error: str = ""
    """How the connection failed; empty where the body ended."""


class Recording(msgspec.Struct):
    """A whole recording."""

    exchanges: list[Exchange]
    variables: dict[str, str] = {}
    """What differs from run to run, by name, as it was when it was recorded."""


def exchange_of(
    data: bytes, *, status: int = 200, content_type: str = "text/event-stream", error: str = ""
) -> Exchange:
    """An exchange from a bare answer, for tests."""
    return Exchange("", b"", status, {"content-type": content_type}, [data], error)


def chunked(data: bytes, sizes: int | Iterable[int]) -> list[bytes]:
    """`data` in pieces of one size, or of these sizes in turn, the rest whole."""
    if isinstance(sizes, int):
        return [data[place : place + sizes] for place in range(0, len(data), sizes)]
    pieces = []
    for size in sizes:
        if not data:
            break
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data] if data else pieces


class PlayedResponse:
    """An answer from memory."""

    def __init__(self, exchange: Exchange) -> None:
        self.status = exchange.status
        self.headers: Mapping[str, str] = exchange.headers
        self._chunks = iter(exchange.chunks)
        self._error = exchange.error
        self.closed = ""
        """`finish` or `abort`, whichever came."""

    async def read(self) -> bytes:
        """The next piece; where the recording broke off, the same failure."""
        for chunk in self._chunks:
            if chunk:
                return chunk
        if self._error:
            raise _failure(self._error)
        return b""

    def progressed(self, patience: float | None = None) -> None:
        """Nothing waits here."""

    async def finish(self) -> None:
        """The answer was read."""
        self.closed = "finish"

    def abort(self) -> None:
        """The answer was left."""
        self.closed = self.closed or "abort"


class ReplayTransport:
    """Answers requests from a recording, in order, without a network.

    Args:
        exchanges: what is played.
        rechunk: cuts each answer anew, for tests; None plays the pieces as they came.
        strict: a request that differs from the recorded one is an error.
        recorded: the recording's variables.
        secrets: credentials of this run; where they stand in a request, the recording holds a mask.
    """

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        *,
        rechunk: Callable[[bytes], list[bytes]] | None = None,
        strict: bool = False,
        recorded: Mapping[str, str] | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        self.variables: Mapping[str, str] = {}
        """What stands for the recording's variables in this run."""
        self._recorded = recorded or {}
        self._secrets = _as_bytes(secrets)
        self._exchanges = list(exchanges)
        self._rechunk = rechunk
        self._strict = strict
        self._place = 0
        self.responses: list[PlayedResponse] = []

    async def send(
        self, url: Url, target: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> Response:
        """The next recorded answer.

        Raises:
            RequestError: the recording is over, or this is not the request it holds.
            ProviderError: the recorded request got no answer.
        """
        if self._place >= len(self._exchanges):
            raise RequestError(f"the recording holds {len(self._exchanges)} requests and this is one more")
        exchange = self._exchanges[self._place]
        self._place += 1
        pairs = _pairs(self.variables, self._recorded)
        if self._strict:
            masked = [(secret, MASK.encode()) for secret in self._secrets]
            _compare(exchange, target, _swapped(body, [*masked, *pairs]), self._place)
        if not exchange.status:
            raise _failure(exchange.error)
        if pairs:
            back = [(old, now) for now, old in pairs]
            chunks = [_swapped(chunk, back) for chunk in exchange.chunks]
            exchange = msgspec.structs.replace(exchange, chunks=chunks)
        if self._rechunk is not None:
            whole = b"".join(exchange.chunks)
            exchange = msgspec.structs.replace(exchange, chunks=self._rechunk(whole))
        response = PlayedResponse(exchange)
        self.responses.append(response)
        return response

    def warm(self, url: Url) -> None:
        """Nothing to prepare."""

    async def aclose(self) -> None:
        """Nothing to close."""


class RecordingTransport:
    """Passes everything through and writes each exchange down when it is over.

    Args:
        inner: the transport that does the work.
        path: the file; created or emptied.
        secrets: credentials that must not be written.
    """

    def __init__(self, inner: Transport, path: str, secrets: Sequence[str] = ()) -> None:
        self._inner = inner
        self._path = path
        self._secrets = _as_bytes(secrets)
        self.variables: Mapping[str, str] = {}
        """What another run has otherwise; written with the first exchange."""
        self._begun = False
        with open(path, "wb", opener=_private):
            pass

    async def send(
        self, url: Url, target: str, headers: Headers, body: bytes, timeouts: Timeouts
    ) -> Response:
        """Send and remember."""
        exchange = Exchange(target.partition("?")[0], body, 0, {}, [])
        try:
            response = await self._inner.send(url, target, headers, body, timeouts)
        except ProviderError as exc:
            exchange.error = exc.kind
            self._write(exchange)
            raise
        exchange.status = response.status
        exchange.headers = {name: value for name, value in response.headers.items() if name in _KEPT_HEADERS}
        return _RecordedResponse(response, exchange, self._write)

    def warm(self, url: Url) -> None:
        """Prepare the inner transport."""
        self._inner.warm(url)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()
        if not self._begun:
            self._begin()

    def _begin(self) -> None:
        self._begun = True
        variables = {name: self._masked(text.encode()).decode() for name, text in self.variables.items()}
        with open(self._path, "ab") as file:
            file.write(ascii_json({"wisp_recording": VERSION, "variables": variables}) + b"\n")

    def _write(self, exchange: Exchange) -> None:
        if not self._begun:
            self._begin()
        line = ascii_json(
            {
                "target": exchange.target,
                "body": _kept(self._masked(exchange.body)),
                "status": exchange.status,
                "headers": {
                    name: self._masked(value.encode()).decode() for name, value in exchange.headers.items()
                },
                "chunks": [_kept(self._masked(chunk)) for chunk in self._safe_chunks(exchange.chunks)],
                "error": exchange.error,
            }
        )
        with open(self._path, "ab") as file:
            file.write(line + b"\n")

    def _safe_chunks(self, chunks: list[bytes]) -> list[bytes]:
        """The pieces as they came, unless a credential is cut in two by them."""
        whole = b"".join(chunks)
        split = any(whole.count(s) != sum(chunk.count(s) for chunk in chunks) for s in self._secrets)
        return [whole] if split else chunks

    def _masked(self, data: bytes) -> bytes:
        for secret in self._secrets:
            data = data.replace(secret, MASK.encode())
        return data


class _RecordedResponse:
    def __init__(self, inner: Response, exchange: Exchange, write: Callable[[Exchange], None]) -> None:
        self._inner = inner
        self._exchange = exchange
        self._write: Callable[[Exchange], None] | None = write
        self.status = inner.status
        self.headers = inner.headers

    async def read(self) -> bytes:
        try:
            chunk = await self._inner.read()
        except ProviderError as exc:
            self._exchange.error = exc.kind
            raise
        if chunk:
            self._exchange.chunks.append(chunk)
        return chunk

    def progressed(self, patience: float | None = None) -> None:
        self._inner.progressed(patience)

    async def finish(self) -> None:
        await self._inner.finish()
        self._done()

    def abort(self) -> None:
        self._inner.abort()
        self._done()

    def _done(self) -> None:
        write, self._write = self._write, None
        if write is not None:
            write(self._exchange)


def load_recording(path: str) -> Recording:
    """A recording from its file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a recording of a version we know.
    """
    with open(path, "rb") as file:
        return recording_in(file.read(), path)


def recording_in(data: bytes, path: str) -> Recording:
    """The recording that `data` is, which came from `path`.

    Raises:
        ValueError: it is none, or of a version we do not know.
    """
    lines = data.splitlines()
    try:
        head = msgspec.json.decode(lines[0]) if lines else None
        if not isinstance(head, dict) or head.get("wisp_recording") != VERSION:
            raise ValueError(f"{path}: not a recording of version {VERSION}")
        variables = {str(name): str(text) for name, text in (head.get("variables") or {}).items()}
        exchanges = [_exchange(msgspec.json.decode(line)) for line in lines[1:] if line.strip()]
        return Recording(exchanges, variables)
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError) as exc:
        raise ValueError(f"{path}: a damaged recording: {exc}") from None


def _exchange(entry: dict[str, Any]) -> Exchange:
    return Exchange(
        str(entry["target"]),
        _bytes(entry["body"]),
        int(entry["status"]),
        {str(name): str(value) for name, value in entry["headers"].items()},
        [_bytes(chunk) for chunk in entry["chunks"]],
        str(entry.get("error", "")),
    )


def _private(path: str, flags: int) -> int:
    """Open the file for writing; a pipe is none, and nobody waits for its reader."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
    except OSError as exc:
        if exc.errno != errno.ENXIO:  # what a pipe without a reader, or a socket, says
            raise
    raise OSError(errno.EINVAL, "a pipe or a socket, not a file", path)


def _kept(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        import base64

        return {"base64": base64.b64encode(data).decode()}


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    import base64

    return base64.b64decode(value["base64"])


def _failure(error: str) -> ProviderError:
    if error in ("stall", "connect"):
        return ConnectError("the recorded connection fell silent")
    return WireError(f"the recorded connection broke off ({error})")


def _as_bytes(secrets: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(secret.encode() for secret in secrets if len(secret) >= 4)


def _pairs(now: Mapping[str, str], recorded: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """What this run says, and what the recorded one said instead, as they stand in JSON; longest first."""
    found = [
        (msgspec.json.encode(now[name])[1:-1], msgspec.json.encode(text)[1:-1])
        for name, text in recorded.items()
        if name in now and now[name] != text and min(len(text), len(now[name])) > 3
    ]
    return sorted(found, key=lambda pair: -len(pair[0]))


def _swapped(data: bytes, pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
    for old, new in pairs:
        data = data.replace(old, new)
    return data


def _compare(exchange: Exchange, target: str, body: bytes, number: int) -> None:
    if target.partition("?")[0] != exchange.target:
        raise RequestError(f"request {number} goes to {target}, the recorded one to {exchange.target}")
    if body == exchange.body:
        return
    pairs = zip(body, exchange.body, strict=False)
    place = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(body), len(exchange.body)))
    shown = body[max(place - 30, 0) : place + 30].decode("utf-8", "replace")
    raise RequestError(f"request {number} differs from the recorded one at byte {place}: ...{shown!r}...")
