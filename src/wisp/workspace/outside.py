"""What a snapshot does not cover and what became of it meanwhile: ignored files, files that are too large."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from wisp.workspace.snapshots import Tree
from wisp.workspace.walk import Found, walk

MOST_LOOKED_AT = 50_000
"""Ignored entries looked at; a folder of dependencies can hold many more."""
MOST_NAMED = 200


class Uncovered(NamedTuple):
    """One path that changed and that no undo puts back."""

    path: str
    why: str


def ignored_since(fd: int, path: str, since: int) -> tuple[list[Uncovered], bool]:
    """Ignored files below the folder that changed after `since`, and whether all of them were looked at.

    Told by the change time, which no program can set.  A file that was deleted leaves no trace.

    Args:
        fd: handle of the folder, which is really at `path`.
        since: nanoseconds since 1970.
    """
    found: list[Uncovered] = []
    left = MOST_LOOKED_AT

    def look(entry: Found) -> None:
        nonlocal left
        if left <= 0 or len(found) >= MOST_NAMED:
            return
        left -= 1
        try:
            status = os.stat(entry.name, dir_fd=entry.folder, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                below(entry)
            elif status.st_ctime_ns > since:
                found.append(Uncovered(os.fsdecode(entry.relative), "ignored"))
        except OSError:
            return  # gone meanwhile, or not ours to look at

    def below(entry: Found) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        folder = os.open(entry.name, flags, dir_fd=entry.folder)
        try:
            for name in sorted(os.listdir(folder)):
                raw = os.fsencode(name)
                if raw != b".git":
                    look(Found(entry.relative + b"/" + raw, folder, raw))
        finally:
            os.close(folder)

    for _ in walk(fd, path, hidden=True, ignored=look):
        pass
    return found, left > 0 and len(found) < MOST_NAMED


def too_large(before: Tree, after: Tree) -> list[Uncovered]:
    """Files whose contents are not kept and that differ between two snapshots."""
    found = []
    for path, entry in before.items():
        later = after.get(path)
        if entry.kind == "file" and not entry.content:
            if later is None or (later.size, later.stamp) != (entry.size, entry.stamp):
                found.append(Uncovered(path, "too large"))
    return found
