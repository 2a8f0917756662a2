"""Which tools a conversation has: the built-in ones, those that make sense here, and a program's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wisp.harness.ports import Questioner
from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.external import PREFIX
from wisp.host.instructions import skill_tool_offered
from wisp.host.mending import changes_folder
from wisp.host.settings import Settings
from wisp.host.skills import Skills
from wisp.messages.ids import Clock
from wisp.tools.base import Tool
from wisp.tools.ledger import ReadLedger
from wisp.workspace.background import Backgrounds
from wisp.workspace.box import Box
from wisp.workspace.root import Workspace

if TYPE_CHECKING:
    from wisp.host.extending import Extensions


def offered(
    configured: Configured,
    built_in: Sequence[Tool],
    skills: Skills,
    questioner: Questioner | None,
    own: Sequence[Tool],
    extensions: Extensions | None = None,
) -> Sequence[Tool]:
    """Everything the model is offered: what is always there, what makes sense here, a program's own.

    A program's tool takes the place of a built-in one of its name.

    Raises:
        OpenFailed: the settings name a tool that there is not, or two of the program's have one name.
    """
    named = {tool.spec.name: tool for tool in own}
    if len(named) < len(own):
        names = [tool.spec.name for tool in own]
        twice = next(name for name in names if names.count(name) > 1)
        raise OpenFailed(f"two tools are named {twice!r}; give one of them another name", 2)
    more = (*skill_tools(configured, skills), *_talking_tools(questioner))
    others = [tool for tool in (*built_in, *more) if tool.spec.name not in named]
    found = [*others, *own]
    if extensions is not None:
        found += extensions.tools({tool.spec.name for tool in found})
    return _offered(found, configured.settings)


def built_in_tools(
    workspace: Workspace,
    env: Mapping[str, str],
    configured: Configured,
    clock: Clock,
    box: Box,
    backgrounds: Backgrounds,
    ledger: ReadLedger | None = None,
) -> Sequence[Tool]:
    """The default set over one workspace."""
    from wisp.tools.builtin import code_installed, default_tools
    from wisp.workspace.text import DEFAULT_FALLBACKS

    chosen = configured.settings.encoding
    return default_tools(
        workspace,
        environment=env,
        clock=clock,
        spool_folder=configured.output,
        shell=configured.settings.shell,
        encodings=(chosen,) if chosen else DEFAULT_FALLBACKS,
        box=box,
        backgrounds=backgrounds,
        ledger=ledger,
        code=code_installed(),
        silence_limit=configured.settings.silence_limit,
        memory_limit=configured.settings.memory_limit,
        journal=changes_folder(configured.cwd, configured.paths.state),
    )


def skill_tools(configured: Configured, skills: Skills) -> Sequence[Tool]:
    """The tool that loads skills, where there are any."""
    if not skills.names() or not skill_tool_offered(configured):
        return ()
    from wisp.tools.skill import SkillTool

    return (SkillTool(skills),)


def _talking_tools(questioner: Questioner | None) -> Sequence[Tool]:
    """The tools that need a person who watches."""
    if questioner is None:
        return ()
    from wisp.tools.asking import AskUserTool, TodoTool

    return (AskUserTool(), TodoTool())


def attribution(settings: Settings) -> str:
    """What a commit command says about attribution."""
    if not settings.attribution:
        return "Add no line that names an agent or a model."
    return f"End each commit message, after a blank line, with this line and no other: {settings.attribution}"


def _offered(tools: Sequence[Tool], settings: Settings) -> Sequence[Tool]:
    if settings.tools is None:
        return tools
    names = [tool.spec.name for tool in tools]
    unknown = [name for name in settings.tools if name not in names and not name.startswith(PREFIX)]
    if unknown:
        raise OpenFailed(f"there is no tool {unknown[0]!r}; the tools are: {', '.join(names)}", 2)
    return [tool for tool in tools if tool.spec.name in settings.tools]
