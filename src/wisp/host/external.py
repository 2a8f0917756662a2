"""The MCP servers of one conversation as its builder sees them: none, until the settings name one.

Nothing of the protocol is imported before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wisp.context.blocks import Block, block
from wisp.context.estimate import tokens_of_frame
from wisp.harness.masking import Masker
from wisp.harness.ports import Questioner
from wisp.host.configure import Configured
from wisp.host.settings import Settings
from wisp.host.snapshot import McpServer
from wisp.messages.ids import Clock
from wisp.tools.base import Tool
from wisp.workspace.box import Box
from wisp.workspace.root import Workspace

if TYPE_CHECKING:
    from wisp.host.eliciting import Eliciting
    from wisp.host.mcp import Outside
    from wisp.mcp.prompts import Prompt
    from wisp.mcp.servers import Servers, ServerTool

SHARE = 10
"""Servers' tools may take this part of the window with all that is known of them: a tenth."""
USUAL_WINDOW = 128_000
"""Tokens, where a model's window is not known."""
PREFIX = "mcp__"
"""How the names of servers' tools begin."""


class External:
    """Begun once at most, closed in any case."""

    def __init__(self) -> None:
        self._servers: Servers | None = None
        self.asking: Eliciting | None = None
        """Puts what servers ask to the person; None where none of them may, or nobody is there."""
        self._outside: Outside | None = None
        self._masked: Callable[[str], str] = lambda text: text

    @property
    def servers(self) -> Servers | None:
        """The servers; None where none is configured."""
        return self._servers

    def begin(
        self,
        configured: Configured,
        workspace: Workspace,
        env: Mapping[str, str],
        clock: Clock,
        box: Box,
        questioner: Questioner | None = None,
    ) -> None:
        """Start those that are configured; returns at once.

        Args:
            questioner: who answers what servers may ask; None where nobody is there.
        """
        settings = configured.settings
        if not wanted(settings):
            return
        from wisp.host.mcp import Outside, servers_of

        self._outside = Outside(configured, workspace, env, clock, box)
        if questioner is not None and any(one.elicitation for one in settings.mcp_servers.values()):
            from wisp.host.eliciting import Eliciting

            self.asking = self._outside.asking = Eliciting(questioner, clock)
        self._servers = servers_of(self._outside)
        self._servers.begin()

    def mask(self, masker: Masker) -> None:
        """Have what looks like a credential in their settings masked."""
        if self._outside is not None:
            from wisp.host.mcp import mask_secrets

            mask_secrets(self._outside, masker)
            self._masked = masker.mask

    async def tools(
        self, wait: bool, most: float | None, hurry: asyncio.Event | None
    ) -> Sequence[ServerTool]:
        """What can be offered.

        Args:
            wait: until it is known of each server what becomes of it.
            most: seconds that is waited at most.
            hurry: once set, it is not waited any longer.
        """
        if self._servers is None:
            return ()
        if wait:
            waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._servers.settled(most))]
            if hurry is not None:
                waits.append(asyncio.ensure_future(hurry.wait()))
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waits:
                    one.cancel()
        return self._servers.take()

    def known(self) -> Sequence[Tool]:
        """The tools of servers at this moment, for subagents that name them."""
        return self._servers.tools() if self._servers is not None else ()

    def blocks(self) -> list[Block]:
        """What the servers whose tools are there say of their use, each once."""
        if self._servers is None:
            return []
        from wisp.mcp.servers import introduction

        return [
            block("mcp", self._masked(introduction(name, text)), f"the MCP server {name}")
            for name, text in self._servers.introductions().items()
        ]

    @property
    def notes(self) -> Sequence[str]:
        """What a person should know of them by now."""
        return [self._masked(note) for note in self._servers.notes] if self._servers is not None else ()

    def states(self) -> tuple[McpServer, ...]:
        """All of them, by name."""
        if self._servers is None:
            return ()
        return tuple(
            McpServer(state.name, state.status, len(state.tools), self._masked(state.error), state.origin)
            for state in self._servers.states
        )

    def prompts(self) -> dict[str, Prompt]:
        """The servers' prompts, by the name a person types."""
        if self._servers is None:
            return {}
        return {name: prompt for name, (_, prompt) in sorted(self._servers.prompts().items())}

    async def prompt(self, name: str, typed: str) -> str:
        """The words of a prompt of that name, with where they are from.

        Args:
            typed: what followed the name.

        Raises:
            LookupError: there is no such prompt, it does not take what was typed, or the server says no.
        """
        known = self._servers.prompts() if self._servers is not None else {}
        if name not in known:
            from wisp.host.showing import nearest
            from wisp.host.slash import COMMANDS

            meant = nearest(name, [*(command.name for command in COMMANDS), *known])
            raise LookupError(f"there is no command /{name}{meant}; /help lists them")
        from wisp.mcp.prompts import BadArguments, filled, text_of
        from wisp.messages.tool import ToolFailure

        server, prompt = known[name]
        try:
            sent = {"name": prompt.name, "arguments": filled(prompt, typed)}
            text = text_of(await server.ask("prompts/get", sent))
        except BadArguments as exc:
            raise LookupError(str(exc)) from None
        except ToolFailure as exc:
            raise LookupError(exc.message) from None
        if not text:
            raise LookupError(f"the prompt {prompt.name!r} of the MCP server {server.plan.name!r} is empty")
        return f"(the prompt {prompt.name!r} of the MCP server {server.plan.name!r})\n\n{text}"

    def watch(self, tell: Callable[[str], None]) -> None:
        """From here on, tell of servers that fail."""
        if self._servers is not None:
            self._servers.tell = lambda said: tell(self._masked(said))

    async def close(self) -> None:
        """End them."""
        if self._servers is not None:
            await self._servers.close()


def wanted(settings: Settings) -> bool:
    """Whether any server is to be started."""
    some = settings.tools is None or any(name.startswith(PREFIX) for name in settings.tools)
    return some and any(table.enabled for table in settings.mcp_servers.values())


def chosen(tools: Sequence[ServerTool], settings: Settings) -> Sequence[ServerTool]:
    """Those that the setting `tools` wants: each, or by name, or all of a server as `mcp__NAME`."""
    names = settings.tools
    return tools if names is None else [t for t in tools if any(is_of(t.spec.name, name) for name in names)]


def offerable(tools: Sequence[ServerTool], settings: Settings, window: int | None) -> Sequence[Tool]:
    """Those of `tools` that the settings want, as they are offered.

    Args:
        window: tokens of the model's window; where all together would take too much of it, two tools stand
            for them all.
    """
    found = chosen(tools, settings)
    if not found or tokens_of_frame((), [tool.spec for tool in found]) * SHARE <= (window or USUAL_WINDOW):
        return found
    from wisp.mcp.ondemand import on_demand

    return on_demand(found)


def is_of(tool: str, name: str) -> bool:
    """Whether a tool is the one of a name, or of the server that `mcp__NAME` means."""
    return tool == name or tool.startswith(f"{name.removesuffix('*').rstrip('_')}__")
