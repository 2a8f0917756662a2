"""`.mcp.json`, the list of MCP servers that other agents' users share with a project, as settings.

    {"mcpServers": {"NAME": {"command": "...", "args": [...], "env": {...}} | {"type": "http", "url": "..."}}}

Knows nothing of whether a server may be started.
"""

from __future__ import annotations

from typing import Any

from wisp.host.settings import Problem
from wisp.messages.codec import NotAnObject, strict_object

FILE = ".mcp.json"
_TAKEN = ("command", "args", "env", "cwd", "type", "url", "headers")
"""What counts of an entry.  What would loosen something (`autoApprove`) is nothing a project says."""


def server_list(data: bytes) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """The entries of the file with these bytes, as they stand there."""
    try:
        found = strict_object(data.decode("utf-8-sig")).get("mcpServers", {})
    except UnicodeDecodeError:
        return {}, (Problem(FILE, 0, "it is not UTF-8", "mcp_servers"),)
    except NotAnObject as exc:
        return {}, (Problem(FILE, 0, f"it cannot be read: {exc}", "mcp_servers"),)
    if not isinstance(found, dict):
        return {}, (Problem(FILE, 0, "mcpServers is no object", "mcp_servers"),)
    return found, ()


def as_settings(servers: dict[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """The same as tables of the settings; entries that are none are named in `problems`."""
    tables: dict[str, Any] = {}
    for name, entry in servers.items():
        if not isinstance(entry, dict):
            problems.append(Problem(FILE, 0, f"the server {name!r} is no object", f"mcp_servers.{name}"))
        elif entry.get("type") == "sse":
            why = f"the server {name!r} speaks HTTP+SSE, which is deprecated and not spoken here"
            problems.append(Problem(FILE, 0, why, f"mcp_servers.{name}"))
        else:
            tables[name] = {key: entry[key] for key in _TAKEN if entry.get(key) is not None}
            if entry.get("disabled") is True:
                tables[name]["enabled"] = False
    return tables
