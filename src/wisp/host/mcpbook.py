"""`wisp mcp`: which servers are configured and where, adding and removing one, trying one out.

The user's settings file is changed by `host/changing.py`, which keeps everything else in it as it was.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from wisp.host.changing import set_setting
from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.library import TrustBook
from wisp.host.mcp import Outside, origin_of, servers_of
from wisp.host.mcpjson import as_settings
from wisp.host.project import SERVERS, read_project
from wisp.host.sandbox import make_box
from wisp.host.settings import Problem, Settings, merge, read_file
from wisp.host.snapshot import McpServer
from wisp.host.tables import McpServerSettings
from wisp.messages.ids import Clock
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def listed(configured: Configured, clock: Clock) -> list[dict[str, Any]]:
    """Every configured server, also those that are not used, and why they are not; nothing is started."""
    rows = [
        {
            "name": name,
            "state": "configured" if table.enabled else "disabled",
            "origin": origin_of(configured, name),
            "target": _target(table),
        }
        for name, table in sorted(configured.settings.mcp_servers.items())
    ]
    names = {row["name"] for row in rows}
    return rows + [row for row in _unapproved(configured, clock) if row["name"] not in names]


def _unapproved(configured: Configured, clock: Clock) -> list[dict[str, Any]]:
    """What a trusted project lists and nobody agreed to; of another project nothing is read."""
    if not configured.trusted:
        return []
    project = read_project(configured.cwd)
    approved = TrustBook(configured.paths.trust_file, clock).approved(configured.cwd)
    if project.digest == approved:
        return []
    stated = project.layer.values.get("mcp_servers", {})
    tables = as_settings(project.servers, []) | (stated if isinstance(stated, dict) else {})
    found = merge([msgspec.structs.replace(project.layer, values={"mcp_servers": tables})])
    state = "changed since it was approved" if approved else "not approved"
    return [
        {"name": name, "state": f"{state}; look at it, then 'wisp trust allow'", "origin": "this project",
         "target": _target(table)}
        for name, table in sorted(found.settings.mcp_servers.items())
    ]  # fmt: skip


def note(configured: Configured) -> str:
    """What a list cannot show: a project that is not trusted may have servers of its own."""
    place = os.path.join(configured.cwd, SERVERS)
    if configured.trusted or os.path.isdir(place) or not os.path.lexists(place):
        return ""
    return f"{SERVERS} of this folder is not read: the folder is not trusted; see 'wisp trust'"


def _target(table: McpServerSettings) -> str:
    command = [table.command] if isinstance(table.command, str) else list(table.command)
    return table.url or " ".join((*command, *table.args)) or "nothing: it needs a command or a url"


# -- the settings file ------------------------------------------------------------------------------------


def add(configured: Configured, name: str, table: Mapping[str, Any]) -> str:
    """Write one more server into the user's settings; where it stands.

    Raises:
        OpenFailed: the name is none or taken, or the file cannot be read as it is.
    """
    if _NAME.fullmatch(name) is None:
        raise OpenFailed(f"{name!r} is no name for a server; use letters, digits, '.', '_' and '-'", 2)
    path, settings = _own(configured)
    if name in settings.mcp_servers:
        raise OpenFailed(f"there is a server {name!r} in {path} already; 'wisp mcp remove {name}' first", 2)
    set_setting(path, _setting(name), _toml({key: value for key, value in table.items() if value}))
    return path


def remove(configured: Configured, name: str) -> str:
    """Take a server's tables out of the user's settings; where it stood.

    Raises:
        OpenFailed: there is none of that name, or the file cannot be read as it is.
    """
    path, settings = _own(configured)
    if name not in settings.mcp_servers:
        where = origin_of(configured, name) if name in configured.settings.mcp_servers else ""
        why = f"it is configured in {where}" if where else "see 'wisp mcp list'"
        raise OpenFailed(f"there is no server {name!r} in {path}; {why}", 2)
    set_setting(path, _setting(name), None)
    return path


def _own(configured: Configured) -> tuple[str, Settings]:
    path = configured.paths.settings_file
    layer, problems = read_file(path)
    if problems:
        raise OpenFailed(f"{problems[0]}; it is left as it is")
    return path, merge([layer]).settings


def _setting(name: str) -> str:
    return f"mcp_servers.{_key(name)}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _toml(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool) or not isinstance(value, str):
        return json.dumps(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# -- trying one out ---------------------------------------------------------------------------------------


def tried(
    configured: Configured,
    env: Mapping[str, str],
    clock: Clock,
    name: str,
    show: Callable[[str], None] | None = None,
) -> tuple[McpServer, list[tuple[str, str]], tuple[str, ...]]:
    """Start one server as a run would, and end it: its state, its tools with their words, what is odd.

    Args:
        show: takes the address at which a person can agree to a login; None logs in nowhere.

    Raises:
        OpenFailed: there is none of that name.
    """
    if name not in configured.settings.mcp_servers:
        known = ", ".join(configured.settings.mcp_servers) or "none is configured"
        raise OpenFailed(f"there is no MCP server {name!r}; there are: {known}", 2)
    try:
        workspace = Workspace(configured.cwd)
    except Refused as exc:
        raise OpenFailed(str(exc)) from None
    box = make_box(workspace, configured, env, clock)
    outside = Outside(configured, workspace, env, clock, box)
    outside.show = show
    try:
        return asyncio.run(_try(outside, name))
    finally:
        box.close()
        workspace.close()


async def _try(outside: Outside, name: str) -> tuple[McpServer, list[tuple[str, str]], tuple[str, ...]]:
    servers = servers_of(outside, only=(name,))
    servers.begin()
    try:
        await servers.settled()
        [state] = servers.states
        tools = [(tool.spec.name, tool.spec.description) for tool in servers.tools()]
        return (
            McpServer(name, state.status, len(tools), state.error, state.origin), tools, servers.notes
        )  # fmt: skip
    finally:
        await servers.close()


def logged_out(configured: Configured, name: str) -> str:
    """Forget the login to a server; what there was, in words.

    Raises:
        OpenFailed: there is no server of that name, or none with an address.
    """
    from wisp.host.mcplogin import LoginFile
    from wisp.mcp.oauth import Kept

    table = configured.settings.mcp_servers.get(name)
    if table is None or not table.url:
        raise OpenFailed(f"there is no MCP server {name!r} with a url", 2)
    file = LoginFile(configured.paths.mcp_logins, table.url)
    there = bool(file.load().access)
    file.save(Kept())
    return f"the login to {name} is forgotten" if there else f"there was no login to {name}"


def problems_of(configured: Configured) -> list[str]:
    """What is wrong with servers in any settings."""
    found: list[Problem] = [p for p in configured.resolved.problems if p.key.startswith("mcp_servers")]
    return [str(problem) for problem in found]
