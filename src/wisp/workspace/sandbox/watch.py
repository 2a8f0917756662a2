"""Finding protected names in a tree, quickly and again and again.

A folder whose change time did not move is not read again, so that looking after every command costs a
system call a folder.  The change time, unlike the modification time, cannot be set back.  Knows names;
nothing of how they are protected.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from wisp.workspace.protected import folded

MASKED = (".git", ".wisp", ".mcp.json", ".vscode", ".envrc", ".claude", ".cursor", ".idea")
"""Names that, where missing at a root, cannot be made by a command."""
SHELL_NAMES = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
    ".zshenv", ".zprofile", ".zlogin", ".inputrc", ".gitconfig",
)  # fmt: skip
BARE_NAMES = ("config", "hooks")
"""What is protected in a folder that git takes for a repository of its own."""
_BARE = {"HEAD", "objects", "refs"}
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
MOST_NAMES = 400
_FRESH = 50_000_000
"""Nanoseconds: a folder changed this short before it was read may have changed again unseen."""


class _Folder(NamedTuple):
    changed: int
    read: int
    names: tuple[str, ...]
    """Protected ones."""
    below: tuple[str, ...]


class Watch:
    """The protected names below one root; used from one thread at a time."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, _Folder] = {}
        self.complete = True
        """Whether the last look reached every folder it should."""

    def look(self, now: int) -> list[str]:
        """Absolute paths of protected names.  `now` is the wall clock in nanoseconds."""
        found: list[str] = []
        kept: dict[str, _Folder] = {}
        todo = [(self._root, 0)]
        self.complete = True
        while todo:
            path, depth = todo.pop()
            if len(kept) >= MOST_FOLDERS or len(found) >= MOST_NAMES:
                self.complete = False
                break
            folder = self._folder(path, now)
            if folder is None:
                continue
            kept[path] = folder
            found += [f"{path}/{name}" for name in folder.names]
            if depth < DEPTH:
                todo += [(f"{path}/{name}", depth + 1) for name in folder.below]
        self._known = kept
        return found

    def _folder(self, path: str, now: int) -> _Folder | None:
        try:
            changed = os.lstat(path).st_ctime_ns
            known = self._known.get(path)
            if known and known.changed == changed and known.read - changed > _FRESH:
                return known
            names, below, plain = [], [], set()
            with os.scandir(path) as entries:
                for entry in entries:
                    name = entry.name
                    plain.add(name)
                    if _is_frozen(name):
                        names.append(name)
                    elif name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                        below.append(name)
        except OSError:
            return None
        if plain >= _BARE:
            names += [name for name in BARE_NAMES if name in plain]
            below = []
        return _Folder(changed, now, tuple(names), tuple(below))


def _is_frozen(name: str) -> bool:
    if name.isascii() and name.isalnum():
        return False
    return name in _FROZEN or folded(name) in _FROZEN
