"""The files that say what a search leaves out: reading them, and finding those that are none.

A pipe, a device or a file without end under such a name says nothing, and would hold up for ever a program
that opens it.  Knows nothing of what rules mean.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator

from wisp.workspace.handles import small_file

MOST = 1 << 20
"""Bytes of such a file that count."""
NAMES = (b".rgignore", b".ignore", b".gitignore", b".git/info/exclude")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_DEPTH = 256


def read_rules(fd: int, name: bytes) -> bytes:
    """What the file `name` in the directory `fd` says; nothing where it is no regular file."""
    return small_file(name, MOST, folder=fd) or b""


def readable(fd: int, path: str) -> Generator[bool]:
    """Whether another program gets to the end of all rule files in, above and below `fd`, really at `path`.

    Tells it first of the directory and those above it, then of a few below it at a time; False is the last
    that it says.
    """
    above = os.fsencode(path).rstrip(b"/")
    good = _harmless(fd)
    while good and above:
        above = above.rpartition(b"/")[0]
        good = _harmless_at(above or b"/")
    yield good
    stack = [(os.dup(fd), iter(_folders(fd)))] if good else []
    try:
        while stack:
            here, names = stack[-1]
            name = next(names, None)
            if name is None:
                os.close(stack.pop()[0])
                continue
            if name == b".git" or len(stack) > _MAX_DEPTH:
                continue
            try:
                below = os.open(name, _DIRECTORY, dir_fd=here)
            except OSError:
                continue  # gone, or not for us
            stack.append((below, iter(_folders(below))))
            good = _harmless(below)
            yield good
            if not good:
                return
    finally:
        for handle, _ in stack:
            os.close(handle)


def _folders(fd: int) -> list[bytes]:
    try:
        with os.scandir(fd) as found:
            return [os.fsencode(entry.name) for entry in found if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _harmless_at(path: bytes) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return True  # neither is it for others
    try:
        return _harmless(fd)
    finally:
        os.close(fd)


def _harmless(fd: int) -> bool:
    """Whether the rule files of one directory can be read to their end, and be it the end of a repository
    that is elsewhere (`.git` is a file then, that leads to another one)."""
    return all(_ends(fd, name) for name in NAMES) and _ends_elsewhere(fd)


def _ends(fd: int, name: bytes) -> bool:
    try:
        about = os.stat(name, dir_fd=fd)
    except (OSError, ValueError):
        return True  # nor can it be opened
    return about.st_size <= MOST if stat.S_ISREG(about.st_mode) else stat.S_ISDIR(about.st_mode)


def _ends_elsewhere(fd: int) -> bool:
    try:
        if not stat.S_ISREG(os.stat(b".git", dir_fd=fd).st_mode):
            return True
    except OSError:
        return True
    if not _ends(fd, b".git"):
        return False
    said, _, _ = read_rules(fd, b".git").partition(b"\n")
    place = said.removeprefix(b"gitdir:").strip()
    if not _ends(fd, place + b"/commondir"):
        return False
    common = read_rules(fd, place + b"/commondir").partition(b"\n")[0].strip()
    return _ends(fd, os.path.join(place, common, b"info/exclude"))
