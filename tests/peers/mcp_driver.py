"""What the protocol's conformance suite starts as a client: our real client, doing what a scenario wants.

    mcp_driver.py URL       MCP_CONFORMANCE_SCENARIO names the scenario, MCP_CONFORMANCE_CONTEXT holds its data

The suite is the server and judges what it saw; the exit code says only whether everything was done.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from wisp.host.mcpweb import HttpWeb
from wisp.mcp.http import HttpLink
from wisp.mcp.oauth import Client, Kept, OAuth
from wisp.mcp.ports import NotOffered
from wisp.mcp.server import Plan, Server
from wisp.messages.tool import ToolFailure
from wisp.providers.oauth import OAuthError

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")


class Agreeable:
    """Says yes to every form, with its defaults: wisp itself asks nobody and says no."""

    capabilities: Mapping[str, Any] = {"elicitation": {"form": {"applyDefaults": True}}, "roots": {}}

    async def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "roots/list":
            return {"roots": []}
        if method != "elicitation/create":
            raise NotOffered(method)
        asked = params.get("requestedSchema", {}).get("properties", {})
        return {
            "action": "accept",
            "content": {k: v["default"] for k, v in asked.items() if "default" in v}
            or {k: _example(v) for k, v in asked.items()},
        }


def _example(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    return {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}.get(str(kind), "text")


class Memory:
    """Keeps a login while the process runs."""

    kept = Kept()

    def load(self) -> Kept:
        return self.kept

    def save(self, kept: Kept) -> None:
        self.kept = kept


class Browser:
    """A person who agrees at once: the address answers with a redirect, which is read instead of followed."""

    redirect = "http://127.0.0.1:3977/callback"

    @asynccontextmanager
    async def asking(self, state: str, port: int) -> AsyncIterator[Browser]:
        yield self

    async def agreed(self, address: str) -> tuple[str, str]:
        web = HttpWeb({})
        response = await web.request("GET", address, {})
        found = dict(parse_qsl(urlsplit(response.headers.get("location", "")).query))
        await web.close()
        if "code" not in found:
            raise OAuthError(f"no code: {response.status} {found}")
        return found["code"], found.get("iss", "")


async def main(address: str) -> int:
    client = Client(
        CONTEXT.get("client_id", ""),
        CONTEXT.get("client_secret", ""),
        "https://conformance-test.local/client-metadata.json",
    )
    memory = Memory()

    def link() -> HttpLink:
        web = HttpWeb({})
        authorizer = OAuth(address, web, memory, Browser(), time.time, client) if "auth" in SCENARIO else None
        return HttpLink(address, {}, web, time.monotonic, authorizer)

    server = Server(Plan("peer", link, call_limit=60.0), Agreeable(), "0", lambda: None)
    server.begin()
    await server.ready()
    try:
        if not server.running:
            print("not started:", server.error, file=sys.stderr)
            return 1
        return await scenario(server)
    finally:
        await server.close()


async def scenario(server: Server) -> int:
    """Call what there is: with the arguments of the scenario's data, else with examples of each type."""
    print("tools:", [tool.name for tool in server.tools], file=sys.stderr)
    wanted = CONTEXT.get("toolCalls")
    if SCENARIO == "json-schema-2020-12-preservation":
        focal = next(tool for tool in server.tools if "schema" not in tool.schema.get("properties", {}))
        echo = next(tool for tool in server.tools if "schema" in tool.schema.get("properties", {}))
        wanted = [{"name": echo.name, "arguments": {"schema": focal.schema}}]
    if not isinstance(wanted, list):
        wanted = [
            {
                "name": tool.name,
                "arguments": {
                    key: _example(value) for key, value in tool.schema.get("properties", {}).items()
                },
            }
            for tool in server.tools
        ]
    for one in wanted:
        try:
            print(one["name"], await server.call(one["name"], one.get("arguments", {})), file=sys.stderr)
        except ToolFailure as exc:
            print(one["name"], "failed:", exc.message, file=sys.stderr)
    for method, key, read, by in (
        ("prompts/list", "prompts", "prompts/get", "name"),
        ("resources/list", "resources", "resources/read", "uri"),
    ):
        if key in server.capabilities:
            found = await server.ask(method, {})
            for item in found.get(key, []):
                print(read, item[by], await server.ask(read, {by: item[by]}), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
