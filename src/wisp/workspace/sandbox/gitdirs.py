"""Which parts of a repository's own folder can make git run something, and which it must write.

A command in the box may commit; it may not change what a later `git` of yours, outside the box, would
run.  Pure looking: opens small pointer files, writes nothing.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from wisp.workspace.sandbox.gitreads import named, small_file
from wisp.workspace.sandbox.standins import is_standin

_FROZEN = (
    "config",
    "config.worktree",
    "hooks",
    "info",
    "modules",
    "commondir",
    "gitdir",
    "remotes",
    "branches",
)
_MADE = ("hooks", "info", "modules")
"""Where missing, an empty folder in their place changes nothing for git."""


class Layout(NamedTuple):
    """What to do with one repository."""

    writable: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    """There, to be read-only."""
    absent_folders: tuple[str, ...] = ()
    """Not there, never to be made: an empty folder stands in for them."""
    absent_files: tuple[tuple[str, bytes], ...] = ()
    """As above, with the content that stands in."""
    named: tuple[tuple[str, str], ...] = ()
    """What its configuration names, anywhere, as `gitreads.named` tells it."""


def frozen(common: str) -> list[str]:
    """What is there of a repository's own folder and can make git run something."""
    return [
        place for name in _FROZEN if _there(place := os.path.join(common, name)) and not os.path.islink(place)
    ]


def layout(dot_git: str) -> Layout:
    """What to do with the `.git` at this path: a folder, a pointer file, or something else."""
    try:
        mode = os.lstat(dot_git).st_mode
    except OSError:
        return Layout()
    if stat.S_ISDIR(mode):
        return _folder(dot_git, main=True)
    if stat.S_ISREG(mode):
        return _pointer(dot_git)
    return Layout()


def _folder(path: str, *, main: bool, tree: str = "") -> Layout:
    if not _is_repository(path, main):
        return Layout(frozen=(path,))
    frozen, folders = [], []
    for name in _FROZEN:
        place = os.path.join(path, name)
        if _there(place):
            frozen.append(place)
        elif main and name in _MADE:
            folders.append(place)
    pinned, kept = _worktrees(path) if main else ((), [])
    configs = [os.path.join(path, name) for name in ("config", "config.worktree")]
    reads = named(configs, (path, os.path.dirname(path), *([tree] if tree else ())))
    files = tuple(_absent_files(path, main))
    return Layout((path, *pinned), (*frozen, *kept), tuple(folders), files, tuple(reads))


def _worktrees(path: str) -> tuple[tuple[str, ...], list[str]]:
    """The folder of the other worktrees, where more may be added, and what is in it, which stays as it is."""
    place = os.path.join(path, "worktrees")
    try:
        if not stat.S_ISDIR(os.lstat(place).st_mode):
            return (), [place]
        return (place,), [os.path.join(place, name) for name in os.listdir(place)]
    except FileNotFoundError:
        return (), []
    except OSError:
        return (), [place]  # a command has shut it, and could open it again


def _absent_files(path: str, main: bool) -> list[tuple[str, bytes]]:
    found = []
    config, common, own = (os.path.join(path, name) for name in ("config", "commondir", "config.worktree"))
    if main and not _there(config):
        found.append((config, b""))
    if main and not _there(common):
        found.append((common, b".\n"))  # git reads its configuration from where this points: here
    if not _there(own):  # also where git does not read it yet: one command of yours makes it
        found.append((own, b""))
    return found


def leads_to(dot_git: str) -> str:
    """The repository's or worktree's own folder that the pointer at this path names; empty where none is."""
    words = small_file(dot_git)
    if not words.startswith(b"gitdir: ") or b"\0" in words:
        return ""
    target = os.path.realpath(os.path.join(os.path.dirname(dot_git), os.fsdecode(words[8:].strip())))
    return target if os.path.lexists(os.path.join(target, "HEAD")) else ""


def _pointer(dot_git: str) -> Layout:
    """A worktree's pointer: followed only to a folder that points back at it."""
    frozen = Layout(frozen=(dot_git,))
    target = leads_to(dot_git)
    if not target:
        return frozen
    back = os.fsdecode(small_file(os.path.join(target, "gitdir")).strip())
    if not back or os.path.realpath(back) != os.path.realpath(dot_git):
        return frozen
    common = os.path.realpath(
        os.path.join(target, os.fsdecode(small_file(os.path.join(target, "commondir")).strip()))
    )
    if os.path.dirname(os.path.dirname(target)) != common or not _is_repository(common, True):
        return frozen
    tree = os.path.dirname(dot_git)
    main, own = _folder(common, main=True, tree=tree), _folder(target, main=False, tree=tree)
    kept = tuple(place for place in main.frozen if place != target)
    return Layout(
        main.writable + own.writable,
        (dot_git, *kept, *own.frozen),
        main.absent_folders,
        main.absent_files + own.absent_files,
        main.named + own.named,
    )


def _there(path: str) -> bool:
    """Whether something is there that is not merely standing in."""
    try:
        return not is_standin(os.lstat(path))
    except OSError:
        return False


def _is_repository(path: str, main: bool) -> bool:
    names = ("HEAD", "objects", "refs") if main else ("HEAD",)
    return all(os.path.lexists(os.path.join(path, name)) for name in names)
