"""The instruction blocks of a place: the user's own files, and the project's where it is trusted.

Every file is opened without leaving the folder it belongs to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence

import msgspec

from wisp.context.blocks import Block
from wisp.context.imports import with_imports
from wisp.context.project import NAMES, NoteFile, file_blocks
from wisp.context.prompt import assemble, environment
from wisp.context.skills import catalogue
from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import Configured, configure
from wisp.host.given import whole_file
from wisp.host.library import TrustBook
from wisp.host.paths import environment as process_environment
from wisp.host.settings import absolute
from wisp.host.skills import Skills, find, places
from wisp.messages.ids import Clock, SystemClock
from wisp.workspace.errors import Refused
from wisp.workspace.files import read_whole
from wisp.workspace.root import Workspace

FILE_BYTES = 1 << 20
"""Most bytes read of one instruction file; of a longer one nothing is used."""


class Stack(msgspec.Struct, frozen=True):
    """What every request of a conversation begins with."""

    blocks: tuple[Block, ...]
    skills: Skills
    notes: tuple[str, ...]
    """What a person should know: what was cut, hidden, or could not be read."""
    branch: str = ""
    """The branch that is checked out."""


def instructions(request: OpenRequest) -> tuple[list[tuple[str, str, int]], tuple[str, ...]]:
    """`(source, text, bytes of the source)` of the blocks that a run with `request` would begin with, and
    what was cut or left out of them.

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
        found = instruction_stack(configured, workspace, clock)
        return [(block.source, block.text, block.size) for block in found.blocks], found.notes
    finally:
        workspace.close()


def instruction_stack(configured: Configured, workspace: Workspace, clock: Clock, prompt: str = "") -> Stack:
    """The blocks of a place, and the skills its catalogue names; `prompt` is a program's own beginning.

    Raises:
        OpenFailed: the file that replaces the prompt cannot be read.
    """
    settings = configured.settings
    replacement = ("the calling program", prompt) if prompt else None
    if settings.system_prompt and not prompt:
        path = absolute(settings.system_prompt, configured.cwd)
        try:
            text = whole_file(path).decode("utf-8-sig")
            replacement = (path, text.replace("\r\n", "\n"))
        except (OSError, UnicodeDecodeError) as exc:
            raise OpenFailed(f"--system-prompt {path}: {exc}", 2) from None
    branch = _branch(workspace)
    place = environment(
        configured.cwd,
        f"{os.uname().sysname} {os.uname().machine}",
        time.strftime("%Y-%m-%d", time.gmtime(clock.now())),
        branch,
    )
    folders = trusted_folders(configured, clock)
    notes: list[str] = []
    blocks, cut = file_blocks(list(_files(configured, folders, workspace, notes)))
    skills = find(places(folders, configured.paths.home, configured.paths.config))
    offered, left = ("", 0) if not skill_tool_offered(configured) else catalogue(skills.all())
    if left:
        notes.append(f"{left} skills found no room in the catalogue; the model can load them by name only")
    built = assemble(
        environment=place,
        replacement=replacement,
        files=blocks,
        skills=offered,
        planning=settings.permission_mode == "plan",
        appended=settings.append_system_prompt,
    )
    return Stack(built, skills, (*notes, *cut, *skills.notes), branch)


def skill_tool_offered(configured: Configured) -> bool:
    """Whether the settings leave the model the tool that loads skills."""
    chosen = configured.settings.tools
    return chosen is None or "skill" in chosen


def trusted_folders(configured: Configured, clock: Clock) -> list[str]:
    """Folders whose files may be read, from the working directory up to the repository's; each by its own
    decision, none because another is trusted."""
    if not configured.trusted:
        return []
    found = [configured.cwd]
    book = TrustBook(configured.paths.trust_file, clock)
    for folder in above(configured.cwd):
        if book.state(folder) == "trusted":
            found.append(folder)
    return found


def above(cwd: str) -> list[str]:
    """The folders above `cwd` up to the one that holds `.git`; none where there is no such folder."""
    found: list[str] = []
    folder = cwd
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return []
        found.append(parent)
        folder = parent
    return found


def notes_of(workspace: Workspace, below: str, notes: list[str]) -> tuple[str, str] | None:
    """`(path, text)` of the instruction file in a folder of a workspace; None where there is none.

    Args:
        below: the folder, from the workspace's first root; empty for that root.
        notes: takes what a person should know.
    """
    for name in NAMES:
        path = f"{below}/{name}" if below else name
        text = _text(workspace, path, notes)
        if text is None:
            continue
        if name == "CLAUDE.md":
            text, taken = with_imports(text, path, lambda inner: _text(workspace, inner, notes))
            path += f" (with {', '.join(taken)})" if taken else ""
        return path, text
    return None


def _files(
    configured: Configured, folders: Sequence[str], workspace: Workspace, notes: list[str]
) -> Iterator[NoteFile]:
    """Broadest first: the user's own, then from the repository's folder down to the working directory."""
    if (own := _in_folder(configured.paths.config, notes)) is not None:
        yield NoteFile(os.path.join(configured.paths.config, own[0]), own[1], own=True)
    for folder in reversed(folders[1:]):
        if (found := _in_folder(folder, notes)) is not None:
            yield NoteFile(os.path.join(folder, found[0]), found[1])
    if folders and (here := notes_of(workspace, "", notes)) is not None:
        yield NoteFile(*here)


def _in_folder(folder: str, notes: list[str]) -> tuple[str, str] | None:
    if not any(os.path.lexists(os.path.join(folder, name)) for name in NAMES):
        return None
    try:
        workspace = Workspace(folder)
    except Refused:
        return None
    try:
        return notes_of(workspace, "", notes)
    finally:
        workspace.close()


def _text(workspace: Workspace, path: str, notes: list[str] | None = None) -> str | None:
    try:
        content = read_whole(workspace, workspace.place(path), FILE_BYTES)
    except Refused as exc:
        if notes is not None and exc.code not in ("not_found", "not_directory"):
            notes.append(f"{path} is left out: {exc}")
        return None
    return content.data.decode("utf-8-sig", "replace")


def _branch(workspace: Workspace) -> str:
    """The checked-out branch by `.git/HEAD`; no program is started for it."""
    text = _text(workspace, ".git/HEAD") or ""
    return text.strip().removeprefix("ref: refs/heads/") if text.startswith("ref: refs/heads/") else ""
