"""Finding sessions: where they live, which there are, and which one a prefix means.

A folder's sessions stand in a folder of their own whose name is the escaped path.  Listing reads the head
and the end of files that changed since the last listing; what it found is kept in a cache that can be lost.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zlib
from collections.abc import Iterator

import msgspec

from wisp.messages.message import UserMessage
from wisp.session.codec import BadLine, decode
from wisp.session.index import title_of
from wisp.session.records import MessageRecord, SessionHeader, TitleRecord

_HEAD = 64 * 1024
_TITLE = b'"type":"title"'


class SessionInfo(msgspec.Struct, frozen=True):
    """One stored session, as far as its beginning tells."""

    id: str
    path: str
    cwd: str
    title: str
    """The first prompt's first line."""
    modified: float
    """Seconds since 1970."""
    size: int
    """Bytes."""
    name: str = ""
    """What a person called it."""
    shelf: str = ""
    """`archive` or `trash`; empty for where sessions are used."""


class NoSuchSession(LookupError):
    """No session, or more than one, has that id or prefix; the message says which."""


def folder_name(cwd: str) -> str:
    """A file name that stands for the folder `cwd` and for no other."""
    name = cwd.replace("%", "%25").replace("-", "%2D").replace("/", "-")
    if len(name.encode("utf-8", "surrogateescape")) > 200:
        import hashlib

        return hashlib.sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()
    return name


def session_path(base: str, cwd: str, session_id: str) -> str:
    """Where the session `session_id` of folder `cwd` is kept under `base`."""
    return os.path.join(base, folder_name(cwd), session_id + ".jsonl")


def sessions(base: str, cwd: str | None = None, shelf: str = "") -> list[SessionInfo]:
    """The stored sessions, of folder `cwd` or of all, newest first.  Unreadable files are left out."""
    place = shelf_of(base, shelf)
    known = _Known(place)
    found = [info for path in _files(place, cwd) if (info := known.describe(path, shelf)) is not None]
    known.save(whole=cwd is None)
    return sorted(found, key=lambda info: (info.modified, info.id), reverse=True)


def shelf_of(base: str, shelf: str) -> str:
    """The folder of sessions that are archived or thrown away; `base` itself for neither."""
    return os.path.join(base, "." + shelf) if shelf else base


def latest(base: str, cwd: str) -> str | None:
    """The path of the session of `cwd` that was changed last."""
    newest: tuple[float, str] | None = None
    for path in _files(base, cwd):
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode):
            continue
        stamp = (status.st_mtime, path)
        newest = stamp if newest is None or stamp > newest else newest
    return newest[1] if newest else None


def resolve(base: str, prefix: str, shelf: str = "") -> str:
    """The path of the one session whose id begins with `prefix`, in any folder, on `shelf`.

    Raises:
        NoSuchSession: none or several.
    """
    prefix = prefix.lower()
    place = shelf_of(base, shelf)
    paths = (
        [path for path in _files(place, None) if os.path.basename(path).startswith(prefix)] if prefix else []
    )
    if not paths:
        where = f" in the {shelf}" if shelf else ""
        option = f" --{shelf}" if shelf else ""
        raise NoSuchSession(f"there is no session {prefix!r}{where}; see 'wisp sessions list{option}'")
    exact = [path for path in paths if os.path.basename(path) == prefix + ".jsonl"]
    if len(paths) > 1 and len(exact) != 1:
        raise NoSuchSession(f"{len(paths)} sessions begin with {prefix!r}; give more of the id")
    return exact[0] if exact else paths[0]


def describe(path: str) -> SessionInfo | None:
    """What the beginning and the end of the file at `path` tell; None if it is no session."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            regular = stat.S_ISREG(status.st_mode)
            head = os.pread(descriptor, _HEAD, 0) if regular else b""
            beyond = max(status.st_size - _HEAD, _HEAD)
            tail = os.pread(descriptor, _HEAD, beyond) if regular else b""
        finally:
            os.close(descriptor)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    cwd, title, name = "", "", ""
    for body in _bodies(head):
        if isinstance(body, SessionHeader):
            cwd = body.cwd
        elif isinstance(body, MessageRecord) and isinstance(body.message, UserMessage) and not title:
            title = body.message.text.strip().split("\n", 1)[0][:200]
            if not tail and _TITLE not in head:
                break
        elif isinstance(body, TitleRecord):
            name = body.name
    if status.st_size > _HEAD:
        indexed = title_of(path, status)
        name = name if indexed is None else indexed
        for body in _bodies(tail) if _TITLE in tail else ():
            name = body.name if isinstance(body, TitleRecord) else name
    session_id = os.path.basename(path).removesuffix(".jsonl")
    return SessionInfo(session_id, path, cwd, title, status.st_mtime, status.st_size, name)


def _bodies(data: bytes) -> Iterator[object]:
    for line in data.split(b"\n"):
        try:
            yield decode(line).body
        except BadLine:
            continue


class _Row(msgspec.Struct, frozen=True, array_like=True):
    signature: tuple[int, int, int, int]
    cwd: str
    title: str
    name: str


class _Known:
    """What earlier listings found, by file and condition; a cache, never the truth."""

    def __init__(self, base: str) -> None:
        self._path = os.path.join(base, ".list")
        self._rows: dict[str, _Row] = {}
        self._used: dict[str, _Row] = {}
        try:
            with open(self._path, "rb") as file:
                data = file.read()
            if data[:8] == b"%08x" % zlib.crc32(data[8:]):
                self._rows = msgspec.msgpack.decode(data[8:], type=dict[str, _Row])
        except (OSError, msgspec.MsgspecError):
            self._rows = {}

    def describe(self, path: str, shelf: str) -> SessionInfo | None:
        try:
            status = os.lstat(path)
        except OSError:
            return None
        signature = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        key = os.path.join(os.path.basename(os.path.dirname(path)), os.path.basename(path))
        row = self._rows.get(key)
        if row is None or row.signature != signature:
            info = describe(path)
            if info is None:
                return None
            row = _Row(signature, info.cwd, info.title, info.name)
        self._used[key] = row
        session_id = os.path.basename(path).removesuffix(".jsonl")
        return SessionInfo(
            session_id, path, row.cwd, row.title, status.st_mtime, status.st_size, row.name, shelf
        )

    def save(self, *, whole: bool) -> None:
        rows = self._used if whole else {**self._rows, **self._used}
        if rows == self._rows:
            return
        data = msgspec.msgpack.encode(rows)
        new = f"{self._path}.{os.getpid()}"
        try:
            with contextlib.suppress(OSError):
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
                with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
                    file.write(b"%08x" % zlib.crc32(data) + data)
                os.replace(new, self._path)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(new)


def _files(base: str, cwd: str | None) -> Iterator[str]:
    try:
        folders = [folder_name(cwd)] if cwd is not None else sorted(os.listdir(base))
        folders = [folder for folder in folders if not folder.startswith(".")]
    except OSError:
        return
    for folder in folders:
        where = os.path.join(base, folder)
        try:
            names = sorted(os.listdir(where))
        except OSError:
            continue
        yield from (os.path.join(where, name) for name in names if name.endswith(".jsonl"))
