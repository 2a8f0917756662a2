"""All configured servers of one conversation: started side by side, their tools in one fixed order.

A server that is slow, dead or mad costs its own tools and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from wisp.mcp.content import Keep
from wisp.mcp.names import server_keys, tool_names
from wisp.mcp.ports import Answerer
from wisp.mcp.prompts import Prompt
from wisp.mcp.resources import OWN_NAME, ResourceTool
from wisp.mcp.server import Plan, Server, State
from wisp.mcp.tool import McpTool

ServerTool = McpTool | ResourceTool
MOST_NAMED = 30
"""Tools that one line of news names."""
RESOURCES = "wisp:resource"
"""What the tool for resources is called where a server has a tool of its usual name."""


class Servers:
    """Close it at the end.

    Args:
        keep: where a long result is put.
        version: of wisp, told to servers.
    """

    def __init__(self, plans: Sequence[Plan], answerer: Answerer, keep: Keep, version: str) -> None:
        self._keep = keep
        self._all = [
            Server(plan, answerer, version, self._change)
            for plan in sorted(plans, key=lambda plan: plan.name)
        ]
        self._keys = server_keys(plan.name for plan in plans)
        self._taken: tuple[ServerTool, ...] = ()
        self._fresh = False
        self._told: dict[str, str] = {}
        self._introduced: set[str] = set()
        self.tell: Callable[[str], None] = lambda said: None
        """Told, in words for a person, of a server that fails later than the first `take`."""

    def _change(self) -> None:
        self._fresh = True
        for server in self._all:
            name = server.plan.name
            if server.error != self._told.get(name, ""):
                self._told[name] = server.error
                if server.error:
                    self.tell(f"the MCP server {name!r}: {server.error}")

    def begin(self) -> None:
        """Start all of them; returns at once."""
        for server in self._all:
            server.begin()

    async def settled(self, limit: float | None = None) -> None:
        """Until it is known of each what becomes of it: by its own limit, or all by `limit` seconds."""
        waits = [asyncio.ensure_future(server.ready()) for server in self._all]
        if waits:
            _, late = await asyncio.wait(waits, timeout=limit)
            for one in late:
                one.cancel()

    def find(self, name: str) -> Server | None:
        """The server that the settings call `name`."""
        return next((server for server in self._all if server.plan.name == name), None)

    @property
    def states(self) -> tuple[State, ...]:
        """All of them, by name."""
        return tuple(server.state for server in self._all)

    def tools(self) -> tuple[ServerTool, ...]:
        """What is there to be offered now: by server, then by name, so that requests begin alike."""
        found: list[ServerTool] = []
        for server in self._all:
            own = RESOURCES if OWN_NAME in server.listed else OWN_NAME
            names = tool_names(self._keys[server.plan.name], [*server.listed, own])
            if server.has_resources and server.plan.wanted(own):
                found.append(ResourceTool(names[own], server, self._keep))
            found += [
                McpTool(names[definition.name], server, definition, self._keep) for definition in server.tools
            ]
        return tuple(sorted(found, key=lambda tool: tool.spec.name))

    def introductions(self) -> dict[str, str]:
        """What servers with tools say of their use, by name; of each server once."""
        found = {}
        for server in self._all:
            if server.tools and server.plan.name not in self._introduced:
                self._introduced.add(server.plan.name)
                if server.instructions:
                    found[server.plan.name] = server.instructions
        return found

    def prompts(self) -> dict[str, tuple[Server, Prompt]]:
        """The prompts of all servers, by the name a person types."""
        found = {}
        for server in self._all:
            names = tool_names(self._keys[server.plan.name], [prompt.name for prompt in server.prompts])
            found.update({names[prompt.name]: (server, prompt) for prompt in server.prompts})
        return found

    def take(self) -> tuple[ServerTool, ...]:
        """As `tools`; what is told by `news` afterwards is counted from here."""
        self._fresh = False
        self._taken = self.tools()
        self._told = {server.plan.name: server.error for server in self._all}
        return self._taken

    def news(self) -> tuple[str, ...]:
        """What changed since the last `take`, a line each for the model; empty for nothing, and then `take`
        would change nothing."""
        if not self._fresh:
            return ()
        self._fresh = False
        now = self.tools()
        before, after = {t.identity for t in self._taken}, {t.identity for t in now}
        lines = []
        for server in self._all:
            mine = [tool for tool in now if tool.server is server]
            old = {tool.spec.name for tool in self._taken if tool.server is server}
            new = [tool.spec.name for tool in mine if tool.spec.name not in old]
            changed = [t.spec.name for t in mine if t.spec.name in old and t.identity not in before]
            gone = sorted(old - {tool.spec.name for tool in mine})
            lines += _line(server.plan.name, "new tools", new)
            lines += _line(server.plan.name, "tools described otherwise than before", changed)
            lines += _line(server.plan.name, "tools no longer there", gone)
        if before == after:
            return ()
        said = [introduction(name, text) for name, text in self.introductions().items()]
        return (*lines, *said)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know: servers that failed, tools that are left out."""
        found = []
        for server in self._all:
            name = server.plan.name
            if server.error and not server.tools:
                found.append(f"the MCP server {name!r} is not used: {server.error}")
            elif server.starting:
                found.append(f"the MCP server {name!r} is still starting; its tools are not offered yet")
            found += [f"the MCP server {name!r}: {note}" for note in server.notes[:10]]
        return tuple(found)

    async def close(self) -> None:
        """End all of them, together."""
        await asyncio.gather(*(server.close() for server in self._all))


def introduction(server: str, text: str) -> str:
    """What a server says of its use, as a model is told it."""
    return f"the MCP server {server!r} (whoever wrote it, not the user) says of its use: {text}"


def _line(server: str, what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return [f"the MCP server {server!r}: {what}: {', '.join(names[:MOST_NAMED])}{more}"]
