"""A server on the official SDK, both eras at once: `mcp_sdk_server.py stdio`, or `http PORT`."""

from __future__ import annotations

import sys

from mcp.server import MCPServer

server = MCPServer("sdk", version="9")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("on purpose")


@server.resource("test://one")
def one() -> str:
    """One."""
    return "the first"


@server.prompt()
def greet(name: str) -> str:
    """Greet."""
    return f"Greet {name}."


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
