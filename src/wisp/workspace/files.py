"""Regular files beneath the roots: reading by window or whole, and replacing them in one step.

A write leaves either the whole new file or the old one.  Knows nothing of text.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from wisp.workspace.errors import Refused, refusal, shown
from wisp.workspace.handles import may_take_away, start_writing
from wisp.workspace.root import Place, Workspace

ABSENT = "absent"
"""The digest of a file that does not exist."""
MAX_WHOLE = 256 * 1024 * 1024
"""Most bytes read into memory at once."""
_CHUNK = 1 << 18
Pieces: TypeAlias = Sequence[bytes | memoryview]
"""Bytes that stand one after another in a file, not copied together."""
_TEMPORARY = ".wisp-tmp-"


class Content(NamedTuple):
    """A whole file."""

    data: bytes
    path: str
    """Where it really is."""
    digest: str
    stat: os.stat_result


def digest(*pieces: bytes | memoryview) -> str:
    """The identity of these bytes, one after another."""
    state = hashlib.sha256()
    for piece in pieces:
        state.update(piece)
    return state.hexdigest()


def signature(found: os.stat_result) -> tuple[int, int, int, int]:
    """What changes about a file when it is written: for those too big to read again."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def read_whole(workspace: Workspace, place: Place, limit: int = MAX_WHOLE) -> Content:
    """All bytes of a regular file; the limit counts bytes read, not what the file system says.

    Raises:
        Refused: as `Workspace.open_file`, or `too_large`.
    """
    opened = workspace.open_file(place)
    try:
        data = b"".join(chunks(opened.fd, limit + 1, max(_CHUNK, opened.stat.st_size + 1)))
        if len(data) > limit:
            raise Refused("too_large", f"{shown(place.path)} is larger than {limit:,} bytes")
        return Content(data, opened.path, digest(data), opened.stat)
    except OSError as exc:
        raise refusal(exc, place.path) from None
    finally:
        os.close(opened.fd)


def chunks(fd: int, limit: int, size: int = _CHUNK) -> Iterator[bytes]:
    """Pieces of an open file, at most `limit` bytes in all."""
    while limit > 0:
        piece = os.read(fd, min(size, limit))
        if not piece:
            return
        limit -= len(piece)
        yield piece


def digest_of(workspace: Workspace, place: Place) -> str:
    """Digest of a file's bytes, or `ABSENT`; reads it by pieces."""
    try:
        opened = workspace.open_file(place)
    except Refused as exc:
        if exc.code == "not_found":
            return ABSENT
        raise
    try:
        return _digest_fd(opened.fd)
    finally:
        os.close(opened.fd)


def replace(workspace: Workspace, place: Place, data: bytes | Pieces, expected: str | bytes = "") -> str:
    """Make `data`, or its pieces, the whole content of `place`, in one step; returns the new digest.

    Missing directories are made.  Mode, owner and extended attributes are kept as far as allowed.  On any
    failure the old file is whole and no temporary remains.  The caller holds `workspace.lock(place.path)`.

    Args:
        expected: bytes the file must still hold right before the change, their digest, or `ABSENT`; an empty
            string to not care.

    Raises:
        Refused: a link, a hard link, not a regular file, no permission, full disk, or `stale_input`.
    """
    folder, name = workspace.open_parent(place, create=True)
    try:
        handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError as exc:
        raise refusal(exc, os.path.dirname(place.path)) from None
    finally:
        os.close(folder)
    try:
        _sweep_once(workspace, handle)
        old = check_target(handle, name, place.path)
        pieces = [data] if isinstance(data, bytes) else data
        return _replace_in(handle, name, pieces, old, expected, place.path)
    except OSError as exc:
        raise refusal(exc, place.path) from None
    finally:
        os.close(handle)


