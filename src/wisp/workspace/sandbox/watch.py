"""Finding protected names in a tree, quickly and again and again.

A folder whose change time did not move is not read again, so that looking after every command costs a
system call a folder.  The change time, unlike the modification time, cannot be set back.  Knows names;
nothing of how they are protected.
"""

from __future__ import annotations

import os
from collections import deque
from typing import NamedTuple

from wisp.workspace.protected import folded

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
_FRESH = 50_000_000
"""Nanoseconds: a folder changed this short before it was read may have changed again unseen."""


class _Folder(NamedTuple):
    changed: int
    read: int
    names: tuple[str, ...]
    """Protected ones."""
    below: tuple[str, ...]
    skipped: tuple[str, ...] = ()


class Watch:
    """The protected names below one root; used from one thread at a time."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, _Folder] = {}
        self._found: list[str] = []
        self.complete = True
        """Whether the last look reached every folder."""

    def look(self, now: int) -> list[str]:
        """Absolute paths of protected names.  `now` is the wall clock in nanoseconds."""
        if not self._known or not self._same(now):
            self._found = self._look(now)
        return self._found

    def _same(self, now: int) -> bool:
        """Whether each folder holds the same names of interest as at the last look; then so does the tree."""
        known = self._known
        try:
            changed = [
                path
                for path, folder in known.items()
                if os.lstat(path).st_ctime_ns != folder.changed or folder.read - folder.changed <= _FRESH
            ]
        except OSError:
            return False
        for path in changed:
            folder = self._folder(path, now)
            if folder is None or folder[2:] != known[path][2:]:
                return False
            known[path] = folder
        return True

    def _look(self, now: int) -> list[str]:
        found: list[str] = []
        kept: dict[str, _Folder] = {}
        todo: deque[tuple[str, int]] = deque([(self._root, 0)])
        beyond: deque[str] = deque()
        self.complete = True
        while todo and len(kept) < MOST_FOLDERS and len(found) < MOST_NAMES:
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
        most = len(kept) + MOST_BEYOND
        while beyond and len(kept) < most and len(found) < MOST_NAMES:
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
        self._known = kept
        return found

    def _folder(self, path: str, now: int) -> _Folder | None:
        try:
            changed = os.lstat(path).st_ctime_ns
            known = self._known.get(path)
            if known and known.changed == changed and known.read - changed > _FRESH:
                return known
            names: list[str] = []
            below: list[str] = []
            skipped: list[str] = []
            plain: set[str] = set()
            with os.scandir(path) as entries:
                for entry in entries:
                    name = entry.name
                    plain.add(name)
                    if _is_frozen(name):
                        names.append(name)
                    elif entry.is_dir(follow_symlinks=False):
                        (skipped if name in _SKIPPED else below).append(name)
        except OSError:
            return None
        if plain >= _BARE or plain >= _LINKED:
            names += [name for name in BARE_NAMES if name in plain]
            below, skipped = [], []
        return _Folder(changed, now, tuple(names), tuple(below), tuple(skipped))


def _is_frozen(name: str) -> bool:
    if name.isascii() and name.isalnum():
        return False
    return name in _FROZEN or folded(name) in _FROZEN
