"""A host in another process, held like one in this: `ConversationClient` over a pipe.

async with await RpcClient.start(["wisp", "rpc"], cwd="/project") as client:
    run = await client.run("Fix the failing test.")
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

import msgspec

from wisp.frontends.rpc import methods as rpc
from wisp.host import queries as ask
from wisp.host.client import CommandRefused
from wisp.host.commands import AnyCommand, Prompt
from wisp.host.events import ANY_EVENT, Envelope, Event
from wisp.host.slash import Reply, SlashCommand
from wisp.host.snapshot import Snapshot
from wisp.host.view import RunView, View, reduce
from wisp.messages.codec import ascii_json
from wisp.messages.ids import seconds_of

FRAME = 80 << 20
"""Bytes of the longest line that is read."""


class RpcFailed(Exception):
    """The other side could not answer, or is gone."""

    def __init__(self, message: str, code: int = rpc.INTERNAL, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data or {}


class RpcClient:
    """One connection.  Implements `ConversationClient`; made by `start`.

    Events of types that are not known here are skipped, and counted in `skipped`.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._in, self._out = process.stdin, process.stdout
        self._numbers = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._subscribers: list[asyncio.Queue[Envelope | None]] = []
        self._reader = asyncio.ensure_future(self._read())
        self._snapshot: Snapshot | None = None
        self._commands: tuple[SlashCommand, ...] = ()
        self.view = View()
        self.skipped = 0
        self.server = rpc.Peer("")
        self.methods: tuple[str, ...] = ()

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        approvals: bool = True,
        questions: bool = True,
    ) -> RpcClient:
        """Start `argv` and shake hands.

        Raises:
            RpcFailed: the host could not be opened; says why.
            OSError: the program could not be started.
        """
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=cwd, env=env, stdin=pipe, stdout=pipe, limit=FRAME
        )
        client = cls(process)
        hello = rpc.Initialize(rpc.PROTOCOL, rpc.Peer("wisp"), approvals, questions)
        try:
            found = msgspec.convert(await client.call("initialize", hello), rpc.Initialized)
            client.server, client.methods, client.view = found.server, found.methods, found.state.view
            client._snapshot = found.state.snapshot
            client._commands = await client.query(ask.GetCommands())
        except BaseException:
            await client.close()
            raise
        return client

    # -- HostClient ---------------------------------------------------------------------------------------

    async def send(self, command: AnyCommand) -> None:
        """See `HostClient.send`; a `Prompt` is not waited for, use `run` for that."""
        method = str(command.__struct_config__.tag)
        if isinstance(command, Prompt):
            asking = asyncio.ensure_future(self.call(method, command))
            begun = asyncio.ensure_future(self._begun())
            await asyncio.wait([asking, begun], return_when=asyncio.FIRST_COMPLETED)
            begun.cancel()
            if asking.done():
                asking.result()
            else:
                asking.add_done_callback(lambda done: done.cancelled() or done.exception())
            return
        await self.call(method, command)
        self._snapshot = (await self.query(ask.GetState())).snapshot

    async def _begun(self) -> None:
        async for _ in self.events():
            return

    async def run(self, text: str) -> RunView:
        """Start a run and wait for its end.

        Raises:
            CommandRefused: one is in progress.
        """
        return msgspec.convert(await self.call("prompt", Prompt(text)), rpc.Ran).run

    def snapshot(self) -> Snapshot:
        """See `HostClient.snapshot`: as it was told last."""
        assert self._snapshot is not None
        return self._snapshot

    def events(self) -> AsyncGenerator[Envelope, None]:
        """See `HostClient.events`; pieces of an answer may have been merged into one."""
        queue: asyncio.Queue[Envelope | None] = asyncio.Queue()
        if self._reader.done():
            queue.put_nowait(None)
        self._subscribers.append(queue)
        return self._watched(queue)

    async def _watched(self, queue: asyncio.Queue[Envelope | None]) -> AsyncGenerator[Envelope, None]:
        try:
            while (envelope := await queue.get()) is not None:
                yield envelope
        finally:
            self._subscribers.remove(queue)

    def commands(self) -> list[SlashCommand]:
        """See `ConversationClient.commands`: as they were at the beginning."""
        return list(self._commands)

    async def slash(self, line: str) -> Reply:
        """See `ConversationClient.slash`."""
        reply: Reply = await self.query(ask.Slash(line))
        return reply

    async def query(self, query: ask.Query) -> Any:
        """See `ConversationClient.query`."""
        return msgspec.convert(
            await self.call(str(query.__struct_config__.tag), query), ask.ANSWERS[type(query)]
        )

    async def close(self) -> None:
        """Have the other side settle and end; where it does not within 30 s it is killed."""
        with suppress(RpcFailed, OSError):
            async with asyncio.timeout(30):
                await self.call("shutdown", rpc.Shutdown())
        self._in.close()
        try:
            async with asyncio.timeout(30):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await asyncio.wait([self._reader])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- frames -------------------------------------------------------------------------------------------

    async def call(self, method: str, params: msgspec.Struct) -> Any:
        """One request and its result, undecoded.

        Raises:
            CommandRefused: it was understood and cannot be done now.
            RpcFailed: anything else went wrong.
        """
        if self._reader.done():
            raise RpcFailed("the other side is gone")
        self._numbers += 1
        number = self._numbers
        body = {name: value for name, value in msgspec.to_builtins(params).items() if name != "type"}
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._in.write(ascii_json({"jsonrpc": "2.0", "id": number, "method": method, "params": body}) + b"\n")
        with suppress(ConnectionError):
            await self._in.drain()
        return await answer

    async def _read(self) -> None:
        try:
            while line := await self._out.readline():
                self._frame(msgspec.json.decode(line))
        except (ValueError, msgspec.MsgspecError) as exc:
            self._all_failed(f"the other side sent what is no message: {exc}")
        finally:
            self._all_failed("the other side is gone")
            for queue in self._subscribers:
                queue.put_nowait(None)

    def _all_failed(self, why: str) -> None:
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(RpcFailed(why))

    def _frame(self, frame: dict[str, Any]) -> None:
        if frame.get("method") == "event":
            self._event(frame["params"])
            return
        answer = self._waiting.pop(frame.get("id"), None)  # type: ignore[arg-type]
        if answer is None or answer.done():
            return
        error = frame.get("error")
        if error is None:
            answer.set_result(frame.get("result"))
        elif error["code"] == rpc.REFUSED:
            answer.set_exception(CommandRefused(error["message"]))
        else:
            answer.set_exception(RpcFailed(error["message"], error["code"], error.get("data")))

    def _event(self, data: dict[str, Any]) -> None:
        try:
            event: Event = msgspec.convert(data, ANY_EVENT)
        except msgspec.ValidationError:
            self.skipped += 1
            return
        envelope = Envelope(data["seq"], data["session_id"], seconds_of(data["at"]), event)
        if envelope.session_id != self.view.session_id and self.view.session_id:
            self.view = View(session_id=envelope.session_id)
        reduce(self.view, envelope)
        for queue in self._subscribers:
            queue.put_nowait(envelope)
