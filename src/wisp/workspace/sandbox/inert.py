"""Whether a repository that a command made can make git run something: then it is not inert.

Everything must be on a list: names in the folder, sections and keys of its configuration, the shape of every
value.  What is not on a list is a fault.  Looks by handle, without following a link; writes nothing.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Container, Iterator, Sequence

from wisp.workspace.sandbox.standins import is_standin

_FILES = frozenset({
    "HEAD", "index", "packed-refs", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE",
    "AUTO_MERGE", "COMMIT_EDITMSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "TAG_EDITMSG",
    "description", "shallow", "config", "gc.log",
})  # fmt: skip
_FOLDERS = frozenset({"objects", "refs", "logs", "hooks", "info", "branches", "modules", "worktrees", "lfs"})
_OF_WORKTREE = frozenset({
    "HEAD", "index", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "commondir", "gitdir", "logs", "refs",
    "locked",
})  # fmt: skip
_SECTION = re.compile(r'\[([a-z]+)(?: "([^"\\\x00-\x1f]+)")?\]')
_LINE = re.compile(r"([a-z][a-z0-9-]*)(?: *= *(.*))?", re.IGNORECASE | re.ASCII)
_VALUE = re.compile(r"[\w./:@+,*~=% \u00a1-\uffff-]*")
_KEYS = frozenset({
    "core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates",
    "core.ignorecase", "core.precomposeunicode", "core.symlinks", "core.autocrlf", "user.name",
    "user.email", "init.defaultbranch", "remote.url", "remote.fetch", "remote.pushurl", "branch.remote",
    "branch.merge", "branch.rebase", "pull.rebase", "submodule.url", "submodule.active",
    "extensions.objectformat", "extensions.refstorage",
})  # fmt: skip
_ADDRESSES = frozenset(("url", "pushurl", "remote"))
_MOST = 64 << 10
_DEEPEST = 6


def faults(dot_git: str, at: str, roots: Sequence[str], guarded: Container[str] = ()) -> Iterator[str]:
    """What is not inert about a `.git` (folder, pointer or anything else) or a bare repository.

    Args:
        dot_git: a path by which it is reached now.
        at: its real path.
        roots: real paths of the folders that were granted; what a pointer names must lie beneath one.
        guarded: repositories that commands cannot change; others that a pointer leads to must be inert too.
    """
    try:
        mode = os.lstat(dot_git).st_mode
    except OSError:
        return
    if stat.S_ISDIR(mode):
        yield from _folder(dot_git, at, roots)
        for name in ("objects", "refs", "logs"):
            yield from _odd(os.path.join(dot_git, name))
    elif stat.S_ISREG(mode):
        yield from _pointer(dot_git, at, roots, guarded)
    else:
        yield "it is a link or no file at all"


def _folder(path: str, at: str, roots: Sequence[str], module: str = "", depth: int = 0) -> Iterator[str]:
    for name, mode in _entries(path):
        kind = _FOLDERS if stat.S_ISDIR(mode) else _FILES if stat.S_ISREG(mode) else frozenset[str]()
        if name not in kind and not name.endswith(".lock") and not _stands_in(os.path.join(path, name)):
            yield name
    for name, mode in _entries(os.path.join(path, "hooks")):
        if not (name.endswith(".sample") and stat.S_ISREG(mode)):
            yield f"hooks/{name}"
    for name, mode in _entries(os.path.join(path, "info")):
        if name not in ("exclude", "refs", "sparse-checkout") or not stat.S_ISREG(mode):
            yield f"info/{name}"
    for name, _ in _entries(os.path.join(path, "branches")):
        yield f"branches/{name}"
    yield from _shared(path, "config", "info/exclude", "info/sparse-checkout")
    yield from (
        f"config: {fault}" for fault in _config(os.path.join(path, "config"), at, roots, bool(module))
    )
    yield from _modules(os.path.join(path, "modules"), os.path.join(at, "modules"), roots, depth)
    for name, mode in _entries(os.path.join(path, "worktrees")):
        place = os.path.join(path, "worktrees", name)
        if not stat.S_ISDIR(mode):
            yield f"worktrees/{name}"
        yield from (f"worktrees/{name}/{fault}" for fault in _worktree(place))


def _stands_in(path: str) -> bool:
    """Whether a file of ours stands there for a running command: it changes nothing, and is guarded."""
    try:
        there = os.lstat(path)
    except OSError:
        return False
    kept = {"commondir": ".\n", "config.worktree": ""}.get(os.path.basename(path))
    return kept is not None and is_standin(there) and there.st_nlink == 1 and _text(path) == kept


def _modules(path: str, at: str, roots: Sequence[str], depth: int) -> Iterator[str]:
    """Repositories of submodules; their names may have several parts."""
    for name, mode in _entries(path):
        place = os.path.join(path, name)
        if not stat.S_ISDIR(mode) or depth >= _DEEPEST:
            yield f"modules/{name}"
        elif os.path.lexists(os.path.join(place, "HEAD")) or os.path.lexists(os.path.join(place, "config")):
            yield from (
                f"modules/{name}/{fault}" for fault in _folder(place, f"{at}/{name}", roots, name, depth + 1)
            )
        else:
            yield from _modules(place, f"{at}/{name}", roots, depth + 1)


def _worktree(path: str) -> Iterator[str]:
    yield from _shared(path, "gitdir", "commondir")
    for name, _ in _entries(path):
        if name not in _OF_WORKTREE and not name.endswith(".lock"):
            yield name
    if _text(os.path.join(path, "commondir")) not in ("../..\n", "../.."):
        yield "commondir"


def _shared(folder: str, *names: str) -> Iterator[str]:
    """Files that have another name elsewhere, by which they could be changed when this one is guarded."""
    for name in names:
        try:
            if os.lstat(os.path.join(folder, name)).st_nlink > 1:
                yield f"{name} is a hard link"
        except OSError:
            continue


def _odd(path: str) -> Iterator[str]:
    """Links and special files among a repository's own data."""
    for folder, inner, files in os.walk(path):
        for name in (*inner, *files):
            mode = os.lstat(os.path.join(folder, name)).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                yield os.path.join(os.path.relpath(folder, os.path.dirname(path)), name)


