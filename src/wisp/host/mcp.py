"""MCP servers from the settings: how each is started or reached, what it may see, what it is told of us.

Imported only where a server is configured.  The protocol is `wisp.mcp`'s; that a call is asked about is the
policy's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote

from wisp._version import __version__
from wisp.harness.masking import Masker
from wisp.host.childenv import child_environment
from wisp.host.configure import Configured
from wisp.host.eliciting import Eliciting
from wisp.host.mcppins import Pins
from wisp.host.project import FILE as PROJECT_FILE
from wisp.host.secrets import without_secrets
from wisp.host.settings import absolute
from wisp.host.tables import McpOAuthSettings, McpServerSettings
from wisp.mcp.ports import Link, NotOffered
from wisp.mcp.server import Plan
from wisp.mcp.servers import Servers
from wisp.mcp.stdio import StdioLink
from wisp.messages.codec import ascii_json
from wisp.messages.ids import Clock
from wisp.providers.errors import ProviderError
from wisp.providers.registry import VENDORS
from wisp.workspace.box import Box
from wisp.workspace.errors import Refused
from wisp.workspace.outputs import keep
from wisp.workspace.process import Ending, quiet_environment, run
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken

MOST_SERVERS = 32
LOGIN_PATIENCE = 660.0
"""Seconds for a server to be ready where a person has to agree first."""

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ONLY_COMMANDS = ("SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY")
"""What commands see and servers do not: doors to a person's other programs."""
_IN_FOLDER = ("/bin/sh", "-c", 'cd -- "$1" && shift && exec "$@"', "sh")


class Misconfigured(Exception):
    """A server's settings make no sense; the message says why."""


class Surroundings:
    """Answers what servers ask: where the work is, and nothing else.  Implements `mcp.ports.Answerer`.

    No model is lent (sampling).  A person is asked (elicitation) only by a server that the settings allow it.

    Args:
        asking: puts forms to a person; None where nobody may be asked.
        server: whose answers these are.
    """

    def __init__(self, workspace: Workspace, asking: Eliciting | None = None, server: str = "") -> None:
        self._workspace, self._asking, self._server = workspace, asking, server

    @property
    def capabilities(self) -> dict[str, Any]:
        """Roots, and forms where a person can be asked."""
        return {"roots": {}} if self._asking is None else {"roots": {}, "elicitation": {"form": {}}}

    async def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """See `mcp.ports.Answerer`."""
        if method == "elicitation/create" and self._asking is not None:
            return await self._asking.form(self._server, params)
        if method != "roots/list":
            raise NotOffered(f"wisp does not do {method[:100]!r} for servers")
        return {
            "roots": [
                {"uri": f"file://{quote(root.path)}", "name": os.path.basename(root.path) or "/"}
                for root in self._workspace.roots
            ]
        }


class Outside:
    """What servers are made from besides their settings."""

    def __init__(
        self, configured: Configured, workspace: Workspace, env: Mapping[str, str], clock: Clock, box: Box
    ) -> None:
        self.configured, self.workspace, self.env, self.clock, self.box = (
            configured, workspace, env, clock, box,
        )  # fmt: skip
        settings = configured.settings
        own = [table.api_key_env for table in settings.providers.values() if table.api_key_env]
        self.key_names = {*own, *(name for vendor in VENDORS.values() for name in vendor.key_variables)}
        """Variables that hold providers' keys."""
        self.asking: Eliciting | None = None
        """Puts servers' forms to a person; None where nobody is there."""
        self.show: Callable[[str], None] | None = None
        """Takes the address at which a person can agree to a login; None where nobody is there."""

    def keep(self, data: bytes) -> str:
        """Keep a long result; where it is."""
        try:
            return keep(self.configured.output, data)
        except OSError:
            return ""


def servers_of(outside: Outside, only: Collection[str] | None = None) -> Servers:
    """The servers that the settings name; nothing is started.

    Args:
        only: names of those that are wanted, even where they are not enabled; None for all that are enabled.
    """
    tables = outside.configured.settings.mcp_servers
    names = [name for name in sorted(tables) if (tables[name].enabled if only is None else name in only)]
    plans = [_plan(name, tables[name], outside) for name in names[:MOST_SERVERS]]
    plans += [
        Plan(name, _nothing, problem=f"at most {MOST_SERVERS} servers are used")
        for name in names[MOST_SERVERS:]
    ]
    return Servers(plans, Surroundings(outside.workspace), outside.keep, __version__)


def origin_of(configured: Configured, name: str) -> str:
    """Where a server is configured, in words."""
    source = configured.resolved.origins.get(f"mcp_servers.{name}", "")
    return "this project" if source == PROJECT_FILE else source


def secrets_of(outside: Outside) -> dict[str, str]:
    """What of the servers' settings looks like a credential, by a name for it."""
    found: dict[str, str] = {}
    for name, table in outside.configured.settings.mcp_servers.items():
        fill = _filling(outside, name)
        stated = {**table.env, **table.headers}
        for key in stated.keys() - without_secrets(stated, ("Authorization", "authorization")).keys():
            try:
                value = fill(stated[key])
            except Misconfigured:
                continue
            found[f"{name}.{key}"] = value.removeprefix("Bearer ")
    return found


def mask_secrets(outside: Outside, masker: Masker) -> None:
    """Have the servers' own credentials masked in whatever is told or kept."""
    for name, value in secrets_of(outside).items():
        masker.add(name, value)


def _nothing() -> Link:
    raise AssertionError("a server with a problem is not started")


