"""One workspace with the real tools, one call at a time, in any of three sandbox configurations, as any user.

What a case led to is judged by what is on the disk afterwards, never by what Wisp says of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from workspace.users import NOBODY, as_user

from wisp.harness.gate import Gate
from wisp.harness.ports import ApprovalAnswer
from wisp.harness.toolbox import Toolbox
from wisp.messages.content import ToolCall
from wisp.messages.ids import SystemClock
from wisp.messages.tool import ToolOutcome
from wisp.policy.decide import Policy
from wisp.policy.modes import Mode
from wisp.policy.rules import Rules
from wisp.tools.builtin import default_tools
from wisp.workspace.background import Backgrounds
from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.root import Workspace

Config = Literal["bubblewrap", "landlock", "none"]
CONFIGS: tuple[Config, ...] = ("bubblewrap", "landlock", "none")
ROOT = Path(__file__).resolve().parents[2]
USERS = [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]
PYTHON = "/usr/bin/python3"


class Consent:
    """A person who says yes to everything, and remembers what they were asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def ask(self, request: Any) -> ApprovalAnswer:
        self.asked.append(request)
        return ApprovalAnswer(request.digest, True)


class Site:
    """A workspace `work`, a home and a folder `out` beside it, none of them beneath a temporary folder."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.work, self.home, self.out = top / "work", top / "home", top / "out"
        for folder in (self.work, self.home, self.out):
            folder.mkdir()
        (self.home / ".gitconfig").write_text(
            "[user]\n\tname = n\n\temail = a@b.test\n[init]\n\tdefaultBranch = main\n"
        )
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "npm_config_cache": str(top / "npm"),
            "GIT_CEILING_DIRECTORIES": str(top),  # what has no repository here must not find ours above
        }

    def prepare(self, commands: str) -> None:
        """Run what sets a case up, plainly."""
        subprocess.run(
            ["/bin/bash", "-c", commands],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )

    def call(
        self,
        config: Config,
        mode: Mode,
        *calls: tuple[str, dict[str, Any]],
        person: Consent | None = None,
        network: str = "none",
        rules: Rules = Rules(),  # noqa: B008 - immutable
    ) -> list[ToolOutcome]:
        """Make calls one after another as the loop would; without a `person` what would be asked is refused."""
        workspace = Workspace(str(self.work))
        path = {"bubblewrap": self.environment["PATH"]}.get(config, "/nonexistent")
        settings = BoxSettings(config != "none", network, str(self.home))
        box = Box(workspace, settings, path, time.monotonic, time.time_ns)
        backgrounds = Backgrounds()
        tools = default_tools(
            workspace,
            environment=self.environment,
            clock=SystemClock(),
            spool_folder=None,
            box=box,
            backgrounds=backgrounds,
        )
        toolbox = Toolbox(tools, Gate(Policy(mode, workspace.cwd, rules, sandboxed=box.likely), person))
        try:
            if config != "none":
                assert box.prove().kind == config, box.prove().reason
            return asyncio.run(_calls(toolbox, calls))
        finally:
            backgrounds.close()
            toolbox.close()
            box.close()
            workspace.close()

    def bash(self, config: Config, mode: Mode, command: str, **more: Any) -> ToolOutcome:
        """One command."""
        return self.call(config, mode, ("bash", {"command": command, "timeout": 20}), **more)[0]


async def _calls(toolbox: Toolbox, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[ToolOutcome]:
    found = []
    for place, (name, arguments) in enumerate(calls):
        ready = await toolbox.prepare(ToolCall(f"c{place}", name, json.dumps(arguments)), lambda _: None)
        found.append(ready.failure or await ready.run(lambda _: None))
    return found


def each_user(work: Callable[[Callable[[], Site]], object]) -> None:
    """Do `work` as root and as an ordinary user (or as ourselves); it is given a maker of fresh sites."""
    for uid in USERS:
        top = Path(tempfile.mkdtemp(prefix=".hostile-", dir=ROOT))
        top.chmod(0o755)
        os.chown(top, uid, uid)
        try:
            as_user(lambda top=top, uid=uid: _within(work, top, uid), uid)  # type: ignore[misc]
        finally:
            shutil.rmtree(top, ignore_errors=True)


def _within(work: Callable[[Callable[[], Site]], object], top: Path, uid: int) -> None:
    if uid == NOBODY:
        sys.executable = PYTHON  # ours may lie where this user cannot go
    made = iter(range(10_000))

    def make() -> Site:
        folder = top / str(next(made))
        folder.mkdir()
        return Site(folder)

    work(make)


@pytest.fixture(scope="session", autouse=True)
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Everything is imported before the user changes: the interpreter may be unreadable after."""
    if shutil.which("bwrap") is None:
        if os.environ.get("CI"):
            pytest.fail("bwrap is missing; CI installs it")
        pytest.skip("bwrap is not installed")
    for config in CONFIGS:
        site = Site(tmp_path_factory.mktemp("warm"))
        calls: list[tuple[str, dict[str, Any]]] = [
            ("bash", {"command": "echo hi > f; cat f; exit 1"}),
            ("read", {"path": "f"}),
            ("edit", {"path": "f", "edits": [{"old_text": "hi", "new_text": "ho"}]}),
            ("write", {"path": "d/g", "content": "x"}),
            ("grep", {"pattern": "h"}),
            ("find", {"pattern": "*"}),
            ("ls", {"path": "."}),
            ("read", {"path": "nowhere"}),
            ("edit", {"path": "f", "edits": [{"old_text": "nowhere", "new_text": "ho"}]}),
        ]
        site.call(config, "ask", *calls, person=Consent())
    yield
