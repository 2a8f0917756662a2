"""JSON-RPC 2.0 between two equal sides, one message a line.  Knows no method.

Every request that comes in is answered exactly once, whatever is wrong with it.  What goes out waits in a
queue until the other side reads; a message can be added to while it waits there (`Outgoing.taken`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from typing import Any, Protocol

import msgspec

from wisp.frontends.wire.pipes import Input, Output, TooLong
from wisp.messages.codec import ascii_json

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
CANCELLED = -32800
_NULL = msgspec.Raw(b"null")


class RpcError(Exception):
    """An answer that says why not."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Gone(Exception):
    """The other side is not there any more."""


class Handler(Protocol):
    """What requests and notifications are for."""

    async def request(self, method: str, params: bytes) -> Any:
        """The result of a request.

        Raises:
            RpcError: what is answered instead.
        """
        ...

    async def notification(self, method: str, params: bytes) -> None:
        """Take a notification; one that is not known is passed over.

        Raises:
            RpcError: it makes no sense.
        """
        ...


class Outgoing:
    """One message on its way out."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.message = message
        self.taken = False
        """Whether it is too late to change it."""

    def encoded(self) -> bytes:
        """The line.  From here on it cannot be changed."""
        self.taken = True
        try:
            return msgspec.json.encode(self.message) + b"\n"
        except UnicodeEncodeError:  # half a surrogate pair in a file name, for instance
            rest = {name: value for name, value in self.message.items() if name != "id"}
            number = (
                b'"id":' + msgspec.json.encode(self.message["id"]) + b"," if "id" in self.message else b""
            )
            return b"{" + number + ascii_json(rest)[1:] + b"\n"


class _Incoming(msgspec.Struct):
    jsonrpc: Any = None
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_DECODER = msgspec.json.Decoder(_Incoming)


class Peer:
    """One connection.

    Args:
        reading, writing: its two directions.
        handler: does what is asked.
        cancellable: methods whose handler may be cancelled.
        cancel: the notification that cancels one, by its `requestId`.
        told: whether a request that was cancelled is answered all the same.
        log: takes what is odd but not worth an answer.
    """

    def __init__(
        self,
        reading: Input,
        writing: Output,
        handler: Handler,
        *,
        cancellable: Collection[str] = (),
        cancel: str = "$/cancel_request",
        told: bool = True,
        log: Callable[[str], None],
    ) -> None:
        self._reading, self._writing, self._handler = reading, writing, handler
        self._cancellable, self._log = cancellable, log
        self._cancel_method, self._told = cancel, told
        self._queue: deque[Outgoing] = deque()
        self._more = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._pump = asyncio.ensure_future(self._write())
        self._asked: dict[int, asyncio.Future[bytes]] = {}
        self._last_id = 0
        self._serving: set[asyncio.Task[None]] = set()
        self._by_id: dict[bytes, asyncio.Task[None]] = {}
        self.failure: OSError | None = None
        """Why nothing can be written any more."""

    # -- out ----------------------------------------------------------------------------------------------

    def notify(self, method: str, params: Any) -> Outgoing:
        """Send a notification."""
        return self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any) -> bytes:
        """Send a request; the JSON text of its result.

        Raises:
            RpcError: it was answered with an error.
            Gone: it will never be answered.
        """
        self._last_id += 1
        number, answer = self._last_id, asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            if self.failure is not None:
                raise Gone
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            result: bytes = await answer
            return result
        finally:
            self._asked.pop(number, None)

    async def flushed(self) -> None:
        """Until everything is written, or nothing can be."""
        await self._empty.wait()

    def _send(self, message: dict[str, Any]) -> Outgoing:
        out = Outgoing(message)
        if self.failure is None:
            self._queue.append(out)
            self._empty.clear()
            self._more.set()
        return out

    async def _write(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._queue:
                batch = bytearray()
                while self._queue and len(batch) < 1 << 16:
                    batch += self._queue.popleft().encoded()
                try:
                    await self._writing.write(bytes(batch))
                except OSError as exc:
                    self.failure = exc
                    self._queue.clear()
                    self._empty.set()
                    self._abandon()
                    return
            self._empty.set()

    def _abandon(self) -> None:
        """Nobody will answer any more."""
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(Gone())

    # -- in -----------------------------------------------------------------------------------------------

    async def listen(self) -> None:
        """Serve what comes until the other side says no more, or reads no more."""
        taking = asyncio.ensure_future(self._take_all())
        await asyncio.wait([taking, self._pump], return_when=asyncio.FIRST_COMPLETED)
        taking.cancel()
        await asyncio.wait([taking])
        self._abandon()
        if not taking.cancelled():
            taking.result()

    async def settle(self, patience: float) -> None:
        """Let requests that are being served end, for at most `patience` seconds; write what is taken."""
        if self._serving:
            await asyncio.wait(list(self._serving), timeout=patience)
        for task in list(self._serving):
            task.cancel()
        if self._serving:
            await asyncio.wait(list(self._serving))
        if self.failure is None:
            await asyncio.wait([asyncio.ensure_future(self.flushed())], timeout=min(patience, 2.0))
        self._pump.cancel()

    async def _take_all(self) -> None:
        async for line in self._reading.lines():
            if isinstance(line, TooLong):
                self._fail(_NULL, RpcError(INVALID_REQUEST, "the message is too long"))
            elif line.strip():
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            line.decode()
            message = _DECODER.decode(line)
            identity = _identity(message.id)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            identity, why, meant = _wrong(line)
            if meant == "response":
                self._settle(bytes(identity), why)
            elif meant == "request":
                self._fail(identity, why)
            return
        if isinstance(message.method, str) and message.jsonrpc == "2.0":
            self._called(message, identity)
        elif identity is not None and _answers(message):
            self._answered(message, bytes(identity))
        else:
            need = 'jsonrpc must be "2.0"' if message.jsonrpc != "2.0" else "a method or a result is needed"
            self._fail(identity or _NULL, RpcError(INVALID_REQUEST, need))

    def _called(self, message: _Incoming, identity: msgspec.Raw | None) -> None:
        assert isinstance(message.method, str)
        params = b"{}" if isinstance(message.params, msgspec.UnsetType) else bytes(message.params)
        if identity is None and message.method == self._cancel_method:
            self._cancel(params)
            return
        if identity is None:
            work = self._notified(message.method, params)
        else:
            work = self._serve(identity, message.method, params)
        task = asyncio.ensure_future(work)
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        if identity is not None:
            task.add_done_callback(lambda done: self._unbegun(identity, done))
        if identity is not None and message.method in self._cancellable:
            key = bytes(identity)
            self._by_id[key] = task
            task.add_done_callback(lambda _: self._by_id.pop(key, None))

    def _unbegun(self, identity: msgspec.Raw, task: asyncio.Task[None]) -> None:
        """A request that was cancelled before its turn came is answered all the same."""
        if task.cancelled() and self._told:
            self._fail(identity, RpcError(CANCELLED, "the request was cancelled"))

    def _cancel(self, params: bytes) -> None:
        try:
            key = msgspec.json.decode(params, type=_Cancel).requestId
        except (msgspec.MsgspecError, RecursionError):
            return
        task = self._by_id.get(bytes(key))
        if task is not None:
            task.cancel()

    async def _notified(self, method: str, params: bytes) -> None:
        try:
            await self._handler.notification(method, params)
        except RpcError as exc:
            self._log(f"{method}: {exc.message}")
        except Exception as exc:
            # A notification has no answer; a bug in one must not end the conversation of others.
            self._log(f"{method}: {type(exc).__name__}: {exc}")

    async def _serve(self, identity: msgspec.Raw, method: str, params: bytes) -> None:
        try:
            result = await self._handler.request(method, params)
        except RpcError as exc:
            self._fail(identity, exc)
        except asyncio.CancelledError:
            if self._told:
                self._fail(identity, RpcError(CANCELLED, "the request was cancelled"))
        except Exception as exc:
            # The side that asked is told; the connection and its other sessions go on.
            self._log(f"{method}: {type(exc).__name__}: {exc}")
            self._fail(identity, RpcError(INTERNAL_ERROR, f"{type(exc).__name__}: {exc}"))
        else:
            self._send({"jsonrpc": "2.0", "id": identity, "result": result})

    def _fail(self, identity: msgspec.Raw, exc: RpcError) -> None:
        error: dict[str, Any] = {"code": exc.code, "message": exc.message}
        if exc.data is not None:
            error["data"] = exc.data
        self._send({"jsonrpc": "2.0", "id": identity, "error": error})

    def _answered(self, message: _Incoming, key: bytes) -> None:
        if isinstance(message.result, msgspec.Raw):
            self._settle(key, bytes(message.result))
        else:
            text = b"" if isinstance(message.error, msgspec.UnsetType) else bytes(message.error)
            self._settle(key, RpcError(INTERNAL_ERROR, text.decode()))

    def _settle(self, key: bytes, answer: bytes | RpcError) -> None:
        """Give a request of ours its answer."""
        waiting = self._asked.get(int(key)) if key.isdigit() and len(key) < 19 else None
        if waiting is None or waiting.done():
            self._log(f"an answer to {key[:40]!r}, which was not asked or is settled")
        elif isinstance(answer, RpcError):
            waiting.set_exception(answer)
        else:
            waiting.set_result(answer)


def _answers(message: _Incoming) -> bool:
    """Whether this is a response."""
    nothing = msgspec.UNSET
    return message.method is nothing and not (message.result is nothing and message.error is nothing)


class _Cancel(msgspec.Struct):
    requestId: msgspec.Raw  # noqa: N815 - as it is spelt on the wire


def _identity(raw: msgspec.Raw | msgspec.UnsetType) -> msgspec.Raw | None:
    """The id as it came, so that it goes back unchanged; None for a notification.

    Raises:
        msgspec.ValidationError: it is neither a text nor a number nor null.
        msgspec.DecodeError: it is not even JSON.
    """
    if isinstance(raw, msgspec.UnsetType):
        return None
    value = msgspec.json.decode(raw)
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int | float)):
        raise msgspec.ValidationError("an id is a text, a number or null")
    return msgspec.Raw(bytes(raw))


def _wrong(line: bytes) -> tuple[msgspec.Raw, RpcError, str]:
    """What is answered to a line that is no message, and under which id; what it was meant as."""
    import json  # only for what is wrong; it reads also what cannot be written again: half a surrogate pair

    try:
        found = json.loads(line.decode())
    except (ValueError, RecursionError) as exc:
        return _NULL, RpcError(PARSE_ERROR, f"this cannot be read as JSON: {exc}"), "request"
    fields = found if isinstance(found, dict) else {}
    name = fields.get("id")
    usable = isinstance(name, str | int) and not isinstance(name, bool)
    identity = msgspec.Raw(json.dumps(name).encode()) if usable else _NULL
    why = RpcError(INVALID_REQUEST, "this is no request, notification or response")
    if isinstance(fields.get("method"), str):
        return identity, why, "request" if "id" in fields else "notification"
    return identity, why, "response" if "result" in fields or "error" in fields else "request"
