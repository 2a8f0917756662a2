"""The server's side of the Model Context Protocol over standard input and output, with one tool.

Speaks the revisions from 2024-11-05 to 2025-11-25, which begin with `initialize`, and 2026-07-28, in which
each request says who asks.  Knows what a task is only through `mcp.task`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from wisp.frontends.mcp.task import Opener, TaskArguments, do, tool
from wisp.frontends.wire.peer import INVALID_PARAMS, METHOD_NOT_FOUND, Peer, RpcError
from wisp.frontends.wire.pipes import Input, Output
from wisp.frontends.wire.serving import exit_code, listened
from wisp.host.client import OpenRequest

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
UNSUPPORTED_VERSION = -32022
AT_ONCE = 4
"""Tasks that run side by side; more wait."""
MOST_BYTES = 8 * 1024 * 1024
"""Longest message taken."""
PATIENCE = 10.0
"""Seconds that tasks have to settle once the client has left."""
_META = "io.modelcontextprotocol/"


class Server:
    """Answers one client; the handler of a `Peer`.

    Args:
        request: what every task's conversation has in common.
        cwd, mode: where tasks are done and what they may do, for the tool's description.
        opener: opens a conversation.
        version: the program's own.
    """

    def __init__(self, request: OpenRequest, cwd: str, mode: str, opener: Opener, version: str) -> None:
        self._request, self._opener = request, opener
        self._tool = tool(request, cwd, mode)
        self._info = {"name": "wisp", "title": "Wisp", "version": version}
        self._free = asyncio.Semaphore(AT_ONCE)
        self._begun: set[str] = set()
        """Conversations of this server; no other can be gone on with."""
        self._going_on: set[str] = set()
        self.peer: Peer | None = None

    async def request(self, method: str, params: bytes) -> Any:
        """The result of one request; see `wire.peer.Handler`."""
        given = _object(params)
        modern = self._is_modern(given)
        if method == "initialize":
            wanted = given.get("protocolVersion")
            version = wanted if wanted in LEGACY else LEGACY[0]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": self._info}
        if method == "ping":
            return {}
        if method == "server/discover":
            found: dict[str, Any] = {
                "supportedVersions": [MODERN, *LEGACY],
                "capabilities": {"tools": {}},
                "_meta": {_META + "serverInfo": self._info},
            }
            return self._cacheable(found)
        if method == "tools/list":
            listed = {"tools": [self._tool]}
            return self._cacheable(listed) if modern else listed
        if method == "tools/call":
            result = await self._call(given)
            return {**result, "resultType": "complete"} if modern else result
        raise RpcError(METHOD_NOT_FOUND, f"there is no method {method!r}")

    async def notification(self, method: str, params: bytes) -> None:
        """Nothing of what is told changes anything; cancelling is the peer's."""

    @staticmethod
    def _is_modern(given: dict[str, Any]) -> bool:
        meta = given.get("_meta")
        version = meta.get(_META + "protocolVersion") if isinstance(meta, dict) else None
        if version is None or version == MODERN or version in LEGACY:
            return version == MODERN
        data = {"supported": [MODERN, *LEGACY], "requested": version}
        raise RpcError(UNSUPPORTED_VERSION, f"protocol version {version!r} is not spoken here", data)

    @staticmethod
    def _cacheable(result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def _call(self, given: dict[str, Any]) -> dict[str, Any]:
        if given.get("name") != self._tool["name"]:
            raise RpcError(INVALID_PARAMS, f"there is no tool {given.get('name')!r}; there is 'task'")
        try:
            wanted = msgspec.convert(given.get("arguments") or {}, TaskArguments)
        except msgspec.ValidationError as exc:
            raise RpcError(INVALID_PARAMS, f"task: {exc}") from None
        if not wanted.prompt.strip():
            raise RpcError(INVALID_PARAMS, "task: the prompt is empty")
        request, going_on = self._request, wanted.session_id
        if going_on:
            if going_on not in self._begun:
                raise RpcError(INVALID_PARAMS, f"no task of this server has the session_id {going_on!r}")
            if going_on in self._going_on:
                raise RpcError(INVALID_PARAMS, f"the task {going_on!r} is in progress; wait for its answer")
            request = msgspec.structs.replace(request, resume=going_on)
            self._going_on.add(going_on)
        try:
            async with self._free:
                result = await do(request, self._opener, wanted.prompt, self._progress(given))
        finally:
            self._going_on.discard(going_on)
        if not self._request.no_session:
            self._begun.add(result.get("structuredContent", {}).get("session_id", ""))
        return result

    def _progress(self, given: dict[str, Any]) -> Callable[[str], None]:
        """Where what is going on is told, if the client wants to hear it."""
        meta = given.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        peer, count = self.peer, 0
        if peer is None or isinstance(token, bool) or not isinstance(token, str | int):
            return lambda text: None

        def tell(text: str) -> None:
            nonlocal count
            count += 1
            told = {"progressToken": token, "progress": count, "message": text}
            peer.notify("notifications/progress", told)

        return tell


def run_mcp_server(
    make: Callable[[], Server], *, reading: int, writing: int, log: Callable[[str], None]
) -> int:
    """Serve the client at two descriptors until it leaves or a signal comes; returns the exit code."""
    return asyncio.run(_serve(make, Input(reading, MOST_BYTES), Output(writing), log))


async def _serve(
    make: Callable[[], Server], reading: Input, writing: Output, log: Callable[[str], None]
) -> int:
    server = make()
    peer = server.peer = Peer(
        reading,
        writing,
        server,
        cancellable=("tools/call",),
        cancel="notifications/cancelled",
        told=False,
        log=log,
    )
    number = await listened(peer)
    await peer.settle(0.0 if number or peer.failure else PATIENCE)
    return exit_code(number, peer.failure, log)


def _object(params: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(params, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as exc:
        raise RpcError(INVALID_PARAMS, f"params must be an object: {exc}") from None