def check_target(folder: int, name: str, path: str) -> os.stat_result | None:
    """What `name` is now, or None when there is nothing; refuses what must not be replaced."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        target = os.readlink(name, dir_fd=folder)
        raise Refused(
            "is_link", f"{shown(path)} is a symbolic link to {shown(target)}; name the target itself"
        )
    if stat.S_ISDIR(found.st_mode):
        raise Refused("is_directory", f"{shown(path)} is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise Refused("not_regular", f"{shown(path)} is not a regular file")
    if found.st_nlink > 1:
        raise Refused(
            "hard_linked",
            f"{shown(path)} has {found.st_nlink} names (hard links); writing would change or split them, "
            "copy it to a new name and move that into place first",
        )
    if not os.access(name, os.W_OK, dir_fd=folder, effective_ids=True):
        raise Refused("permission_denied", f"{shown(path)}: permission denied, the file is not writable")
    return found


def _replace_in(
    folder: int, name: str, pieces: Pieces, old: os.stat_result | None, expected: str | bytes, path: str
) -> str:
    """See `replace`; in an open folder."""
    may_take_away(folder)
    temporary = f"{_TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600 if old else 0o666, dir_fd=folder)
    try:
        try:
            for piece in pieces:
                view = memoryview(piece)
                while view:
                    view = view[os.write(fd, view) :]
            if old:
                keep_metadata(folder, name, fd, old)
            if sum(map(len, pieces)) > _CHUNK:
                start_writing(fd)
            made = digest(*pieces)  # while the disk is at it
            os.fsync(fd)
        finally:
            os.close(fd)
        if expected != "":
            _check_fresh(folder, name, expected, path)
        if old is None:
            try:
                take_name((folder, temporary), (folder, name))
            except FileExistsError:
                raise stale(path) from None
        else:
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        try:
            os.unlink(temporary, dir_fd=folder)
        except FileNotFoundError:
            pass
        raise
    try:
        os.fsync(folder)
    except OSError as exc:
        if exc.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    return made


def take_name(
    staged: tuple[int, str],
    free: tuple[int, str],
    *,
    link: bool = True,
    linked: Callable[[], object] = lambda: None,
) -> None:
    """Move a new thing to a name that must still be free.

    Args:
        staged: the folder's descriptor and the name it has now.
        free: those it is to get.
        link: whether it is a file; a folder has one name only, and the look just before must do.
        linked: told while it has both names.

    Raises:
        FileExistsError: somebody has taken the name meanwhile.
    """
    (hold, old), (folder, name) = staged, free
    if link:
        try:
            os.link(old, name, src_dir_fd=hold, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as exc:
            if exc.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
                raise
        else:
            linked()
            os.unlink(old, dir_fd=hold)
            return
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(old, name, src_dir_fd=hold, dst_dir_fd=folder)
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)


def keep_metadata(folder: int, name: str, fd: int, old: os.stat_result) -> None:
    """Give the new file the owner, attributes and mode of the old one, as far as this user may."""
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        for uid, gid in ((old.st_uid, old.st_gid), (-1, old.st_gid)):
            try:
                os.fchown(fd, uid, gid)
                break
            except PermissionError:
                continue
    _keep_attributes(folder, name, fd)
    os.fchmod(fd, stat.S_IMODE(old.st_mode))


def _keep_attributes(folder: int, name: str, fd: int) -> None:
    if not hasattr(os, "listxattr"):
        return
    try:
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return  # a file we may write but not read: its attributes cannot be seen
    try:
        for attribute in os.listxattr(source):
            try:
                os.setxattr(fd, attribute, os.getxattr(source, attribute))
            except OSError:
                continue  # attributes only the system may set are kept where allowed, as documented
    except OSError:
        return  # a file system without attributes
    finally:
        os.close(source)


def _check_fresh(folder: int, name: str, expected: str | bytes, path: str) -> None:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        if expected != ABSENT:
            raise stale(path) from None
        return
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            raise stale(path) from None
        raise
    try:
        if expected == ABSENT or not _holds(fd, expected):
            raise stale(path)
    finally:
        os.close(fd)


def stale(path: str) -> Refused:
    """The refusal of a change made for other contents."""
    return Refused(
        "stale_input", f"{shown(path)} changed meanwhile; nothing was written, read it again and repeat"
    )


def _holds(fd: int, expected: str | bytes) -> bool:
    if isinstance(expected, str):
        return _digest_fd(fd) == expected
    at = 0
    while piece := os.read(fd, _CHUNK // 4):  # pieces so small stay near the processor
        if not expected.startswith(piece, at):
            return False
        at += len(piece)
    return at == len(expected)


def _digest_fd(fd: int) -> str:
    state = hashlib.sha256()
    while piece := os.read(fd, _CHUNK):
        state.update(piece)
    return state.hexdigest()


def _sweep_once(workspace: Workspace, folder: int) -> None:
    """Remove what a killed writer left in this directory; looked for once per directory and process."""
    found = os.fstat(folder)
    key = (found.st_dev, found.st_ino)
    if key not in workspace.swept:
        workspace.swept.add(key)
        sweep(folder)


def sweep(folder: int) -> int:
    """Remove temporaries in `folder` whose process is gone; how many there were."""
    removed = 0
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(_TEMPORARY)]
    for name in names:
        owner = name[len(_TEMPORARY) :].split("-")[0]
        if owner.isdigit() and not _alive(int(owner)):
            try:
                os.unlink(name, dir_fd=folder)
                removed += 1
            except OSError:
                continue  # someone else was faster, or it is not ours to remove
    return removed


def _alive(pid: int) -> bool:
    if os.path.isdir("/proc/self"):
        return os.path.exists(f"/proc/{pid}")
    return True
