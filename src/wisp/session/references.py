"""Which kept outputs stored sessions refer to: told by the bytes of their files, also damaged ones.

What was found in a file is remembered beside the sessions, by the file's condition; a cache, never the truth.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import zlib
from collections.abc import Collection, Iterator

import msgspec

from wisp.session.whole import write_all

_NAME = re.compile(rb"output/((?:sha256|bash|mcp|subagent)-[0-9A-Za-z-]+\.(?:log|patch))")
_CHUNK = 1 << 20
_LONGEST = 256
"""Bytes of a reference, at most."""


class _Row(msgspec.Struct, frozen=True, array_like=True):
    size: int
    modified: int
    inode: int
    end: int
    """CRC-32 of the last bytes: a file that only grew still has them there."""
    names: list[str]


def referred(base: str, names: Collection[str]) -> set[str]:
    """Those of `names` that a session below `base` refers to, also archived and thrown away ones.

    Raises:
        OSError: a file could not be read, so that nobody can say.
    """
    store = os.path.join(base, ".references")
    known = _load(store)
    rows = {path: row for path in _files(base) if (row := _row(path, known.get(path))) is not None}
    if rows != known:
        with contextlib.suppress(OSError):
            _save(store, rows)
    held = {name for row in rows.values() for name in row.names}
    return held.intersection(names)


def named_in(path: str) -> list[str]:
    """The outputs that the session file at `path` refers to.

    Raises:
        OSError: it cannot be read.
    """
    row = _row(path, None)
    return row.names if row is not None else []


def _row(path: str, known: _Row | None) -> _Row | None:
    """What the file at `path` refers to; of one that only grew, its new bytes are read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if known is not None and (known.size, known.modified, known.inode) == (
            status.st_size, status.st_mtime_ns, status.st_ino,
        ):  # fmt: skip
            return known
        names: set[str] = set()
        grew = known is not None and known.inode == status.st_ino and known.size <= status.st_size
        if known is not None and grew and known.end == _end(descriptor, known.size):
            names.update(known.names)
            file.seek(max(0, known.size - _LONGEST))
        rest = b""
        while chunk := file.read(_CHUNK):
            chunk = rest + chunk
            names.update(found[1].decode() for found in _NAME.finditer(chunk))
            rest = chunk[-_LONGEST:]
        end = _end(descriptor, status.st_size)
    return _Row(status.st_size, status.st_mtime_ns, status.st_ino, end, sorted(names))


def _end(descriptor: int, size: int) -> int:
    return zlib.crc32(os.pread(descriptor, min(size, 4096), max(0, size - 4096)))


def _files(base: str) -> Iterator[str]:
    """Every file that holds records, or once did."""
    for place in (base, os.path.join(base, ".archive"), os.path.join(base, ".trash")):
        for folder in _listed(place):
            if not folder.startswith("."):
                where = os.path.join(place, folder)
                for name in _listed(where):
                    if ".jsonl" in name and not name.endswith((".lock", ".index")):
                        yield os.path.join(where, name)


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _load(store: str) -> dict[str, _Row]:
    try:
        with open(store, "rb") as file:
            data = file.read()
        if data[:8] != b"%08x" % zlib.crc32(data[8:]):
            return {}
        return msgspec.msgpack.decode(data[8:], type=dict[str, _Row])
    except (OSError, msgspec.MsgspecError):
        return {}


def _save(store: str, rows: dict[str, _Row]) -> None:
    data = msgspec.msgpack.encode(rows)
    new = f"{store}.{os.getpid()}"
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            write_all(descriptor, b"%08x" % zlib.crc32(data) + data)
        finally:
            os.close(descriptor)
        os.replace(new, store)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)
