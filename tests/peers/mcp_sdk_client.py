"""The official SDK's client, once per era: `mcp_sdk_client.py MODE ARGV...` prints what it made of the server."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters


async def main(mode: str, argv: list[str]) -> dict[str, Any]:
    """Look at the server, have it do two tasks one after the other, and cancel a third."""
    heard: list[Any] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    server = StdioServerParameters(command=argv[0], args=argv[1:], env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        first = await client.call_tool("task", {"prompt": "first"}, progress_callback=progress)
        again = {"prompt": "WRITE", "session_id": first.structured_content["session_id"]}
        second = await client.call_tool("task", again, progress_callback=progress)
        wrong = ""
        try:
            await client.call_tool("task", {"prompt": ""})
        except Exception as exc:
            wrong = str(exc)
        late = ""
        try:
            async with asyncio.timeout(1):
                await client.call_tool("task", {"prompt": "LONG"})
        except TimeoutError:
            late = "cancelled"
        after = await client.call_tool("task", {"prompt": "after"})
        return {
            "server": client.server_info.name if client.server_info else "",
            "version": client.protocol_version,
            "tools": [tool.name for tool in listed.tools],
            "first": [first.is_error, first.structured_content["answer"]],
            "second": [second.is_error, second.structured_content["stop_reason"]],
            "heard": heard,
            "wrong": wrong,
            "late": late,
            "after": after.structured_content["answer"],
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2:]))))
