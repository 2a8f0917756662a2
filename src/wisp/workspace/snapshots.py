"""Snapshots of a folder, kept outside it, and putting a folder back to one.

Covers every writer: what tools, commands and formatters changed, made or deleted.  Left alone: `.git` and
what ignore files name.  Contents are stored once each by their digest; a snapshot is a list of paths.
Knows nothing of turns, sessions or people.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from wisp.workspace.store import ObjectStore, StoreFull, digest_of
from wisp.workspace.walk import Found, walk

if TYPE_CHECKING:
    from wisp.workspace.changeset import New

MAX_FILE = 1 << 30
"""Largest file covered, in bytes."""
MAX_PATHS = 200_000
"""Most files, links and folders of a folder that is covered."""
PRUNE_AFTER = 64 << 20
"""Bytes put into the store after which it is looked at again whether it is too large."""
_PARENT = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(NamedTuple):
    """One path of a snapshot."""

    kind: Literal["file", "link", "folder"]
    mode: int
    """Permission bits."""
    content: str
    """A file's digest, or a link's target; empty for a folder and for a file that is not covered."""
    size: int = 0
    stamp: tuple[int, int, int] = (0, 0, 0)
    """Modification and change time in nanoseconds, and inode: equal stamps mean equal contents."""

    def same(self, other: Entry | None) -> bool:
        """Whether both stand for the same thing on disk; times aside."""
        return other is not None and (self.kind, self.mode, self.content) == other[:3]


Tree = dict[str, Entry]
"""Paths (surrogate-escaped) below the folder."""


class Change(NamedTuple):
    """One path that differs between two trees."""

    path: str
    what: Literal["made", "changed", "deleted"]


class Conflict(Exception):
    """Paths that were changed by somebody else since; nothing was touched."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__(", ".join(paths))
        self.paths = paths


