"""Several paths changed as one: all of them, or every one as it was, bytes, mode, owner and all.

New contents are written aside, a journal in a private folder says what is about to happen, then each path is
changed by renaming, its old file kept under another name until the end.  Whatever goes wrong is rolled back
by renaming, which needs no room on the disk; after a kill, `recover` does the same from the journal.  Between
two renames every file is whole.  Knows nothing of texts, snapshots or tools.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from wisp.workspace import changelog
from wisp.workspace.changelog import Item, Journal, Mark, RollbackFailed, mark, recover
from wisp.workspace.errors import Refused, refusal
from wisp.workspace.files import ABSENT, check_target, digest_of, keep_metadata, stale, take_name
from wisp.workspace.handles import may_take_away
from wisp.workspace.root import Place, Workspace

Told = Callable[[str], object]
"""Hears of each step before it is taken; may raise to give up, which rolls everything back."""


class New(NamedTuple):
    """What shall stand at a path."""

    kind: Literal["file", "link", "folder"]
    mode: int | None = None
    """Permission bits; None for those of the file it replaces, or the usual ones."""
    fill: Callable[[int], object] = lambda _: None
    """Writes a file's content to an open file."""
    target: str = ""
    """Where a link leads."""


class Base(NamedTuple):
    """The folder that paths are below."""

    fd: int
    path: str


class Step(NamedTuple):
    """One path and what shall become of it."""

    base: Base
    path: str
    """Below the base, without `.` and `..`."""
    new: New | None
    """None to have nothing there."""
    check: Callable[[], object] = lambda: None
    """Raises when what stands there is not what the change was made for."""


class FileChange(NamedTuple):
    """One whole file, as tools see it."""

    place: Place
    data: bytes | None
    """None to remove it."""
    expected: str
    """Digest it must still have, or `ABSENT`."""


def change_files(
    workspace: Workspace, changes: Sequence[FileChange], journal: str, told: Told = lambda _: None
) -> None:
    """Make all changes or none.  Missing directories are made.  The caller holds the paths' locks.

    Raises:
        Refused: as `files.replace`; every file is as it was.
        RollbackFailed: something else came between; it names what is left.
    """
    steps: dict[tuple[str, str], Step] = {}
    for change in changes:
        root = change.place.root
        if root is None:
            raise Refused("outside", f"{change.place.path} lies outside the granted folders")
        base = Base(root.fd, root.path)
        for folder in _missing(workspace, change.place):
            steps.setdefault((root.path, folder), Step(base, folder, New("folder")))
        key = (root.path, change.place.relative)
        if key in steps:
            raise Refused("invalid_path", f"{change.place.path} is named twice")
        steps[key] = Step(base, change.place.relative, _new(change.data), _check(workspace, change))
    try:
        apply(list(steps.values()), journal, told)
    except OSError as exc:
        raise refusal(exc, exc.filename if isinstance(exc.filename, str) else "a file") from None


def _new(data: bytes | None) -> New | None:
    return None if data is None else New("file", fill=lambda fd: _write(fd, data))


def _check(workspace: Workspace, change: FileChange) -> Callable[[], None]:
    def check() -> None:
        try:
            folder, name = workspace.open_parent(change.place)
        except Refused as exc:
            if exc.code == "not_found" and change.expected == ABSENT:
                return
            raise
        try:
            check_target(folder, name, change.place.path)
        finally:
            os.close(folder)
        if digest_of(workspace, change.place) != change.expected:
            raise stale(change.place.path)

    return check


def _missing(workspace: Workspace, place: Place) -> list[str]:
    """The directories above `place` that are not there."""
    found: list[str] = []
    for length in range(len(place.parts) - 1, 0, -1):
        above = Place(place.root, "/".join(place.parts[:length]))
        try:
            os.close(workspace.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, links=False))
            break
        except Refused as exc:
            if exc.code != "not_found":
                raise
            found.append(above.relative)
    return found[::-1]


def apply(steps: Iterable[Step], journal: str, told: Told = lambda _: None) -> None:
    """Take all steps or none.

    Args:
        journal: private folder; made on first use.

    Raises:
        RollbackFailed: something else came between; it names what is left.
        Exception: what a check, a system call or `told` raised; everything is as it was.
    """
    work = [_Work(step) for step in sorted(steps, key=lambda step: (step.base.path, step.path))]
    unstable = {(w.step.base.path, w.step.path) for w in work if w.moves_a_folder}
    log = Journal(journal)
    try:
        for w in work:
            w.plan(unstable)
        log.plan([w.item for w in work])
        for w in work:
            told(f"stage {w.step.path}")
            w.stage()
        told("journal")
        log.write([w.item for w in work])
        for w in reversed(work):
            told(f"aside {w.step.path}")
            w.aside()
        for w in work:
            told(f"put {w.step.path}")
            w.put(told)
        for w in reversed(work):
            told(f"mode {w.step.path}")
            w.finish()
        told("commit")
        _sync({(w.step.base.path, w.item.hold): w.step.base.fd for w in work})
        log.commit()
    except BaseException:
        left = changelog.roll_back([w.item for w in work], {w.step.base.path: w.step.base.fd for w in work})
        if left:
            log.keep()
            raise RollbackFailed(left) from None
        log.drop()
        raise
    try:
        for w in work:
            told(f"clean {w.step.path}")
            changelog.let_go(w.item, w.step.base.fd)
    except Exception:  # it has happened; what is left over is removed at the next start
        log.keep()
    else:
        log.drop()


