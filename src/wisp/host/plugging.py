"""Hooks and extensions of a conversation: made when the settings name any, and joined to its host.

Without any, nothing of them is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wisp.context.blocks import Block
from wisp.harness.gate import Gate
from wisp.host.client import OpenRequest
from wisp.host.configure import Configured
from wisp.host.external import External
from wisp.host.news import HostNews
from wisp.host.service import SessionHost
from wisp.host.settings import Settings
from wisp.host.tables import ExtensionSettings
from wisp.loop.boundary import Boundary
from wisp.messages.ids import Clock
from wisp.tools.base import Tool
from wisp.tools.ledger import ReadLedger
from wisp.workspace.box import Box
from wisp.workspace.root import Workspace

if TYPE_CHECKING:
    from wisp.host.extending import Extensions
    from wisp.host.hooking import Hooking


def extensions_of(settings: Settings) -> Mapping[str, ExtensionSettings]:
    """Those that the settings name, and `web_fetch` where they open the network."""
    if settings.network == "none" or "web_fetch" in settings.extensions:
        return settings.extensions
    return {**settings.extensions, "web_fetch": ExtensionSettings()}


async def load_extensions(
    request: OpenRequest, configured: Configured, env: Mapping[str, str], clock: Clock
) -> Extensions | None:
    """The extensions that the settings name; without any, nothing is imported."""
    tables = extensions_of(configured.settings)
    if not any(table.enabled for table in tables.values()):
        return None
    from wisp.host.extending import Extensions

    found = Extensions()
    await found.load(configured, own_process=request.own_process, parts=(env, configured.settings.network))
    return found


def make_hooks(
    settings: Settings,
    workspace: Workspace,
    env: Mapping[str, str],
    clock: Clock,
    ledger: ReadLedger,
    extensions: Extensions | None,
    box: Box,
) -> Hooking | None:
    """The hooks that settings and extensions name; without any, nothing is imported."""
    functions = extensions.functions() if extensions is not None else ()
    if not settings.hooks and not functions:
        return None
    from wisp.host.hooking import Hooking
    from wisp.host.hookrun import Runner

    runner = Runner(settings.hooks, workspace, env, clock, settings.shell, box)
    runner.functions = functions
    return Hooking(runner, workspace, ledger, clock)


async def plugged_blocks(extensions: Extensions | None) -> list[Block]:
    """Their parts of the instructions."""
    return await extensions.blocks() if extensions is not None else []


def plugged_boundary(
    hooking: Hooking | None, inner: Boundary | None, news: HostNews, gate: Gate
) -> Boundary | None:
    """Where hooks are asked between two requests; `inner` alone where there are none."""
    if hooking is None:
        return inner
    hooking.say, hooking.runner.mask = news.say, gate.masker.mask
    return hooking.boundary(inner)


def outside_tools(external: External, extensions: Extensions | None) -> list[Tool]:
    """Tools of servers and extensions at this moment, for subagents whose definitions name them."""
    return [*external.known(), *(extensions.tools(set()) if extensions is not None else ())]


def plugged_notes(hooking: Hooking | None, extensions: Extensions | None) -> list[str]:
    """What a person should know of them by now."""
    notes = hooking.runner.notes if hooking is not None else []
    return [*notes, *(extensions.notes if extensions is not None else ())]


def watch_plugged(host: SessionHost, request: OpenRequest) -> None:
    """Let hooks and extensions hear of a host, and tell it what fails."""
    if host.extensions is not None:
        host.extensions.watch(host.events, host.tell)
    if (hooking := host.hooking) is not None:
        hooking.watch(host.snapshot, host.tell, host.events, converses=request.converses)
        host.session.window.watch = hooking
        if request.opened == "again":
            hooking.leaving = "other"
        else:
            source = (
                "resume" if host.snapshot().resumed else "clear" if request.opened == "clear" else "startup"
            )
            hooking.begin(source)
