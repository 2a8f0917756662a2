"""The `task` tool's other end, light for runs that never use it: kinds at once, the rest when used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from wisp.harness.ports import Approver
from wisp.host.agents import DESCRIPTION_MOST, TOLD_MOST, find_agents
from wisp.host.asking import ModelService
from wisp.host.client import OpenRequest
from wisp.host.configure import Configured
from wisp.host.instructions import Stack, trusted_folders
from wisp.host.service import SessionHost
from wisp.messages.ids import Clock
from wisp.messages.tool import ToolOutcome
from wisp.tools.base import RunContext, Tool
from wisp.tools.task import Helper, TaskTool
from wisp.workspace.box import Box
from wisp.workspace.root import Workspace

if TYPE_CHECKING:
    from wisp.host.hooking import Hooking
    from wisp.host.subagents import Subagents


class Surroundings(msgspec.Struct, frozen=True):
    """The conversation's own parts."""

    request: OpenRequest
    configured: Configured
    env: Mapping[str, str]
    """Of this process."""
    child_env: Mapping[str, str]
    """Of commands."""
    clock: Clock
    service: ModelService
    workspace: Workspace
    box: Box
    stack: Stack
    hooking: Hooking | None
    approver: Approver | None
    fixed_model: bool
    """The program brought the model, and there is no other."""
    more: Callable[[], Sequence[Tool]]
    """Tools of servers and extensions, which a subagent has where its definition names them."""


class Delegation:
    """Subagents that are made ready with the first task; implements the `task` tool's `Helpers`.

    Args:
        around: the conversation that they belong to.
    """

    def __init__(self, around: Surroundings) -> None:
        paths = around.configured.paths
        folders = trusted_folders(around.configured, around.clock)
        self._around = around
        chosen = around.configured.settings.tools
        self._offered = chosen is None or "task" in chosen
        found, odd = find_agents(folders, paths.home, paths.config) if self._offered else ([], [])
        self._agents = found
        self.notes = tuple(odd)
        """What was odd about the files that define any."""
        self.parent: SessionHost | None = None
        """Set before the first task."""
        self._ready: Subagents | None = None

    def tools(self) -> tuple[Tool, ...]:
        """The `task` tool, where the settings leave it to the model."""
        return (TaskTool(self),) if self._offered else ()

    def kinds(self) -> tuple[Helper, ...]:
        """See `Helpers.kinds`."""
        return tuple(Helper(a.name, a.description[:DESCRIPTION_MOST]) for a in self._agents[:TOLD_MOST])

    async def run(self, name: str, label: str, prompt: str, context: RunContext) -> ToolOutcome:
        """See `Helpers.run`."""
        if self._ready is None:
            from wisp.host.kits import subagents_of

            self._ready = subagents_of(self._around, self._agents)
            self._ready.parent = self.parent
        return await self._ready.run(name, label, prompt, context)