class Snapshots:
    """Takes and restores snapshots of one folder.

    Args:
        fd: handle of the folder; stays the caller's.
        path: the folder's real path.
        store: where contents go.
        journals: private folder where a restore is noted while it is made.
        apart: real paths of folders that are not covered, where they lie in it.
        most: paths of a folder that is covered.
    """

    def __init__(
        self,
        fd: int,
        path: str,
        store: ObjectStore,
        journals: str,
        apart: Sequence[str] = (),
        most: int = MAX_PATHS,
    ) -> None:
        self._fd = fd
        self._path = path
        top = path.rstrip("/") + "/"
        self._apart = {os.fsencode(name.removeprefix(top)) for name in apart if name.startswith(top)}
        self._most = most
        self._store = store
        self._journals = journals
        self._last: Tree = {}
        self._pruned = False

    def take(self, check: Callable[[], object] = lambda: None) -> str:
        """Keep the folder as it is now; returns the snapshot's id.

        An unchanged file is not read again.  `check` may raise to give up.

        Raises:
            StoreFull: there is no room for what changed, or the folder is larger than what is covered.
            OSError: the store cannot be written.
        """
        if not self._last:
            self._measure(check)
        tree: Tree = {}
        for found in self._walk(check):
            entry = self._kept(found)
            if entry is not None:
                tree[os.fsdecode(found.relative)] = entry
        self._last = tree
        made = self._store.put_tree(tree)
        if self._store.written > PRUNE_AFTER or (self._store.written and not self._pruned):
            self._pruned = True
            self._store.prune()
        return made

    def _walk(self, check: Callable[[], object]) -> Iterator[Found]:
        return walk(self._fd, self._path, hidden=True, everything=True, check=check, apart=self._apart)

    def _measure(self, check: Callable[[], object]) -> None:
        """Find out that a folder is a whole home or disk before hours are spent on copying it."""
        size = 0
        for paths, found in enumerate(self._walk(check), 1):
            if found.kind == "file":
                with contextlib.suppress(OSError):
                    found_size = os.stat(found.name, dir_fd=found.folder, follow_symlinks=False).st_size
                    size += found_size if found_size <= MAX_FILE else 0
            if paths > self._most or size > self._store.cap:
                what = (
                    f"{self._most:,} files and folders"
                    if paths > self._most
                    else f"{self._store.cap:,} bytes"
                )
                raise StoreFull(errno.EFBIG, f"this folder has more than {what} that are not ignored")

    def load(self, snapshot: str) -> Tree:
        """The paths of a snapshot.

        Raises:
            KeyError: it is not in the store.
        """
        rows = self._store.get_tree(snapshot)
        return {path: Entry(row[0], row[1], row[2], row[3], tuple(row[4])) for path, row in rows.items()}

    def write_out(self, content: str, target: int) -> None:
        """Write the kept content of a file to the open file `target`.

        Raises:
            KeyError: it is not in the store.
        """
        self._store.write_out(content, target)

    def warm(self, snapshot: str) -> None:
        """Know a snapshot's files already, so that the next `take` reads only what changed since."""
        with contextlib.suppress(KeyError):
            self._last = self.load(snapshot)

    def restore(
        self,
        changed: tuple[Tree, Tree],
        *,
        check_only: bool = False,
        told: Callable[[str], object] = lambda _: None,
    ) -> list[Change]:
        """Undo the way from `changed[0]` to `changed[1]`: every path that differs goes back to the first.

        Paths that do not differ between the two are not touched, whatever happened to them since, nor those
        that are back already.  All or
        nothing: a failure in the middle puts back what had been restored, a kill is
        seen to by `changelog.recover`.

        Args:
            told: hears of each step; may raise to give up.

        Raises:
            Conflict: a path is no longer as in `changed[1]`; nothing was done.
            KeyError: a content is no longer in the store; nothing was done.
            OSError: the system refuses; nothing was done.
            RollbackFailed: something else came between; it names what is left.
        """
        before, after = changed
        changes = []
        conflicts = []
        for change in compare(after, before):
            now = self._now(change.path)
            if _is(now, after.get(change.path)):
                changes.append(change)
            elif not _is(now, before.get(change.path)):
                conflicts.append(change.path)
        if conflicts:
            raise Conflict(conflicts)
        for change in changes:
            wanted = before.get(change.path)
            if wanted is not None and wanted.kind == "file":
                self._store.require(wanted.content)
        if not check_only:
            self._apply(changes, before, after, told)
        return changes

    # -- reading ------------------------------------------------------------------------------------------

    def _kept(self, found: Found) -> Entry | None:
        """A path as it is now, its content kept; None for what is gone meanwhile or not ours to read."""
        try:
            return self._entry(found, self._store.put_file)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None

    def _entry(self, found: Found, digest_of: Callable[[int, bytes], str]) -> Entry:
        status = os.stat(found.name, dir_fd=found.folder, follow_symlinks=False)
        mode = stat.S_IMODE(status.st_mode)
        stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        if found.kind == "folder":
            return Entry("folder", mode, "")
        if found.kind == "link":
            return Entry("link", 0, os.fsdecode(os.readlink(found.name, dir_fd=found.folder)))
        known = self._last.get(os.fsdecode(found.relative))
        if known is not None and (known.size, known.stamp) == (status.st_size, stamp):
            return known._replace(mode=mode)
        if status.st_size > MAX_FILE:
            return Entry("file", mode, "", status.st_size, stamp)
        return Entry("file", mode, digest_of(found.folder, found.name), status.st_size, stamp)

    def _now(self, path: str) -> Entry | None:
        """What stands at `path` now, read without following links; nothing is kept.

        Raises:
            OSError: it cannot be read, so nobody knows.
        """
        folder = self._parent(path)
        if folder is None:
            return None
        try:
            name = os.fsencode(path.rpartition("/")[2])
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            kind = _kind(status.st_mode)
            if kind is None:
                return Entry("file", -1, "other")
            return self._entry(Found(os.fsencode(path), folder, name, kind), digest_of)
        except PermissionError:
            return Entry("file", -1, "unreadable")
        except (FileNotFoundError, NotADirectoryError):
            return None
        finally:
            os.close(folder)

    def _parent(self, path: str) -> int | None:
        """A handle of the folder that holds `path`, reached without following links; None where it is not."""
        fd = os.dup(self._fd)
        try:
            for part in path.split("/")[:-1]:
                below = os.open(os.fsencode(part), _PARENT, dir_fd=fd)
                os.close(fd)
                fd = below
        except OSError as exc:
            os.close(fd)
            if exc.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return None
            raise
        return fd

    # -- writing ------------------------------------------------------------------------------------------

    def _apply(
        self, changes: Iterable[Change], target: Tree, expected: Tree, told: Callable[[str], object]
    ) -> None:
        from wisp.workspace.changeset import Base, Step, apply

        base = Base(self._fd, self._path)
        steps = []
        for change in changes:
            wanted = target.get(change.path)
            if wanted is None or wanted.kind != "file" or wanted.content:
                check = self._check(change.path, expected.get(change.path))
                steps.append(Step(base, change.path, self._new(wanted), check))
        apply(steps, self._journals, told)

    def _check(self, path: str, expected: Entry | None) -> Callable[[], None]:
        def check() -> None:
            if not _is(self._now(path), expected):
                raise Conflict([path])

        return check

    def _new(self, wanted: Entry | None) -> New | None:
        from wisp.workspace.changeset import New

        if wanted is None:
            return None
        if wanted.kind == "link":
            return New("link", target=wanted.content)
        if wanted.kind == "folder":
            return New("folder", wanted.mode)
        return New("file", wanted.mode, lambda fd: self._store.write_out(wanted.content, fd))


def compare(old: Tree, new: Tree) -> list[Change]:
    """The paths that differ, from `old` to `new`, sorted."""
    changes = [Change(path, "deleted") for path in old if path not in new]
    for path, entry in new.items():
        if path not in old:
            changes.append(Change(path, "made"))
        elif not entry.same(old[path]):
            changes.append(Change(path, "changed"))
    return sorted(changes)


def uncovered(tree: Tree) -> list[str]:
    """Files of a snapshot whose contents are too large to be kept."""
    return [path for path, entry in tree.items() if entry.kind == "file" and not entry.content]


def _is(now: Entry | None, expected: Entry | None) -> bool:
    if now is None or expected is None:
        return now is expected
    return now.same(expected)


def _kind(mode: int) -> Literal["file", "link", "folder"] | None:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISLNK(mode):
        return "link"
    return "folder" if stat.S_ISDIR(mode) else None


__all__ = ["Change", "Conflict", "Entry", "Snapshots", "StoreFull", "Tree", "compare", "uncovered"]
