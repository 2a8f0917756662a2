"""`wisp mcp`: which servers are configured and where, adding and removing one, trying one out.

Adding appends to the user's settings file and removing takes whole tables out of it; everything else in the
file stays letter by letter, and a file that cannot be read is not written.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.library import TrustBook
from wisp.host.mcp import Outside, origin_of, servers_of
from wisp.host.mcpjson import as_settings
from wisp.host.project import SERVERS, read_project
from wisp.host.sandbox import make_box
from wisp.host.settings import McpServerSettings, Problem, Settings, merge, read_file
from wisp.host.snapshot import McpServer
from wisp.messages.ids import Clock
from wisp.session.whole import create_private_folder
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_HEADER = re.compile(r"[ \t]*\[[ \t]*([^\[\]#]+?)[ \t]*\][ \t]*(?:#.*)?")


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
    if configured.trusted or not os.path.lexists(os.path.join(configured.cwd, SERVERS)):
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
    path, text, settings = _own(configured)
    if name in settings.mcp_servers:
        raise OpenFailed(f"there is a server {name!r} in {path} already; 'wisp mcp remove {name}' first", 2)
    lines = [
        f"[mcp_servers.{_key(name)}]",
        *(f"{key} = {_toml(value)}" for key, value in table.items() if value),
    ]
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    _write(path, text + gap + "\n".join(lines) + "\n", {*settings.mcp_servers, name})
    return path


def remove(configured: Configured, name: str) -> str:
    """Take a server's tables out of the user's settings; where it stood.

    Raises:
        OpenFailed: there is none of that name, or it is not written as tables of its own.
    """
    path, text, settings = _own(configured)
    if name not in settings.mcp_servers:
        where = origin_of(configured, name) if name in configured.settings.mcp_servers else ""
        why = f"it is configured in {where}" if where else "see 'wisp mcp list'"
        raise OpenFailed(f"there is no server {name!r} in {path}; {why}", 2)
    kept, taking = [], False
    for line in text.splitlines(keepends=True):
        if found := _HEADER.fullmatch(line.rstrip("\r\n")):
            parts = _parts(found[1])
            taking = parts[:2] == ["mcp_servers", name]
        elif line.lstrip().startswith("[["):
            taking = False
        if not taking:
            kept.append(line)
    _write(path, "".join(kept).rstrip("\n") + "\n", settings.mcp_servers.keys() - {name})
    return path


def _own(configured: Configured) -> tuple[str, str, Settings]:
    path = configured.paths.settings_file
    layer, problems = read_file(path)
    if problems:
        raise OpenFailed(f"{problems[0]}; it is left as it is")
    return path, layer.text, merge([layer]).settings


def _write(path: str, text: str, names: Any) -> None:
    """Replace the file, once it is seen that the new text says what was meant."""
    from wisp.host.settings import parse

    layer, problems = parse(path, text.encode())
    stated = layer.values.get("mcp_servers", {})
    if problems or set(stated) != set(names):
        raise OpenFailed(f"{path} cannot be changed safely; change its mcp_servers by hand")
    target = os.path.realpath(path)
    create_private_folder(os.path.dirname(target))
    mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o600
    new = f"{target}.{os.getpid()}.new"
    with os.fdopen(
        os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode), "wb"
    ) as file:
        os.fchmod(file.fileno(), mode)
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, target)


def _parts(header: str) -> list[str]:
    """The dotted parts of a table's name, without quotes."""
    return [
        part[0] or part[1] or part[2] for part in re.findall(r'"([^"]*)"|\'([^\']*)\'|([^\s."\']+)', header)
    ]


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
