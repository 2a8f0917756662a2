"""Finding protected names in a tree, quickly and again and again.

A folder of which the kernel tells no change is not looked at again; one that cannot be watched costs a system
call, and is read again where its change time moved, which, unlike the modification time, cannot be set back.
Knows names; nothing of how they are protected.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from typing import NamedTuple

from wisp.workspace.protected import folded
from wisp.workspace.sandbox.changes import Changes

MASKED = (".git", ".wisp", ".mcp.json", ".vscode", ".envrc", ".claude", ".cursor", ".idea")
"""Names that, where missing at a root, cannot be made by a command."""
SHELL_NAMES = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
    ".zshenv", ".zprofile", ".zlogin", ".inputrc", ".gitconfig",
)  # fmt: skip
BARE_NAMES = ("config", "hooks", "commondir")
"""What is protected in a folder that git takes for a repository of its own."""
_BARE = {"HEAD", "objects", "refs"}
_LINKED = {"HEAD", "commondir"}
_REPOSITORY = (".git", *BARE_NAMES)
_FROZEN = {
    *MASKED, *SHELL_NAMES, ".hg", ".svn", ".codex", ".gemini", ".zed", ".devcontainer", ".husky", ".githooks",
    ".direnv", ".lefthook.yml", "lefthook.yml", ".ssh", ".gnupg", ".aws",
}  # fmt: skip
_SKIPPED = {
    "node_modules",
    "__pycache__",
    ".venv",
    "venv",
    "target",
    ".tox",
    ".nox",
    ".mypy_cache",
    "site-packages",
}
DEPTH = 4
MOST_FOLDERS = 3000
MOST_BEYOND = 1000
"""Folders deeper down, or skipped at first, that are looked at for repositories only."""
MOST_NAMES = 400
MOST_GROWN = 50_000
"""Folders, near and far, of a tree that was seen whole before: commands cannot make it too large to watch."""
MOST_GROWN_NAMES = 2000
_OPEN = stat.S_IRUSR | stat.S_IXUSR
_FRESH = 50_000_000
"""Nanoseconds: a folder changed this short before it was read may have changed again unseen."""


class _Folder(NamedTuple):
    changed: int
    read: int
    watched: bool
    """Whether its changes are told, so that it need not be looked at to find out."""
    names: tuple[str, ...] = ()
    """Protected ones."""
    below: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    shut: bool = False

    @property
    def fresh(self) -> bool:
        """Whether it may have changed again unseen."""
        return self.read - self.changed <= _FRESH

    @property
    def holds(self) -> tuple[object, ...]:
        """What is of interest in it."""
        return self[3:]


class Watch:
    """The protected names below one root; used from one thread at a time.

    Args:
        changes: tells which folders need to be looked at; without it each of them is, at every look.
    """

    def __init__(self, root: str, changes: Changes | None = None) -> None:
        self.root = root
        self._changes = changes
        self._known: dict[str, _Folder] = {}
        self._unwatched: list[str] = []
        self._found: list[str] = []
        self._top = (-1, -1)
        self.complete = True
        """Whether the last look reached every folder."""
        self.outgrown = False
        """Whether a look after one that did has not; for the caller to set back."""
        self.shut: list[str] = []
        """Folders of ours that the last look found shut."""

    def look(self, now: int) -> list[str]:
        """Absolute paths of protected names, and of folders of ours that we may not look into.

        What was found once is found as long as it is there, however large the tree has grown meanwhile.

        Args:
            now: the wall clock in nanoseconds.
        """
        if not self._same(now):
            self._found = self._look(now)
        return self._found

    def _same(self, now: int) -> bool:
        """Whether each folder holds the same names of interest as at the last look; then so does the tree."""
        known = self._known
        told = self._changes.told() if self._changes else set()
        if told is None or not known:
            return False
        try:
            there = os.lstat(self.root)
            if (there.st_dev, there.st_ino) != self._top:
                return False
            changed = [path for path in told if path in known]
            changed += [
                path
                for path in self._unwatched
                if os.lstat(path).st_ctime_ns != known[path].changed or known[path].fresh
            ]
        except OSError:
            return False
        for path in changed:
            folder = self._folder(path, now)
            if folder is None or folder.holds != known[path].holds or folder.watched != known[path].watched:
                return False
            known[path] = folder
        return True

    def _look(self, now: int) -> list[str]:
        found: list[str] = []
        kept: dict[str, _Folder] = {}
        todo: deque[tuple[str, int]] = deque([(self.root, 0)])
        beyond: deque[str] = deque()
        was_whole = bool(self._known) and self.complete
        most, further, names = (
            (MOST_GROWN, MOST_GROWN, MOST_GROWN_NAMES)
            if was_whole
            else (MOST_FOLDERS, MOST_BEYOND, MOST_NAMES)
        )
        while todo and len(kept) < most and len(found) < names:
            path, depth = todo.popleft()
            folder = self._folder(path, now)
            if folder is None:
                continue
            kept[path] = folder
            found += [f"{path}/{name}" for name in folder.names]
            places = [f"{path}/{name}" for name in folder.below]
            beyond += [f"{path}/{name}" for name in folder.skipped]
            if depth < DEPTH:
                todo += [(place, depth + 1) for place in places]
            else:
                beyond += places
        most = len(kept) + further
        while beyond and len(kept) < most and len(found) < names:
            path = beyond.popleft()
            folder = self._folder(path, now)
            if folder is None:
                continue
            kept[path] = folder
            found += [
                f"{path}/{name}" for name in folder.names if name in _REPOSITORY or folded(name) == ".git"
            ]
            beyond += [f"{path}/{name}" for name in (*folder.below, *folder.skipped)]
        self.complete = not todo and not beyond
        self.outgrown |= was_whole and not self.complete
        self._known = kept
        self.shut = [path for path, folder in kept.items() if folder.shut]
        self._unwatched = [path for path, folder in kept.items() if not folder.watched]
        found += self.shut
        if not self.complete:
            found += sorted(set(filter(None, map(_still, self._found))).difference(found))
        return found

    def _folder(self, path: str, now: int) -> _Folder | None:
        """What is at `path`; None where no folder is."""
        try:
            told = self._changes is not None and self._changes.watch(path)
            there = os.lstat(path)  # after that: what it was before says nothing
            watched = told and self._changes is not None and there.st_dev == self._changes.device
            if path == self.root:
                self._top = (there.st_dev, there.st_ino)
        except OSError:
            return None
        known = self._known.get(path)
        if known and known.changed == there.st_ctime_ns and not known.fresh:
            return known if known.watched == watched else known._replace(watched=watched)
        if not stat.S_ISDIR(there.st_mode):
            return None
        read = _Folder(there.st_ctime_ns, now, watched)
        if _is_shut(there):
            return read._replace(shut=True)
        names: list[str] = []
        below: list[str] = []
        skipped: list[str] = []
        plain: set[str] = set()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    name = entry.name
                    plain.add(name)
                    if _is_frozen(name):
                        names.append(name)
                    elif entry.is_dir(follow_symlinks=False):
                        (skipped if name in _SKIPPED else below).append(name)
        except FileNotFoundError:
            return None
        except OSError:
            return read  # somebody else's, who may open it later
        if plain >= _BARE or plain >= _LINKED:
            names += [name for name in BARE_NAMES if name in plain]
            below, skipped = [], []
        return read._replace(names=tuple(names), below=tuple(below), skipped=tuple(skipped))


def _is_shut(there: os.stat_result) -> bool:
    """Whether this folder keeps its owner out, who is us: a command may open it again.

    Root looks into it all the same, but has not that capability in the box.
    """
    return there.st_mode & _OPEN != _OPEN and there.st_uid == os.geteuid()


def _still(path: str) -> str:
    """`path` if something is there, the folder above it that keeps us from seeing it, or nothing."""
    while True:
        try:
            os.lstat(path)
            return path
        except PermissionError:
            path = os.path.dirname(path)
        except OSError:
            return ""


def _is_frozen(name: str) -> bool:
    if name.isascii() and name.isalnum():
        return False
    return name in _FROZEN or folded(name) in _FROZEN
