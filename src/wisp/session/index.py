"""What a large session file adds up to, kept beside it, so that opening it need not read all of it.

A cache and never the truth: it holds places, not contents; what it names is read from the session file and
verified there.  It counts only for exactly the file it was made from (size, times, inode); lost, damaged or
stale, it is made again.  Holds what was damaged, so that this is told at every opening all the same.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zlib
from collections.abc import Mapping

import msgspec

from wisp.messages.message import Message, Native, Notice
from wisp.session.codec import BadLine
from wisp.session.compact import pruned
from wisp.session.records import MessageRecord
from wisp.session.scan import record_at
from wisp.session.state import State
from wisp.session.storage import Damage

LARGE = 1 << 20
"""Bytes from which a session file has an index."""
_VERSION = 2
_MOST = 64 << 20


class Signature(msgspec.Struct, frozen=True, array_like=True):
    """Which file, exactly, in which condition."""

    size: int
    modified: int
    changed: int
    inode: int


class _Index(msgspec.Struct, frozen=True):
    version: int
    signature: Signature
    state: State
    """Without messages."""
    messages: list[int]
    """Places of the messages that are held."""
    context: list[tuple[int, bool]]
    """Which of them requests hold, and whether cut to a line."""
    summary: str
    native: Native | None
    """What stands for the summary at the provider that made it."""
    damage: list[Damage]
    newest: int


class Indexed(msgspec.Struct, frozen=True):
    """A session file as its index and the records that it names tell."""

    state: State
    places: dict[str, int]
    damage: tuple[Damage, ...]
    newest: int


def index_path(path: str) -> str:
    """Where the index of the session file `path` stands."""
    return path + ".index"


def signature_of(descriptor: int) -> Signature:
    """The open file's condition now."""
    status = os.fstat(descriptor)
    return Signature(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def save(
    path: str,
    descriptor: int,
    state: State,
    places: Mapping[str, int],
    damage: list[Damage],
    newest: int,
) -> None:
    """Keep what the session file adds up to; does nothing for what it cannot express.

    Args:
        descriptor: the session file, nothing of which waits to be written.
        places: where the records of the messages that `state` holds stand.

    Raises:
        OSError: it cannot be written; the old one is as it was.
    """
    at = {message.id: number for number, message in enumerate(state.messages)}
    context, summary, native = [], "", None
    for message in state.context:
        if isinstance(message, Notice) and message.id == "summary":
            summary, native = message.text, message.native
            continue
        if message.id not in at:
            return
        whole = state.messages[at[message.id]]
        if message != whole and pruned([whole], {whole.id}) != [message]:
            return
        context.append((at[message.id], message != whole))
    if len(at) != len(state.messages) or any(message.id not in places for message in state.messages):
        return
    bare = msgspec.structs.replace(state, messages=[], context=[])
    index = _Index(
        _VERSION,
        signature_of(descriptor),
        bare,
        [places[message.id] for message in state.messages],
        context,
        summary,
        native,
        damage,
        newest,
    )
    data = msgspec.msgpack.encode(index)
    new = f"{index_path(path)}.{os.getpid()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
            file.write(b"%08x" % zlib.crc32(data) + data)
        os.replace(new, index_path(path))
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def load(path: str, descriptor: int) -> Indexed | None:
    """What the index of the open session file tells; None when there is none for exactly this file."""
    index = _read(path)
    if index is None or index.signature != signature_of(descriptor):
        return None
    messages: list[Message] = []
    places: dict[str, int] = {}
    try:
        for place in index.messages:
            record = record_at(descriptor, place)
            if not isinstance(record.body, MessageRecord):
                return None
            messages.append(record.body.message)
            places[record.id] = place
        context = [
            pruned([messages[number]], {messages[number].id})[0] if cut else messages[number]
            for number, cut in index.context
        ]
    except (BadLine, IndexError, OSError):
        return None  # read it whole: that says what is wrong and where
    head: list[Message] = [Notice(index.summary, "summary", index.native)] if index.summary else []
    state = msgspec.structs.replace(index.state, messages=messages, context=[*head, *context])
    return Indexed(state, places, tuple(index.damage), index.newest)


def title_of(path: str, status: os.stat_result) -> str | None:
    """The name that the index says a person gave the session; None when it does not speak of this file.

    A file that only grew since keeps its name, unless its end says otherwise.
    """
    index = _read(path)
    if index is None or index.signature.inode != status.st_ino or index.signature.size > status.st_size:
        return None
    return index.state.title


def _read(path: str) -> _Index | None:
    try:
        descriptor = os.open(index_path(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST:
                return None
            data = file.read()
    except OSError:
        return None
    if data[:8] != b"%08x" % zlib.crc32(data[8:]):
        return None
    try:
        index = msgspec.msgpack.decode(data[8:], type=_Index)
    except msgspec.MsgspecError:
        return None
    return index if index.version == _VERSION else None
