"""The instruction blocks of a place, read from the project only where it is trusted."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from wisp.context.blocks import Block
from wisp.context.prompt import assemble, environment
from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import Configured, configure
from wisp.host.paths import environment as process_environment
from wisp.host.settings import absolute
from wisp.messages.ids import Clock, SystemClock
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace

PROJECT_FILE = "AGENTS.md"
PROJECT_BYTES = 64_000
"""Most bytes read of one project file."""


def instructions(request: OpenRequest) -> list[tuple[str, str]]:
    """`(source, text)` of the blocks that a run with `request` would begin with.

    Raises:
        OpenFailed: the folder or a named file cannot be read.
    """
    env, clock = process_environment(), SystemClock()
    configured = configure(request, env, clock)
    try:
        workspace = Workspace(configured.cwd)
    except Refused as exc:
        raise OpenFailed(str(exc)) from None
    try:
        return [(found.source, found.text) for found in instruction_blocks(configured, workspace, clock)]
    finally:
        workspace.close()


def instruction_blocks(configured: Configured, workspace: Workspace, clock: Clock) -> Sequence[Block]:
    settings = configured.settings
    replacement = None
    if settings.system_prompt:
        path = absolute(settings.system_prompt, configured.cwd)
        try:
            with open(path, encoding="utf-8") as file:
                replacement = (path, file.read())
        except (OSError, UnicodeDecodeError) as exc:
            raise OpenFailed(f"--system-prompt {path}: {exc}", 2) from None
    place = environment(
        configured.cwd,
        f"{os.uname().sysname} {os.uname().machine}",
        time.strftime("%Y-%m-%d", time.gmtime(clock.now())),
        _branch(workspace),
    )
    project = []
    if configured.trusted:
        text = _project_text(workspace, PROJECT_FILE)
        if text is not None:
            project.append((PROJECT_FILE, text))
    return assemble(
        environment=place,
        replacement=replacement,
        project=project,
        planning=settings.permission_mode == "plan",
        appended=settings.append_system_prompt,
    )


def _project_text(workspace: Workspace, name: str) -> str | None:
    from wisp.workspace.files import read_whole

    try:
        content = read_whole(workspace, workspace.place(name), PROJECT_BYTES)
    except Refused:
        return None
    return content.data.decode("utf-8-sig", "replace")


def _branch(workspace: Workspace) -> str:
    """The checked-out branch by `.git/HEAD`; no program is started for it."""
    text = _project_text(workspace, ".git/HEAD") or ""
    return text.strip().removeprefix("ref: refs/heads/") if text.startswith("ref: refs/heads/") else ""
