"""Where the tools and the model of a subagent come from: the conversation's folder or a worktree of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wisp.host.agents import Agent
from wisp.host.asking import model_service
from wisp.host.client import OpenFailed
from wisp.host.configure import Configured, configure
from wisp.host.delegating import Surroundings
from wisp.host.models import ConfigError
from wisp.host.sandbox import make_box
from wisp.host.subagents import Kit, Model, Parts, Subagents
from wisp.host.tooling import built_in_tools, skill_tools
from wisp.tools.base import Tool
from wisp.tools.ledger import ReadLedger
from wisp.workspace.background import Backgrounds
from wisp.workspace.box import Box
from wisp.workspace.outputs import keep
from wisp.workspace.root import Workspace


def subagents_of(around: Surroundings, agents: Sequence[Agent]) -> Subagents:
    """The subagents of a conversation, of these kinds."""
    configured, clock, stack = around.configured, around.clock, around.stack

    def kit(agent: Agent) -> Kit:
        return _elsewhere(around, agent) if agent.writes and agent.isolated else _here(around, agent)

    async def model(name: str) -> Model:
        service = around.service
        if name and not around.fixed_model:
            try:
                return await _other_model(name, around)
            except (ConfigError, OpenFailed):
                pass  # definitions are shared with agents that know other models
        return Model(service.provider, service.model, _nothing)

    parts = Parts(
        tuple(agents),
        configured.settings,
        clock,
        lambda: stack.blocks,
        kit,
        model,
        around.hooking,
        around.approver,
    )
    return Subagents(parts)


def _here(around: Surroundings, agent: Agent) -> Kit:
    """Tools over the conversation's own folder, with a memory of their own of what was read."""
    backgrounds = Backgrounds()
    tools = _tools(around, agent, around.configured, around.workspace, around.box, backgrounds)
    return Kit(tools, backgrounds.close, around.configured.cwd)


def _elsewhere(around: Surroundings, agent: Agent) -> Kit:
    """Tools over a worktree; what was changed there is kept as a patch."""
    from wisp.host.worktrees import Worktree

    configured, clock = around.configured, around.clock
    made = Worktree(configured.cwd, around.child_env, around.box)
    moved = msgspec.structs.replace(configured, cwd=made.cwd)
    workspace = Workspace(made.cwd)
    box = make_box(workspace, moved, around.env, clock)
    backgrounds = Backgrounds()

    def finish() -> str:
        patch, stat = made.changes()
        if not patch:
            return "It changed no file."
        path = keep(configured.output, patch, ".patch")
        told = (
            f"Its changes are not in your files yet: {path} holds them; `git apply {path}` takes them over."
        )
        return f"{told}\n{stat}"

    def close() -> None:
        backgrounds.close()
        box.close()
        workspace.close()
        made.remove()

    return Kit(_tools(around, agent, moved, workspace, box, backgrounds), close, made.cwd, finish)


def _tools(
    around: Surroundings,
    agent: Agent,
    configured: Configured,
    workspace: Workspace,
    box: Box,
    backgrounds: Backgrounds,
) -> list[Tool]:
    here = configured.cwd == around.configured.cwd  # no editor knows the files of a worktree of ours
    ledger = ReadLedger(around.request.buffers if here else None)
    own = built_in_tools(workspace, around.child_env, configured, around.clock, box, backgrounds, ledger)
    named = around.more() if agent.tools is not None else ()
    return [*own, *skill_tools(configured, around.stack.skills), *named]


async def _other_model(name: str, around: Surroundings) -> Model:
    options = {**around.request.options, "model": name, "provider": ""}
    request = msgspec.structs.replace(around.request, options=options)
    configured = configure(request, around.env, around.clock)
    service = await model_service(request, None, configured, around.env, around.clock)
    return Model(service.provider, service.model, service.close)


async def _nothing() -> None:
    """The conversation's own model is let go of with the conversation."""
