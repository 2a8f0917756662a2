"""The protocol's own reference server, toured over both transports, and its conformance suite for clients."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mcp_client.web import web_plan
from mcp_client.world import program, running
from peers.others import NODE, PEERS, free_port, served, there

from wisp.mcp.content import outcome_of
from wisp.mcp.prompts import filled, text_of
from wisp.mcp.server import Plan
from wisp.mcp.servers import Servers
from wisp.mcp.stdio import StdioLink
from wisp.messages.content import Image
from wisp.tools.base import RunContext
from wisp.workspace.stop import StopToken

pytestmark = pytest.mark.peer

MODULES = PEERS / "mcp" / "node_modules"
EVERYTHING = MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
CONFORMANCE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
SDK = PEERS / "mcp-sdk" / "bin" / "python"
SDK_SERVER = Path(__file__).with_name("mcp_sdk_server.py")
DRIVER = Path(__file__).with_name("mcp_driver.py")


async def _tour(servers: Servers) -> None:
    server = servers.find("every")
    assert server is not None and server.running, servers.states

    async def call(tool: str, **arguments: Any) -> Any:
        return outcome_of(await server.call(tool, arguments), lambda data: "")

    told: list[float] = []
    assert (await call("echo", message="ping")).text == "Echo: ping"
    assert "5" in (await call("get-sum", a=2, b=3)).text
    assert any(isinstance(block, Image) for block in (await call("get-tiny-image")).content)
    assert "[resource demo://" in (await call("get-resource-links", count=2)).text
    assert (
        "[resource demo://" in (await call("get-resource-reference", resourceType="Text", resourceId=1)).text
    )
    structured = await call("get-structured-content", location="New York")
    assert set(structured.details["structured"]) >= {"temperature", "conditions"}
    assert "file:///work" in (await call("get-roots-list")).text
    prompts = servers.prompts()
    assert len(prompts) >= 3 and all(name.startswith("mcp__every__") for name in prompts)
    listing = next(tool for tool in servers.tools() if tool.spec.name == "mcp__every__resource").prepare({})
    assert "demo://" in (await listing.run(RunContext(StopToken(), lambda text: None))).text
    wrong = await call("get-sum", a="no number")
    assert wrong.is_error
    await server.call(
        "trigger-long-running-operation", {"duration": 1, "steps": 4}, lambda *how: told.append(how[0])
    )
    assert told == sorted(told) and told[-1] == 4
    slow = asyncio.ensure_future(server.call("trigger-long-running-operation", {"duration": 60, "steps": 2}))
    await asyncio.sleep(0.2)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert (await call("echo", message="still")).text == "Echo: still"
    names = [tool.spec.name for tool in servers.tools()]
    assert len(names) >= 13 and names == sorted(names)


async def test_the_reference_server_over_stdio() -> None:
    start = program(str(there(NODE)), str(there(EVERYTHING)))
    async with running(Plan("every", lambda: StdioLink(start, time.monotonic), start_limit=60.0)) as servers:
        await _tour(servers)


async def test_the_reference_server_over_http() -> None:
    port = free_port()
    argv = ["/usr/bin/env", f"PORT={port}", str(there(NODE)), str(there(EVERYTHING)), "streamableHttp"]
    with served(argv, port):
        async with running(web_plan("every", f"http://127.0.0.1:{port}/mcp", time.monotonic)) as servers:
            await _tour(servers)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_every_scored_scenario_of_the_conformance_suite_passes(revision: str, tmp_path: Path) -> None:
    """The suite exits with 0 only when each scored requirement of the revision was met."""
    done = subprocess.run(
        [
            str(there(NODE)), str(there(CONFORMANCE)), "client", "--command", f"{sys.executable} {DRIVER}",
            "--requirements", revision, "--timeout", "120000", "-o", str(tmp_path),
        ],
        cwd=tmp_path, env={**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=850, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]


async def _sdk_tour(servers: Servers, protocol: str) -> None:
    server = servers.find("sdk")
    assert server is not None and server.running, servers.states
    assert servers.states[0].protocol == protocol
    assert [tool.spec.name for tool in servers.tools()] == [
        "mcp__sdk__add",
        "mcp__sdk__fail",
        "mcp__sdk__resource",
    ]
    assert outcome_of(await server.call("add", {"a": 2, "b": 3}), lambda data: "").details == {
        "structured": {"result": 5}
    }
    failed = outcome_of(await server.call("fail", {}), lambda data: "")
    assert failed.is_error and "fail" in failed.text
    reading = servers.tools()[2].prepare({"uri": "test://one"})
    assert "the first" in (await reading.run(RunContext(StopToken(), lambda text: None))).text
    _, prompt = servers.prompts()["mcp__sdk__greet"]
    said = text_of(await server.ask("prompts/get", {"name": prompt.name, "arguments": filled(prompt, "Ada")}))
    assert said == "Greet Ada."


async def test_a_server_on_the_official_sdk_over_stdio() -> None:
    """It speaks both eras; the handshake, which every server knows, is tried first."""
    start = program(str(there(SDK)), str(SDK_SERVER), "stdio")
    async with running(Plan("sdk", lambda: StdioLink(start, time.monotonic), start_limit=60.0)) as servers:
        await _sdk_tour(servers, "2025-11-25")


async def test_a_server_on_the_official_sdk_over_http_in_the_newest_era() -> None:
    port = free_port()
    with served([str(there(SDK)), str(SDK_SERVER), "http", str(port)], port):
        async with running(web_plan("sdk", f"http://127.0.0.1:{port}/mcp", time.monotonic)) as servers:
            await _sdk_tour(servers, "2026-07-28")