def _plan(name: str, table: McpServerSettings, outside: Outside) -> Plan:
    problem, connect = "", _nothing
    try:
        connect = _connect(name, table, outside, _filling(outside, name))
    except Misconfigured as exc:
        problem = str(exc)
    return Plan(
        name,
        connect,
        origin_of(outside.configured, name),
        table.timeout if outside.show is None else LOGIN_PATIENCE,
        table.call_timeout,
        lambda tool: _wanted(tool, table),
        problem,
        Pins(outside.configured.paths.mcp_pins, _identity(name, table)).exchange,
        Surroundings(outside.workspace, outside.asking, name) if table.elicitation else None,
    )


def _identity(name: str, table: McpServerSettings) -> str:
    """What a server is, so that another under its name is another: how it is started or reached."""
    import hashlib

    said = [table.command, table.args, table.url, table.cwd, sorted(table.env), sorted(table.headers)]
    return f"{name} {hashlib.sha256(ascii_json(said)).hexdigest()[:16]}"


def _wanted(tool: str, table: McpServerSettings) -> bool:
    if any(fnmatchcase(tool, pattern) for pattern in table.disabled_tools):
        return False
    return table.tools is None or any(fnmatchcase(tool, pattern) for pattern in table.tools)


def _filling(outside: Outside, name: str) -> Callable[[str], str]:
    """What puts values for `${NAME}` and `${NAME:-instead}`; a project's file gets no provider's key."""
    origin = outside.configured.resolved.origins.get(f"mcp_servers.{name}")
    hidden = outside.key_names if origin == PROJECT_FILE else ()

    def value(found: re.Match[str]) -> str:
        variable, instead = found[1], found[2]
        if variable in hidden:
            raise Misconfigured(f"it wants {variable}, a provider's key, which no project is given")
        stated = outside.env.get(variable, "")
        if not stated and instead is None:
            raise Misconfigured(f"the variable {variable} is not set")
        return stated or instead

    return lambda text: _REFERENCE.sub(value, text)


def _connect(
    name: str, table: McpServerSettings, outside: Outside, fill: Callable[[str], str]
) -> Callable[[], Link]:
    words = [table.command] if isinstance(table.command, str) else list(table.command)
    argv = [fill(word) for word in (*words, *table.args) if word or words != [""]]
    if bool(argv) == bool(table.url):
        raise Misconfigured("it needs either a command or a url")
    if table.url:
        return _remote(name, table, outside, fill)
    if any("\0" in word for word in argv):
        raise Misconfigured("its command holds a NUL character")
    stated = {key: fill(value) for key, value in table.env.items()}
    folder = absolute(fill(table.cwd), outside.configured.cwd) if table.cwd else ""
    start = _Program(argv, _environment(outside, stated), folder, outside, boxed=table.sandbox != "off")
    return lambda: StdioLink(start, outside.clock.monotonic)


def _remote(
    name: str, table: McpServerSettings, outside: Outside, fill: Callable[[str], str]
) -> Callable[[], Link]:
    from wisp.host.mcpweb import HttpWeb, checked
    from wisp.mcp.http import HttpLink

    address, headers = fill(table.url), {key: fill(value) for key, value in table.headers.items()}
    try:
        checked(address)
    except ProviderError as exc:
        raise Misconfigured(exc.message) from None
    if any(key.lower() == "authorization" for key in headers):
        return lambda: HttpLink(address, headers, HttpWeb(outside.env), outside.clock.monotonic)
    from wisp.host.mcplogin import authorizer

    stated = table.oauth or McpOAuthSettings()
    filled = (fill(stated.client_id), fill(stated.client_secret), stated.scopes)

    def link() -> Link:
        web = HttpWeb(outside.env)
        file, now = outside.configured.paths.mcp_logins, outside.clock.now
        auth = authorizer(name, address, web, file, now, filled, outside.show)
        return HttpLink(address, headers, web, outside.clock.monotonic, auth)

    return link


def _environment(outside: Outside, stated: Mapping[str, str]) -> dict[str, str]:
    """What a server sees: what commands see, less what leads to other programs, and what its settings say."""
    base = child_environment(outside.env, tuple(outside.key_names), ())
    plain = {key: value for key, value in base.items() if key not in _ONLY_COMMANDS}
    return quiet_environment(plain) | {"PWD": outside.configured.cwd} | dict(stated)


class _Program:
    """Starts one server's program, in the box where there is one; implements `mcp.ports.Start`."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], folder: str, outside: Outside, *, boxed: bool
    ) -> None:
        self._argv, self._env, self._folder = list(argv), dict(env), folder
        self._outside, self._boxed = outside, boxed

    def __call__(
        self,
        stop: StopToken,
        output: Callable[[bytes], object],
        errors: Callable[[bytes], object],
        stdin: int,
    ) -> Ending:
        box, forever = self._outside.box, float("inf")
        if self._boxed and box.settings.wanted and box.prove().kind != "none":
            argv = [*_IN_FOLDER, self._folder, *self._argv] if self._folder else self._argv
            ending, _ = box.run(
                argv, env=self._env, timeout=forever, stop=stop, output=output, stdin=stdin, errors=errors
            )
            return ending
        return self._plainly(stop, output, errors, stdin)

    def _plainly(
        self,
        stop: StopToken,
        output: Callable[[bytes], object],
        errors: Callable[[bytes], object],
        stdin: int,
    ) -> Ending:
        folder = -1
        if self._folder:
            try:
                folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError as exc:
                raise Refused("not_found", f"its folder {self._folder}: {exc.strerror}") from None
        try:
            return run(
                self._argv,
                cwd=folder if folder >= 0 else self._outside.workspace.roots[0].fd,
                env=self._env,
                timeout=float("inf"),
                stop=stop,
                now=self._outside.clock.monotonic,
                output=output,
                errors=errors,
                stdin=stdin,
            )
        finally:
            if folder >= 0:
                os.close(folder)