class _Work:
    """One step on its way."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.status = _look(step)
        step.check()
        old = self.status
        self.item = Item(step.base.path, step.path, mark(old), stat.S_IMODE(old.st_mode) if old else 0)
        self._was_folder = old is not None and stat.S_ISDIR(old.st_mode)
        self._is_folder = step.new is not None and step.new.kind == "folder"
        self.moves_a_folder = self._was_folder != self._is_folder
        self._only_mode = self._was_folder and self._is_folder

    def plan(self, unstable: set[tuple[str, str]]) -> None:
        """Choose another name, in the nearest directory that stays."""
        self.item.hold = _holding(self.step, unstable)
        self.item.set_names(os.getpid(), os.urandom(6).hex())

    def stage(self) -> None:
        """Write what is new under that name."""
        step, item = self.step, self.item
        if step.new is None or self._only_mode:
            return
        folder = changelog.directory(step.base.fd, item.hold)
        try:
            may_take_away(folder)
            item.new = _stage(folder, item.staged, step.new, self.status, step)
        finally:
            os.close(folder)

    def aside(self) -> None:
        """Move away what cannot be replaced in one rename: things to be removed, and folders for files."""
        if self.item.old is None or self._only_mode:
            return
        if self.step.new is not None and not self.moves_a_folder:
            return
        with _Open(self.step, self.item) as (folder, name, hold):
            self._check_still(folder, name)
            if self._was_folder and _full(folder, name):
                if self.step.new is None:
                    return  # it still holds what is not ours: it stays
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), self.step.path)
            os.rename(name, self.item.backup, src_dir_fd=folder, dst_dir_fd=hold)

    def put(self, told: Told) -> None:
        """Give the new thing its name."""
        if self.step.new is None or self._only_mode:
            return
        with _Open(self.step, self.item) as (folder, name, hold):
            if self.item.old is None or self.moves_a_folder:
                try:
                    take_name(
                        (hold, self.item.staged),
                        (folder, name),
                        link=not self._is_folder,
                        linked=lambda: told(f"linked {name}"),
                    )
                except FileExistsError:
                    raise stale(os.path.join(self.step.base.path, self.step.path)) from None
                return
            self._check_still(folder, name)
            try:
                os.link(name, self.item.backup, src_dir_fd=folder, dst_dir_fd=hold, follow_symlinks=False)
            except OSError as exc:
                if exc.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
                    raise
                os.rename(name, self.item.backup, src_dir_fd=folder, dst_dir_fd=hold)
            told(f"rename {self.step.path}")
            os.rename(self.item.staged, name, src_dir_fd=hold, dst_dir_fd=folder)

    def finish(self) -> None:
        """A folder's mode, once all is in it."""
        if not self._is_folder or self.step.new is None or self.step.new.mode is None:
            return
        with _Open(self.step, self.item) as (folder, name, _):
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.fchmod(fd, self.step.new.mode)
            finally:
                os.close(fd)

    def _check_still(self, folder: int, name: str) -> None:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if mark(found) != self.item.old:
            raise stale(os.path.join(self.step.base.path, self.step.path))


class _Open:
    """The directory of a path, its name there, and the directory that holds what is aside."""

    def __init__(self, step: Step, item: Item) -> None:
        above, _, self._name = step.path.rpartition("/")
        self._folder = changelog.directory(step.base.fd, above)
        try:
            self._hold = changelog.directory(step.base.fd, item.hold)
        except OSError:
            os.close(self._folder)
            raise

    def __enter__(self) -> tuple[int, str, int]:
        return self._folder, self._name, self._hold

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)
        os.close(self._hold)


def _look(step: Step) -> os.stat_result | None:
    above, _, name = step.path.rpartition("/")
    try:
        folder = changelog.directory(step.base.fd, above)
    except OSError as exc:
        if exc.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    finally:
        os.close(folder)


def _holding(step: Step, unstable: set[tuple[str, str]]) -> str:
    """The deepest directory above the path that is there now and stays."""
    held = ""
    for part in step.path.split("/")[:-1]:
        below = f"{held}/{part}" if held else part
        if (step.base.path, below) in unstable:
            break
        try:
            os.close(changelog.directory(step.base.fd, below))
        except OSError:
            break
        held = below
    return held


def _stage(folder: int, name: str, new: New, old: os.stat_result | None, step: Step) -> Mark | None:
    if new.kind == "link":
        os.symlink(new.target, name, dir_fd=folder)
        return mark(os.stat(name, dir_fd=folder, follow_symlinks=False))
    if new.kind == "folder":
        os.mkdir(name, 0o777, dir_fd=folder)
        return mark(os.stat(name, dir_fd=folder, follow_symlinks=False))
    replaced = old if old is not None and stat.S_ISREG(old.st_mode) else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    private = replaced is not None or new.mode is not None
    fd = os.open(name, flags, 0o600 if private else 0o666, dir_fd=folder)
    try:
        new.fill(fd)
        if replaced is not None:
            with _Open(step, Item(step.base.path, step.path)) as (parent, old_name, _):
                keep_metadata(parent, old_name, fd, replaced)
        if new.mode is not None:
            os.fchmod(fd, new.mode)
        os.fsync(fd)
        return mark(os.fstat(fd))
    finally:
        os.close(fd)


def _full(folder: int, name: str) -> bool:
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        with os.scandir(fd) as found:
            return next(found, None) is not None
    finally:
        os.close(fd)


def _sync(folders: dict[tuple[str, str], int]) -> None:
    for (_, path), base in folders.items():
        fd = changelog.directory(base, path)
        try:
            os.fsync(fd)
        except OSError as exc:
            if exc.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(fd)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


__all__ = ["Base", "FileChange", "New", "RollbackFailed", "Step", "apply", "change_files", "recover"]
