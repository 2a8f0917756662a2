"""The journal of a change of several paths, and rolling it back: at once after a failure, or after a kill.

A journal lies in a private folder and is locked while its change is being made, so that only what a dead
process left is rolled back.  Whatever a third party put in the way meanwhile is left alone, and said.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from wisp.workspace.errors import shown

Mark = tuple[int, int, int, int]
"""What tells one thing on disk from another: device, inode, size, time; a folder's last two are 0."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN, _DONE = ".change", ".done"


class RollbackFailed(Exception):
    """Not everything could be put back; each sentence names a path and where its old content is."""

    def __init__(self, left: Sequence[str]) -> None:
        super().__init__("; ".join(left))
        self.left = tuple(left)


@dataclass(slots=True)
class Item:
    """One path of a change."""

    base: str
    path: str
    old: Mark | None = None
    old_mode: int = 0
    new: Mark | None = None
    hold: str = ""
    """The directory below the base where `staged` and `backup` are."""
    staged: str = ""
    backup: str = ""

    def set_names(self, pid: int, unique: str) -> None:
        """Names aside; what is staged is swept with other temporaries, a backup never is."""
        self.staged, self.backup = f".wisp-tmp-{pid}-{unique}", f".wisp-old-{unique}"


def mark(found: os.stat_result | None) -> Mark | None:
    """The mark of what `found` describes."""
    if found is None:
        return None
    if stat.S_ISDIR(found.st_mode):
        return found.st_dev, found.st_ino, 0, 0
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Journal:
    """One change's record on disk.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._folder = folder
        self._path = os.path.join(folder, os.urandom(8).hex() + _OPEN)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fd = os.open(self._path, flags, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def plan(self, items: Sequence[Item]) -> None:
        """Keep which names are about to be used aside, so that a kill leaves none of them."""
        self._write(items)

    def write(self, items: Sequence[Item]) -> None:
        """Keep, durably, what is about to happen."""
        self._write(items)
        os.fsync(self._fd)
        self._sync()

    def _write(self, items: Sequence[Item]) -> None:
        data = json.dumps([asdict(item) for item in items]).encode() + b"\n"
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    def commit(self) -> None:
        """From here on it has happened: what is left is to clean up."""
        done = self._path.removesuffix(_OPEN) + _DONE
        os.rename(self._path, done)
        self._path = done
        self._sync()

    def drop(self) -> None:
        """All is well."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        self.keep()

    def keep(self) -> None:
        """Leave it for the next start."""
        os.close(self._fd)

    def _sync(self) -> None:
        fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def recover(folder: str) -> list[str]:
    """Finish what killed processes left in `folder`; what was done, and what could not be, as sentences."""
    said: list[str] = []
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith((_OPEN, _DONE)))
    except FileNotFoundError:
        return []
    for name in names:
        path = os.path.join(folder, name)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue  # its owner has finished
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            continue  # its owner lives
        try:
            left, some = _finish(fd, done=name.endswith(_DONE))
            if not left:
                os.unlink(path)
            if some and not left:
                said.append(f"an interrupted change of {some} paths was rolled back")
            said += left
        finally:
            os.close(fd)
    return said


def _finish(fd: int, *, done: bool) -> tuple[list[str], int]:
    """`(what is left, how many paths were rolled back)`."""
    with os.fdopen(os.dup(fd), "rb") as file:
        lines = file.read().split(b"\n")[:-1]
    try:
        items = [_item(row) for row in json.loads(lines[-1])] if lines else []
    except ValueError:
        items = []
    if not items:
        return [], 0  # killed before the journal was whole: nothing had been changed yet
    bases: dict[str, int] = {}
    try:
        for base in {item.base for item in items}:
            try:
                bases[base] = os.open(base, _DIRECTORY)
            except OSError as exc:
                return [f"{shown(base)}: {exc.strerror}; an interrupted change there waits"], 0
        if not done:
            begun = len(lines) > 1  # before that only names aside were used
            return roll_back(items, bases), len(items) if begun else 0
        for item in items:
            with contextlib.suppress(OSError):  # already cleaned, or somebody else's by now
                let_go(item, bases[item.base])
        return [], 0
    finally:
        for handle in bases.values():
            os.close(handle)


def _item(row: Mapping[str, object]) -> Item:
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return Item(**values)  # type: ignore[arg-type]


