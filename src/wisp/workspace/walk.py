"""Walking a directory tree by handles: ignore files obeyed, links not followed, in a fixed order.

The same files in the same order as `rg --files --no-require-git --sort path` of ripgrep 15 (older ones let a
repository inside another end the outer one's rules).  Knows nothing of what files hold.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from wisp.workspace.ignore import Override, Rules, parse
from wisp.workspace.rulefiles import NAMES, read_rules

_MAX_DEPTH = 256
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Found(NamedTuple):
    """A regular file met on the way; with `everything`, a link or a directory too."""

    relative: bytes
    """From the top of the walk."""
    folder: int
    """Handle of its directory, good until the next step."""
    name: bytes
    kind: str = "file"
    """`file`, `link` or `folder`."""


class _Level(NamedTuple):
    """What one directory says about everything beneath it, strongest first."""

    path: bytes
    """Absolute, without a slash at the end."""
    custom: Rules | None
    plain: Rules | None
    git: Rules | None
    exclude: Rules | None


class _Open(NamedTuple):
    fd: int
    relative: bytes
    names: Iterator[tuple[bytes, bool, bool]]


def walk(
    fd: int,
    path: str,
    *,
    override: Override | None = None,
    hidden: bool = False,
    everything: bool = False,
    check: Callable[[], object] = lambda: None,
    apart: Collection[bytes] = (),
    ignored: Callable[[Found], object] = lambda _: None,
) -> Iterator[Found]:
    """Every regular file below the directory `fd`, really at `path`, that is not ignored, in byte order.

    Ignore files above it count as well.  `check` is called for each entry; raising ends the walk.
    With `everything`, links and directories are told too, a directory before what is in it.  Directories in
    `apart`, relative like what is told, are passed over.  What ignore
    files leave out is told to `ignored`, a directory without what is in it.
    """
    top = os.fsencode(path).rstrip(b"/")
    levels = [*_above(top), _level(fd, top)]
    base = len(levels)
    stack = [_Open(os.dup(fd), b"", iter(_entries(fd, everything)))]
    try:
        while stack:
            here = stack[-1]
            entry = next(here.names, None)
            if entry is None:
                os.close(stack.pop().fd)
                del levels[base + len(stack) - 1 if stack else base :]
                continue
            check()
            name, is_directory, is_file = entry
            relative = here.relative + b"/" + name if here.relative else name
            if relative in apart:
                continue
            kind = "file" if is_file else "folder" if is_directory else "link"
            if _skipped(levels, top, relative, is_directory, override, hidden):
                if name != b".git":
                    ignored(Found(relative, here.fd, name, kind))
                continue
            if is_file:
                yield Found(relative, here.fd, name)
            elif not is_directory:
                yield Found(relative, here.fd, name, "link")
            elif len(stack) < _MAX_DEPTH:
                if everything:
                    yield Found(relative, here.fd, name, "folder")
                below = _enter(here.fd, name)
                if below >= 0:
                    levels.append(_level(below, top + b"/" + relative))
                    stack.append(_Open(below, relative, iter(_entries(below, everything))))
    finally:
        for level in stack:
            os.close(level.fd)


def _enter(fd: int, name: bytes) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=fd)
    except OSError:
        return -1  # gone, or not for us: skipped, as ripgrep does


def _entries(fd: int, links: bool) -> list[tuple[bytes, bool, bool]]:
    """Name, whether a directory, whether a regular file; links, which are neither, only where wanted."""
    try:
        with os.scandir(fd) as found:
            return sorted(
                (os.fsencode(e.name), is_directory, is_file)
                for e in found
                if (is_directory := e.is_dir(follow_symlinks=False))
                | (is_file := e.is_file(follow_symlinks=False))
                or (links and e.is_symlink())
            )
    except OSError:
        return []


def _skipped(
    levels: list[_Level],
    top: bytes,
    relative: bytes,
    is_directory: bool,
    override: Override | None,
    hidden: bool,
) -> bool:
    if relative.rpartition(b"/")[2] == b".git":
        return True
    if override:
        verdict = override.verdict(relative, is_directory)
        if verdict:
            return verdict > 0
    verdict = _verdict(levels, top + b"/" + relative, is_directory)
    if verdict:
        return verdict > 0
    return not hidden and relative.rpartition(b"/")[2].startswith(b".")


def _verdict(levels: list[_Level], path: bytes, is_directory: bool) -> int:
    """Nearest directory first for each kind of file; the kinds rank `.rgignore`, `.ignore`, git's two."""
    custom = plain = git = exclude = 0
    for level in reversed(levels):
        below = path[len(level.path) + 1 :]
        if level.custom and not custom:
            custom = level.custom.verdict(below, is_directory)
        if level.plain and not plain:
            plain = level.plain.verdict(below, is_directory)
        if level.git and not git:
            git = level.git.verdict(below, is_directory)
        if level.exclude and not exclude:
            exclude = level.exclude.verdict(below, is_directory)
    return custom or plain or git or exclude


def _above(top: bytes) -> list[_Level]:
    """The levels of the directories above, outermost first."""
    found: list[_Level] = []
    path = os.path.dirname(top)
    while True:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            fd = -1
        if fd >= 0:
            found.append(_level(fd, path.rstrip(b"/")))
            os.close(fd)
        if path in (b"/", b""):
            return found[::-1]
        path = os.path.dirname(path)


def _level(fd: int, path: bytes) -> _Level:
    return _Level(path, *(_rules(fd, name) for name in NAMES))


def _rules(fd: int, name: bytes) -> Rules | None:
    data = read_rules(fd, name)
    return parse(data) or None if data else None