def _pointer(dot_git: str, at: str, roots: Sequence[str], guarded: Container[str]) -> Iterator[str]:
    """A worktree's or submodule's `.git`: it may only point into a repository that is inert or guarded."""
    yield from _shared(*os.path.split(dot_git))
    words = _text(dot_git)
    found = re.fullmatch(r"gitdir: ([^\x00\n]+)\n?", words or "")
    if found is None:
        yield "it is no pointer"
        return
    named = os.path.normpath(os.path.join(os.path.dirname(at), found[1]))
    target = os.path.realpath(named)
    if named != target:
        yield "it points through a link"
        return
    kept = re.fullmatch(r"(.*/\.git)/(?:worktrees/[^/]+|modules/.+)", target)
    if kept is None or not any(kept[1].startswith(root.rstrip("/") + "/") for root in roots):
        yield f"it points to {found[1]}"
        return
    if kept[1] not in guarded:
        yield from _folder(kept[1], kept[1], roots)
    if "/.git/worktrees/" in target:
        back = (_text(os.path.join(target, "gitdir")) or "").strip()
        if os.path.realpath(back) != at:
            yield "what it points to does not point back"
        yield from _worktree(target)
    else:
        yield from _folder(target, target, roots, "module")


def _config(path: str, repository: str, roots: Sequence[str], module: bool) -> Iterator[str]:
    text = _text(path)
    if text is None:
        if os.path.lexists(path):
            yield "it cannot be read"
        return
    section = part = ""
    for raw in text.split("\n"):
        line = raw.strip(" \t")
        if not line:
            continue
        head = _SECTION.fullmatch(line)
        if head is not None:
            section, part = head[1], head[2] or ""
            continue
        found = _LINE.fullmatch(line)
        if found is None or not section:
            yield "a line that is not understood"
            return
        key, value = f"{section}.{found[1].lower()}", found[2] or "true"
        if key == "core.worktree" and module and not part and _inside(repository, value, roots):
            continue
        if bool(part) != (section in ("remote", "branch", "submodule")) or key not in _KEYS:
            yield key
        elif not _VALUE.fullmatch(value) or (found[1].lower() in _ADDRESSES and not _address(value)):
            yield f"{key} = {value[:60]}"


def _address(value: str) -> bool:
    """A place git fetches from by itself: no helper program (`ext::`), nothing taken for an option."""
    return "::" not in value and not value.startswith("-") and "@-" not in value and "/-" not in value


def _inside(repository: str, value: str, roots: Sequence[str]) -> bool:
    place = os.path.realpath(os.path.join(repository, value))
    return any(place.startswith(root.rstrip("/") + "/") for root in roots) and "/.git" not in place


def _entries(path: str) -> list[tuple[str, int]]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return [(name, os.lstat(name, dir_fd=fd).st_mode) for name in sorted(os.listdir(fd))]
    except OSError:
        return [("?", 0)]
    finally:
        os.close(fd)


def _text(path: str) -> str | None:
    """A small regular file's text; None for anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = os.read(fd, _MOST + 1)
        return None if len(data) > _MOST else data.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        os.close(fd)
