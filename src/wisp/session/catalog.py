"""Finding sessions: where they live, which there are, and which one a prefix means.

A folder's sessions stand in a folder of their own whose name is the escaped path.  Listing reads the
head of each file only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

import msgspec

from wisp.messages.message import UserMessage
from wisp.session.codec import BadLine, decode
from wisp.session.records import MessageRecord, SessionHeader

_HEAD = 64 * 1024


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


def sessions(base: str, cwd: str | None = None) -> list[SessionInfo]:
    """The stored sessions, of folder `cwd` or of all, newest first.  Unreadable files are left out."""
    found = [info for path in _files(base, cwd) if (info := describe(path)) is not None]
    return sorted(found, key=lambda info: (info.modified, info.id), reverse=True)


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


def resolve(base: str, prefix: str) -> str:
    """The path of the one session whose id begins with `prefix`, in any folder.

    Raises:
        NoSuchSession: none or several.
    """
    prefix = prefix.lower()
    paths = (
        [path for path in _files(base, None) if os.path.basename(path).startswith(prefix)] if prefix else []
    )
    if not paths:
        raise NoSuchSession(f"there is no session {prefix!r}; see 'wisp sessions list'")
    exact = [path for path in paths if os.path.basename(path) == prefix + ".jsonl"]
    if len(paths) > 1 and len(exact) != 1:
        raise NoSuchSession(f"{len(paths)} sessions begin with {prefix!r}; give more of the id")
    return exact[0] if exact else paths[0]


def describe(path: str) -> SessionInfo | None:
    """What the beginning of the file at `path` tells; None if it is no session."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            head = os.pread(descriptor, _HEAD, 0) if stat.S_ISREG(status.st_mode) else b""
        finally:
            os.close(descriptor)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    cwd, title = "", ""
    for line in head.split(b"\n"):
        try:
            body = decode(line).body
        except BadLine:
            continue
        if isinstance(body, SessionHeader):
            cwd = body.cwd
        elif isinstance(body, MessageRecord) and isinstance(body.message, UserMessage):
            title = body.message.text.strip().split("\n", 1)[0][:200]
            break
    session_id = os.path.basename(path).removesuffix(".jsonl")
    return SessionInfo(session_id, path, cwd, title, status.st_mtime, status.st_size)


def _files(base: str, cwd: str | None) -> Iterator[str]:
    try:
        folders = [folder_name(cwd)] if cwd is not None else sorted(os.listdir(base))
    except OSError:
        return
    for folder in folders:
        where = os.path.join(base, folder)
        try:
            names = sorted(os.listdir(where))
        except OSError:
            continue
        yield from (os.path.join(where, name) for name in names if name.endswith(".jsonl"))
