"""What a person can set in an editor: the permission mode, the model, its effort; and the slash commands.

Pure: from what is known to what is offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from wisp.frontends.acp.types import (
    AvailableCommand,
    CommandInput,
    ConfigOption,
    McpServer,
    Mode,
    Modes,
    OptionValue,
)
from wisp.frontends.wire.peer import INVALID_PARAMS, RpcError
from wisp.host.showing import flat, safe
from wisp.host.slash import SlashCommand
from wisp.host.snapshot import Snapshot

MODES = (
    Mode(id="ask", name="Ask", description="Reads freely; asks before it writes or runs a command"),
    Mode(id="auto", name="Auto", description="Runs inside the sandbox without asking; asks for the rest"),
    Mode(id="plan", name="Plan", description="Changes nothing; ends with a plan"),
    Mode(id="read-only", name="Read only", description="Changes nothing and runs nothing"),
    Mode(id="full", name="Full access", description="Asks nothing and is held by nothing"),
)
MODE_IDS = frozenset(mode.id for mode in MODES)
NO_EFFORT = "default"
"""The value that leaves the effort to the model."""

ELSEWHERE = {
    "new": "begin a new session in the editor",
    "resume": "open the session in the editor",
    "clone": "fork the session in the editor",
    "fork": "fork the session in the editor",
    "later": "say it when this run is over",
    "queue": "nothing waits here",
    "stop": "cancel the prompt in the editor",
    "copy": "copy the answer in the editor",
    "quit": "close the session in the editor",
    "login": "run wisp login in a terminal, then /reload",
}
"""Commands that an editor does itself, and how."""


def mcp_settings(servers: Iterable[McpServer]) -> dict[str, dict[str, Any]]:
    """The client's MCP servers as `[mcp_servers.NAME]` tables of the settings.

    Raises:
        RpcError: one cannot be used.
    """
    found: dict[str, dict[str, Any]] = {}
    for server in servers:
        if server.type == "stdio" and server.command:
            env = {pair.name: pair.value for pair in server.env}
            table: dict[str, Any] = {"command": [server.command, *server.args], "env": env}
        elif server.type == "http" and server.url:
            headers = {pair.name: pair.value for pair in server.headers}
            table = {"url": server.url, "headers": headers}
        else:
            raise RpcError(INVALID_PARAMS, f"the MCP server {server.name[:100]!r} is neither stdio nor http")
        found[re.sub("[^A-Za-z0-9_-]", "_", server.name) or "server"] = table
    return found


def modes(snapshot: Snapshot) -> Modes:
    """The permission modes and which is in force."""
    return Modes(current_mode_id=snapshot.permission_mode, available_modes=MODES)


def config_options(snapshot: Snapshot, models: Iterable[Mapping[str, Any]]) -> tuple[ConfigOption, ...]:
    """The same modes once more, the models that can be used, and the efforts that the model knows.

    Args:
        models: rows as the library gives them.
    """
    current = f"{snapshot.provider}/{snapshot.model}"
    named = {f"{row['provider']}/{row['model']}": row for row in models}
    values = [
        OptionValue(value=name, name=flat(str(row["model"])), description=flat(str(row["provider"])))
        for name, row in named.items()
    ]
    if current not in named:
        own = OptionValue(value=current, name=flat(snapshot.model), description=flat(snapshot.provider))
        values.insert(0, own)
    found = [
        ConfigOption(
            id="mode",
            name="Permission mode",
            category="mode",
            current_value=snapshot.permission_mode,
            options=tuple(
                OptionValue(value=mode.id, name=safe(mode.name), description=safe(mode.description))
                for mode in MODES
            ),
        ),
        ConfigOption(
            id="model", name="Model", category="model", current_value=current, options=tuple(values)
        ),
    ]
    levels = [str(level) for level in named.get(current, {}).get("efforts", ())]
    if snapshot.effort and snapshot.effort not in levels:
        levels.append(snapshot.effort)
    if levels:
        found.append(
            ConfigOption(
                id="effort",
                name="Effort",
                category="thought_level",
                current_value=snapshot.effort or NO_EFFORT,
                options=tuple(OptionValue(value=level, name=flat(level)) for level in [NO_EFFORT, *levels]),
            )
        )
    return tuple(found)


def available(commands: Iterable[SlashCommand]) -> tuple[AvailableCommand, ...]:
    """What an editor offers after `/`."""
    return tuple(
        AvailableCommand(
            name=command.name,
            description=flat(command.help),
            input=CommandInput(hint=flat(command.arguments)) if command.arguments else None,
        )
        for command in commands
        if command.name not in ELSEWHERE
    )


def built_in(line: str, commands: Iterable[SlashCommand]) -> SlashCommand | None:
    """The built-in command that a prompt is; None where it is something to say, or starts a skill."""
    if not line.startswith("/") or line.startswith("//"):
        return None
    word = line[1:].split(maxsplit=1)
    for command in commands if word else ():
        if command.kind == "built-in" and word[0] in (command.name, *command.aliases):
            return command
    return None
