"""Real servers under a real client: no wisp around it, no model."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from wisp.mcp.ports import NotOffered
from wisp.mcp.server import Plan
from wisp.mcp.servers import Servers
from wisp.mcp.stdio import StdioLink
from wisp.workspace.process import Ending, run
from wisp.workspace.stop import StopToken

SERVER = str(Path(__file__).with_name("server.py"))
ROOTS = {"roots": [{"uri": "file:///work", "name": "work"}]}


class Roots:
    """Answers for roots only."""

    capabilities: Mapping[str, Any] = {"roots": {}}

    async def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method != "roots/list":
            raise NotOffered(f"not {method}")
        return ROOTS


def program(*argv: str) -> Callable[..., Ending]:
    """Starts a program as a server."""

    def start(
        stop: StopToken, output: Callable[[bytes], object], errors: Callable[[bytes], object], stdin: int
    ) -> Ending:
        folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
        try:
            return run(
                argv,
                cwd=folder,
                env={"PATH": os.environ["PATH"]},
                timeout=float("inf"),
                stop=stop,
                now=time.monotonic,
                output=output,
                errors=errors,
                stdin=stdin,
            )
        finally:
            os.close(folder)

    return start


def plan(name: str, *argv: str, **more: Any) -> Plan:
    """The test server in a mode, with generous limits unless said otherwise."""
    start = program(sys.executable, "-S", SERVER, *argv)
    return Plan(
        name, lambda: StdioLink(start, time.monotonic), **{"start_limit": 60.0, "call_limit": 60.0, **more}
    )


@asynccontextmanager
async def running(*plans: Plan) -> AsyncIterator[Servers]:
    """All of them, once it is known what became of each."""
    kept: list[bytes] = []

    def keep(data: bytes) -> str:
        kept.append(data)
        return f"/kept/{len(kept)}"

    servers = Servers(plans, Roots(), keep, "test")
    servers.begin()
    try:
        await servers.settled()
        yield servers
    finally:
        await servers.close()
