"""A scripted MCP server over HTTP: every request is kept, a function says what is answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from wisp.mcp.http import HttpLink
from wisp.mcp.server import Plan


class Seen(NamedTuple):
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def asked(self) -> str:
        """The method of the message in it."""
        return str(self.body.get("method", "")) if isinstance(self.body, dict) else ""


class Reply(NamedTuple):
    """An answer: a status, headers, and pieces sent one after another; a number is seconds to wait."""

    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    pieces: Sequence[bytes | float] = ()
    cut: bool = False
    """Close in the middle: the length that was announced is never reached."""


def result(seen: Seen, value: Any, *headers: tuple[str, str]) -> Reply:
    """A good JSON answer."""
    data = json.dumps({"jsonrpc": "2.0", "id": seen.body["id"], "result": value}).encode()
    return Reply(200, [("content-type", "application/json"), *headers], [data])


def stream(*events: str, cut: bool = False, waits: Sequence[float] = ()) -> Reply:
    """An answer as events."""
    pieces: list[bytes | float] = [*(event.encode() for event in events), *waits]
    return Reply(200, [("content-type", "text/event-stream")], pieces, cut)


def event(value: Any, *, id_: str = "") -> str:
    """One event with a message."""
    return (f"id: {id_}\n" if id_ else "") + f"data: {json.dumps({'jsonrpc': '2.0', **value})}\n\n"


TOOLS = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
SAID = {"content": [{"type": "text", "text": "hi"}]}


def legacy(seen: Seen) -> Reply:
    """A plain server of revision 2025-11-25 with a session."""
    if seen.method != "POST":
        return Reply(405 if seen.method == "GET" else 200)
    if seen.asked == "initialize":
        agreed = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "w"}}
        return result(seen, agreed, ("Mcp-Session-Id", "s-1"))
    if seen.asked == "tools/list":
        return result(seen, TOOLS)
    if seen.asked == "tools/call":
        return result(seen, SAID)
    return Reply(202) if "id" not in seen.body else Reply(400)


@asynccontextmanager
async def serving(answer: Callable[[Seen], Reply]) -> AsyncIterator[tuple[str, list[Seen]]]:
    """The server; its address and what it saw."""
    log: list[Seen] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                method, path, _ = line.decode().split(" ", 2)
                headers = {}
                while (line := await reader.readline()).strip():
                    name, _, value = line.decode("latin-1").partition(":")
                    headers[name.strip().lower()] = value.strip()
                raw = await reader.readexactly(int(headers.get("content-length", 0)))
                seen = Seen(method, path, headers, _body(headers, raw))
                log.append(seen)
                await _reply(writer, answer(seen))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp", log
    finally:
        server.close()


def _body(headers: dict[str, str], raw: bytes) -> Any:
    form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return raw.decode() if form else json.loads(raw) if raw else None


async def _reply(writer: asyncio.StreamWriter, reply: Reply) -> None:
    head = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in reply.headers)]
    writer.write("\r\n".join([*head, "transfer-encoding: chunked", "", ""]).encode())
    for piece in reply.pieces:
        if isinstance(piece, float | int):
            await asyncio.sleep(piece)
        elif piece:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
    if reply.cut:
        raise ConnectionError
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def web_plan(
    name: str, address: str, now: Callable[[], float], headers: dict[str, str] | None = None, **more: Any
) -> Plan:
    """A server at an address."""
    from wisp.host.mcpweb import HttpWeb

    authorizer = more.pop("authorizer", None)
    return Plan(
        name,
        lambda: HttpLink(address, headers or {}, HttpWeb({}), now, authorizer),
        **{"start_limit": 60.0, "call_limit": 60.0, **more},
    )
