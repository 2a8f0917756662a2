"""A workspace with the default tools, and one call at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wisp.messages.ids import SystemClock
from wisp.messages.tool import ToolFailure, ToolOutcome
from wisp.tools.base import Prepared, RunContext, Tool
from wisp.tools.builtin import default_tools
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken


class Bench:
    """The tools over one folder."""

    def __init__(self, folder: Path, spool: Path, **options: Any) -> None:
        self.folder, self.spool = folder, spool
        self.workspace = Workspace(str(folder))
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
        tools = default_tools(
            self.workspace,
            environment=environment,
            clock=SystemClock(),
            spool_folder=str(spool),
            journal=str(spool.parent / "journal"),
            **options,
        )
        self.tools: dict[str, Tool] = {tool.spec.name: tool for tool in tools}
        self.progress: list[str] = []

    def prepare(self, tool: str, /, **arguments: Any) -> Prepared:
        return self.tools[tool].prepare(arguments)

    def run(self, prepared: Prepared, stop: StopToken | None = None) -> ToolOutcome:
        try:
            outcome = prepared.run(RunContext(stop or StopToken(), self.progress.append))
        except ToolFailure as failure:
            return failure.outcome()
        assert isinstance(outcome, ToolOutcome)
        return outcome

    def call(self, tool: str, /, **arguments: Any) -> ToolOutcome:
        try:
            prepared = self.prepare(tool, **arguments)
        except ToolFailure as failure:
            return failure.outcome()
        return self.run(prepared)

    def edit(self, path: str, old: str, new: str, **more: Any) -> ToolOutcome:
        return self.call("edit", path=path, edits=[{"old_text": old, "new_text": new, **more}])


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    folder = tmp_path / "ws"
    folder.mkdir()
    made = Bench(folder, tmp_path / "spool")
    yield made
    made.workspace.close()
