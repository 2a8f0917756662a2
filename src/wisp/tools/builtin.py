"""The default set of tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from wisp.messages.ids import Clock
from wisp.tools.base import Tool
from wisp.tools.edit import EditTool
from wisp.tools.find import FindTool
from wisp.tools.grep import GrepTool
from wisp.tools.ledger import ReadLedger
from wisp.tools.ls import LsTool
from wisp.tools.process import ProcessTool
from wisp.tools.read import ReadTool
from wisp.tools.shell import ShellTool
from wisp.tools.write import WriteTool
from wisp.workspace.background import Backgrounds
from wisp.workspace.box import Box
from wisp.workspace.root import Workspace
from wisp.workspace.text import DEFAULT_FALLBACKS

if TYPE_CHECKING:
    from wisp.workspace.search import Searcher


def code_installed() -> bool:
    """Whether the extra `code` is there; it is not imported for that."""
    return any(os.path.isdir(os.path.join(folder, "ast_grep_py")) for folder in sys.path if folder)


def default_tools(
    workspace: Workspace,
    *,
    environment: Mapping[str, str],
    clock: Clock,
    spool_folder: str | None,
    shell: str = "/bin/bash",
    ledger: ReadLedger | None = None,
    encodings: tuple[str, ...] = DEFAULT_FALLBACKS,
    code_page: str = "",
    search_engine: str = "auto",
    box: Box | None = None,
    backgrounds: Backgrounds | None = None,
    journal: str | None = None,
    silence_limit: float | None = None,
    memory_limit: int | None = None,
    code: bool = False,
) -> tuple[Tool, ...]:
    """`read write edit bash process grep find ls` over one workspace.

    Args:
        environment: everything a command may see; its PATH is also where ripgrep is looked for.
        spool_folder: private folder for whole command outputs.
        ledger: what the model has seen; a fresh one when not given.
        encodings: tried in order for files that are neither marked nor UTF-8.
        code_page: tried for command output that is not UTF-8.
        search_engine: `auto`, `python`, or the path of an `rg`.
        box: where commands and ripgrep run; None runs them plainly.
        backgrounds: what keeps running; whoever gives it closes it.
        code: also `code_search` and `code_map`, which need the extra `code`.
        silence_limit: seconds without output after which a command is ended.
        memory_limit: most address space of each process of a command, in MiB.
        journal: private folder where edits of several files are noted while they are made.
    """
    ledger = ledger or ReadLedger()
    backgrounds = backgrounds or Backgrounds()
    path = environment.get("PATH", "/usr/local/bin:/usr/bin:/bin")

    @cache
    def searcher() -> Searcher:
        from wisp.workspace.search import Searcher  # with the first search, not at start

        return Searcher(workspace, path, clock.monotonic, engine=search_engine, encodings=encodings, box=box)

    more: tuple[Tool, ...] = ()
    if code:
        from wisp.tools.code import CodeMapTool, CodeSearchTool

        more = (CodeSearchTool(workspace, searcher), CodeMapTool(workspace, searcher))
    return (
        ReadTool(workspace, ledger, encodings),
        WriteTool(workspace, ledger, encodings),
        EditTool(workspace, ledger, encodings, journal),
        ShellTool(
            workspace,
            environment,
            clock,
            spool_folder=spool_folder,
            shell=shell,
            code_page=code_page,
            box=box,
            backgrounds=backgrounds,
            silence_limit=silence_limit,
            memory_limit=memory_limit,
        ),
        ProcessTool(backgrounds),
        GrepTool(workspace, searcher),
        FindTool(workspace, searcher),
        LsTool(workspace),
        *more,
    )