def roll_back(items: Sequence[Item], bases: Mapping[str, int]) -> list[str]:
    """Make every path what it was; safe to repeat, and wherever the change was cut.

    Returns what could not be, as sentences.
    """
    left: list[str] = []
    for item in reversed(items):
        _try(item, bases, _take_out, left)
    for item in items:
        _try(item, bases, _bring_back, left)
    for item in items:
        _try(item, bases, _unstage, left)
    return left


def _try(item: Item, bases: Mapping[str, int], what: Callable[[Item, int], None], left: list[str]) -> None:
    try:
        what(item, bases[item.base])
    except OSError as exc:
        where = os.path.join(item.base, item.path)
        kept = os.path.join(item.base, item.hold, item.backup)
        left.append(
            f"{shown(where)} could not be put back ({exc.strerror}); its old content is {shown(kept)}"
        )


def _take_out(item: Item, base: int) -> None:
    """Remove the new thing where there was nothing, or something that cannot be renamed over it."""
    if item.new is None:
        return
    folder = _above(item, base)
    if folder is None:
        return
    name = item.path.rpartition("/")[2]
    try:
        found = _stat(folder, name)
        if found is None or not _same(found, item.new):
            return
        backed = _held(item, base)
        if item.old is None or stat.S_ISDIR(found.st_mode) or (backed and stat.S_ISDIR(backed.st_mode)):
            remove_any(folder, name)
    finally:
        os.close(folder)


def _bring_back(item: Item, base: int) -> None:
    """Give the old thing its name again, and a folder its mode."""
    if item.old is None:
        return
    folder = _above(item, base)
    if folder is None:
        if _held(item, base) is None:
            return
        raise FileNotFoundError(errno.ENOENT, "its directory is gone")
    name = item.path.rpartition("/")[2]
    try:
        found = _stat(folder, name)
        if found is not None and mark(found) == item.old:
            if stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) != item.old_mode:
                os.chmod(name, item.old_mode, dir_fd=folder)
            if (backed := _held(item, base)) is not None and not stat.S_ISDIR(backed.st_mode):
                _drop_backup(item, base)
            return
        if _held(item, base) is None:
            return  # it had not begun, or a person has seen to it
        if found is not None and not _same(found, item.new):
            raise FileExistsError(errno.EEXIST, "something else stands there now")
        hold = directory(base, item.hold)
        try:
            os.rename(item.backup, name, src_dir_fd=hold, dst_dir_fd=folder)
        finally:
            os.close(hold)
    finally:
        os.close(folder)


def _unstage(item: Item, base: int) -> None:
    """Remove what was written aside."""
    if not item.staged:
        return
    hold = directory(base, item.hold)
    try:
        remove_any(hold, item.staged)
    finally:
        os.close(hold)


def let_go(item: Item, base: int) -> None:
    """Remove the old thing of a change that has happened; a folder that is in use again comes back."""
    if not item.backup:
        return
    hold = directory(base, item.hold)
    try:
        remove_any(hold, item.backup)
    except OSError as exc:
        folder = _above(item, base)
        if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST) or folder is None:
            raise
        try:
            os.rename(item.backup, item.path.rpartition("/")[2], src_dir_fd=hold, dst_dir_fd=folder)
        finally:
            os.close(folder)
    finally:
        os.close(hold)


def _drop_backup(item: Item, base: int) -> None:
    hold = directory(base, item.hold)
    try:
        os.unlink(item.backup, dir_fd=hold)
    finally:
        os.close(hold)


def _held(item: Item, base: int) -> os.stat_result | None:
    """The old thing under its other name, if it is there and is the old thing."""
    if not item.backup:
        return None
    hold = directory(base, item.hold)
    try:
        found = _stat(hold, item.backup)
        return found if found is not None and mark(found) == item.old else None
    finally:
        os.close(hold)


def _above(item: Item, base: int) -> int | None:
    try:
        return directory(base, item.path.rpartition("/")[0])
    except OSError as exc:
        if exc.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise


def _same(found: os.stat_result, other: Mark | None) -> bool:
    return mark(found) == other


def _stat(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def directory(base: int, path: str) -> int:
    """A handle of the directory `path` below `base`, reached without following links."""
    fd = os.dup(base)
    try:
        for part in path.split("/") if path else ():
            below = os.open(part, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
    except OSError:
        os.close(fd)
        raise
    return fd


def remove_any(folder: int, name: str) -> None:
    """Remove a file, a link or an empty folder; nothing there is fine."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except OSError as exc:
        if exc.errno not in (errno.EISDIR, errno.EPERM):
            raise
        os.rmdir(name, dir_fd=folder)
