"""Chapter 9: the engine in one process, a front end in another, and lines of JSON-RPC between them.

Owns both ends of the pipe.  Neither end knows what the other looks like inside: the one takes a host, and the
other gives events.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict
from typing import Any

from .host import Command, Event, Host, Refused, fold_view
from .renderings import from_json

PROTOCOL = 2


# region: rpc
async def serve(host: Host, requests: AsyncIterator[str], write: Callable[[str], None]) -> None:
    """JSON-RPC 2.0 by lines: initialize, command and snapshot are requests; events are notifications.

    The first request must be initialize.  A client names the newest protocol it knows, and gets what both
    know; a client that knows only protocols older than 1 does not exist.
    """

    def say(**fields: Any) -> None:
        write(json.dumps({"jsonrpc": "2.0", **fields}))

    async def send_events() -> None:
        async for event in host.follow():
            say(method="event", params=asdict(event))

    sender: asyncio.Task[None] | None = None
    async for line in requests:
        number = None
        try:
            request = json.loads(line)
            number = request.get("id")
            params = request.get("params", {})
            match request["method"]:
                case "initialize":
                    agreed = min(int(params["protocol"]), PROTOCOL)
                    if agreed < 1:
                        raise Refused("there is no protocol below 1")
                    say(id=number, result={"protocol": agreed})
                    sender = sender or asyncio.ensure_future(send_events())
                case _ if sender is None:
                    raise Refused("initialize comes first")
                case "snapshot":
                    say(id=number, result=asdict(fold_view(host.log)))
                case "command":
                    host.do(Command(params["kind"], params["body"]))
                    say(id=number, result={})
                case method:
                    raise Refused(f"no method {method!r}")
        except (Refused, ValueError, KeyError, TypeError, AttributeError) as error:
            say(id=number, error={"code": -32600, "message": f"{type(error).__name__}: {error}"})
    if sender is not None:
        sender.cancel()


# endregion: rpc


# region: client
class RemoteHost:
    """A host that is really another process.  It takes commands and gives events, as Host does."""

    def __init__(self, process: asyncio.subprocess.Process, show: Callable[[str], None]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._in, self._out = process.stdin, process.stdout
        self._show = show
        self._sent = 0

    @classmethod
    async def start(cls, command: Sequence[str], cwd: str, show: Callable[[str], None]) -> RemoteHost:
        """Start the engine and propose a protocol: this client would know what comes after 2 as well."""
        pipe = asyncio.subprocess.PIPE
        host = cls(await asyncio.create_subprocess_exec(*command, cwd=cwd, stdin=pipe, stdout=pipe), show)
        host._send("initialize", protocol=PROTOCOL + 1)
        return host

    async def follow(self) -> AsyncIterator[Event]:
        """The engine's events.

        Raises:
            Refused: The engine refused a command; the reason is its own.
        """
        async for line in self._out:
            message = json.loads(line)
            if message.get("method") == "event":
                yield from_json(json.dumps(message["params"]))
                continue
            self._show(f"<- {line.decode().rstrip()}")
            if "error" in message:
                raise Refused(message["error"]["message"])

    def do(self, command: Command) -> None:
        """Send a command.  A refusal comes later, from follow."""
        self._send("command", **asdict(command))

    def _send(self, method: str, **params: Any) -> None:
        self._sent += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params})
        self._show(f"-> {line}")
        self._in.write(f"{line}\n".encode())

    async def close(self) -> None:
        """End the engine by closing its input, and wait for it."""
        self._in.close()
        await self._process.wait()


async def read_stdin() -> AsyncIterator[str]:
    """Standard input, line by line, without blocking the engine."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        yield line


# endregion: client
