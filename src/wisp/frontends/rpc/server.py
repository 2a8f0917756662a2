"""The host behind JSON-RPC 2.0: one client, one conversation at a time.

Owns the order of frames: events leave in their order, and what a request leads to leaves before its answer.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any

import msgspec

from wisp.frontends.rpc import methods as rpc
from wisp.frontends.rpc.events import EventWriter
from wisp.frontends.wire.pipes import TooLong
from wisp.host import queries as ask
from wisp.host.client import CommandRefused, ConversationClient, OpenFailed, OpenRequest
from wisp.host.commands import Navigate, Prompt
from wisp.host.events import AgentCompleted
from wisp.host.view import View, reduce

Opener = Callable[[OpenRequest], Awaitable[ConversationClient]]

_BESIDE = (ask.GetMessages, ask.GetModels, ask.GetTree, ask.GetSkills, ask.ListSessions, ask.BeginDeviceCode)
"""Queries that may take long and change nothing of the conversation: whatever comes next does not wait."""
_MOST_BESIDE = 32


class RpcError(Exception):
    """A request that cannot be answered as it asks."""

    def __init__(self, code: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class RpcServer:
    """Answers one client until it leaves.

    Args:
        request: the conversation, as the command line describes it.
        opener: builds it.
        writer: where answers and events go.
        version: of this program.
        opened: called once the handshake is done; longer lines may come then.
    """

    def __init__(
        self,
        request: OpenRequest,
        opener: Opener,
        writer: EventWriter,
        version: str,
        opened: Callable[[], None] = lambda: None,
    ) -> None:
        self._request = request
        self._opener = opener
        self._writer = writer
        self._version = version
        self._opened = opened
        self._client: ConversationClient | None = None
        self._view = View()
        self._seq = 0
        self._pump: asyncio.Future[None] | None = None
        self._runs: list[tuple[int, asyncio.Future[dict[str, Any] | None]]] = []
        """Prompts whose runs are not over, with the number of the last event before each."""
        self._beside: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._shutdown: list[Any] = []
        self.exit_code = 0

    # -- the connection -----------------------------------------------------------------------------------

    async def serve(self, lines: AsyncIterator[bytes | TooLong]) -> int:
        """Until the client leaves, or `stop`; returns the exit code."""
        reading = asyncio.ensure_future(self._read(lines))
        ended = asyncio.ensure_future(self._ended.wait())
        await asyncio.wait([reading, ended], return_when=asyncio.FIRST_COMPLETED)
        for waiting in (reading, ended):
            waiting.cancel()
        await asyncio.gather(reading, ended, return_exceptions=True)
        await self._settle()
        return self.exit_code

    def stop(self, exit_code: int) -> None:
        """Settle and leave, as when the client had left."""
        if not self._ended.is_set():
            self.exit_code = exit_code
            self._ended.set()

    async def _read(self, lines: AsyncIterator[bytes | TooLong]) -> None:
        async for line in lines:
            await self._line(line)
            if self._ended.is_set():
                return

    async def _settle(self) -> None:
        if self._client is not None:
            await self._client.close()
        if self._pump is not None:
            await asyncio.wait([self._pump])
        if self._beside:
            _, late = await asyncio.wait(self._beside, timeout=5)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        for given in self._shutdown:
            self._answer(given, {})
        self._writer.flush()

    # -- one line -----------------------------------------------------------------------------------------

    async def _line(self, line: bytes | TooLong) -> None:
        given: Any = None
        try:
            if isinstance(line, TooLong):
                raise RpcError(rpc.INVALID_REQUEST, "the line is longer than it may be")
            raw = _parsed(line)
            given = raw.get("id") if isinstance(raw, dict) else None
            given = given if isinstance(given, str | int) and not isinstance(given, bool) else None
            request = _request(raw)
            given = request.id
            await self._handle(request)
        except RpcError as exc:
            self._fail(given, exc)
        except Exception as exc:  # told to the client; one request must not end the others
            self._fail(given, RpcError(rpc.INTERNAL, f"{type(exc).__name__}: {exc}"))

    async def _handle(self, request: rpc.Request) -> None:
        kind = rpc.params_of(request.method)
        if kind is None:
            raise RpcError(rpc.METHOD_NOT_FOUND, f"there is no method {request.method!r}")
        params = {name: value for name, value in request.params.items() if name != "type"}
        try:
            wanted = msgspec.convert({"type": request.method, **params}, kind)
        except msgspec.ValidationError as exc:
            raise RpcError(rpc.INVALID_PARAMS, str(exc)) from None
        if isinstance(wanted, rpc.Initialize):
            self._answer(request.id, await self._initialize(wanted))
        elif isinstance(wanted, rpc.Shutdown):
            self._shutdown.append(request.id)
            self._ended.set()
        elif self._client is None:
            raise RpcError(rpc.NOT_INITIALIZED, "the first request must be `initialize`")
        elif isinstance(wanted, Prompt):
            await self._prompt(request.id, wanted, self._client)
        elif isinstance(wanted, ask.Query):
            work = self._ask(wanted, self._client)
            await self._do(request.id, work, beside=isinstance(wanted, _BESIDE))
        else:
            beside = isinstance(wanted, Navigate) and wanted.summarise
            await self._do(request.id, self._command(wanted, self._client), beside=beside)

    async def _initialize(self, wanted: rpc.Initialize) -> Any:
        if self._client is not None:
            raise RpcError(rpc.INVALID_REQUEST, "the connection is initialized already")
        if wanted.protocol < 1:
            raise RpcError(rpc.INVALID_PARAMS, f"protocol {wanted.protocol} is unknown; the oldest is 1")
        asked = msgspec.structs.replace(
            self._request, interactive=wanted.approvals, converses=wanted.questions
        )
        try:
            self._client = await self._opener(asked)
        except OpenFailed as exc:
            self.stop(exc.exit_code)
            raise RpcError(rpc.NOT_OPENED, str(exc), exit_code=exc.exit_code) from None
        self._opened()
        self._pump = asyncio.ensure_future(self._forward(self._client))
        await asyncio.sleep(0)
        state = await self._client.query(ask.GetState())
        server = rpc.Peer("wisp", self._version)
        return rpc.Initialized(
            min(wanted.protocol, rpc.PROTOCOL), server, rpc.names(), state, state.snapshot.seq
        )

    async def _prompt(self, given: Any, prompt: Prompt, client: ConversationClient) -> None:
        """Start a run; its answer is sent when it is over, by whoever waits for that."""
        try:
            await client.send(prompt)
        except CommandRefused as exc:
            raise RpcError(rpc.REFUSED, str(exc)) from None
        done: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()
        self._runs.append((client.snapshot().seq, done))

        async def ended() -> dict[str, Any]:
            run = await done
            if run is None:
                raise RpcError(rpc.INTERNAL, "the connection was closed before the run was over")
            return run

        await self._do(given, ended(), beside=True)

    async def _do(self, given: Any, work: Coroutine[Any, Any, Any], *, beside: bool) -> None:
        task = asyncio.ensure_future(self._answered(given, work))
        if not beside or len(self._beside) >= _MOST_BESIDE:
            await task
            return
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _answered(self, given: Any, work: Coroutine[Any, Any, Any]) -> None:
        try:
            self._answer(given, await work)
        except CommandRefused as exc:
            self._fail(given, RpcError(rpc.REFUSED, str(exc)))
        except RpcError as exc:
            self._fail(given, exc)
        except asyncio.CancelledError:
            self._fail(given, RpcError(rpc.INTERNAL, "the connection was closed before it was done"))
        except Exception as exc:  # as in _line
            self._fail(given, RpcError(rpc.INTERNAL, f"{type(exc).__name__}: {exc}"))

    @staticmethod
    async def _ask(query: ask.Query, client: ConversationClient) -> Any:
        return await client.query(query)

    @staticmethod
    async def _command(command: Any, client: ConversationClient) -> Any:
        await client.send(command)
        return {}

    # -- what leaves --------------------------------------------------------------------------------------

    async def _forward(self, client: ConversationClient) -> None:
        session = ""
        async with aclosing(client.events()) as events:
            async for envelope in events:
                if envelope.session_id != session:
                    session, self._view = envelope.session_id, View()
                reduce(self._view, envelope)
                self._writer.event(envelope)
                if isinstance(envelope.event, AgentCompleted):
                    self._over(envelope.seq, msgspec.to_builtins(rpc.Ran(self._view.run)))
        self._over(None, None)

    def _over(self, seq: int | None, run: dict[str, Any] | None) -> None:
        """The run that ended with event `seq` is over; with None, all are."""
        ended = [one for one in self._runs if seq is None or one[0] < seq]
        self._runs = [one for one in self._runs if one not in ended]
        for _, done in ended:
            if not done.done():
                done.set_result(run)

    def _answer(self, given: Any, result: Any) -> None:
        if given is not msgspec.UNSET:
            self._writer.message({"id": given, "result": msgspec.to_builtins(result)})

    def _fail(self, given: Any, error: RpcError) -> None:
        if given is not msgspec.UNSET:
            body = {"code": error.code, "message": str(error), **({"data": error.data} if error.data else {})}
            self._writer.message({"id": given, "error": body})


def _parsed(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as exc:
        raise RpcError(rpc.PARSE_ERROR, f"this is not JSON: {exc}") from None


def _request(raw: Any) -> rpc.Request:
    try:
        return msgspec.convert(raw, rpc.Request)
    except msgspec.ValidationError as exc:
        raise RpcError(rpc.INVALID_REQUEST, str(exc)) from None


SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""Signals that end the process once all is settled, and the exit codes."""
