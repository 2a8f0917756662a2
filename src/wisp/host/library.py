"""Stored sessions and trust decisions, for the commands that list and change them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from wisp.messages.ids import Clock, iso
from wisp.messages.message import Message
from wisp.policy.trust import Identity, TrustRecord, TrustState, approved_digest, state_of
from wisp.session.catalog import SessionInfo, resolve, sessions
from wisp.session.open import opened_tree, seen
from wisp.session.whole import replace_private

__all__ = ["SessionContent", "SessionInfo", "TrustBook", "list_sessions", "show_session"]


class SessionContent(msgspec.Struct, frozen=True):
    """One stored session, read without changing it."""

    path: str
    session_id: str
    cwd: str
    messages: Iterable[Message]
    """To be gone through once."""
    notes: tuple[str, ...]


def list_sessions(base: str, cwd: str | None = None) -> list[SessionInfo]:
    """The sessions of folder `cwd`, or of all folders, newest first."""
    return sessions(base, cwd)


def show_session(base: str, prefix: str, last: int = 0) -> SessionContent:
    """The one session whose id begins with `prefix`, or the `last` messages of its conversation.

    Raises:
        NoSuchSession: none, or several.
        OSError: it cannot be read.
    """
    path = resolve(base, prefix)
    stored = seen(path)
    state, header = stored.state, stored.state.header
    notes = (*(f"byte {d.offset}: {d.message}" for d in stored.damage), *state.notes)
    messages: Iterable[Message] = state.messages
    if last and len(state.messages) >= last:
        messages = state.messages[-last:]
    elif state.earlier.count:
        messages = _whole(path, last)
    return SessionContent(
        path,
        header.session_id if header else os.path.basename(path).removesuffix(".jsonl"),
        header.cwd if header else "",
        messages,
        notes,
    )


def _whole(path: str, last: int) -> Iterator[Message]:
    """All messages of a long conversation, or the last of them, one at a time."""
    with opened_tree(path) as tree:
        for message_id in tree.fold.path(tree.fold.state.leaf)[-last if last else None :]:
            yield tree.fold.message(message_id)


class TrustBook:
    """Decisions about folders, kept in one private file; a broken file trusts nothing and is kept aside."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def records(self) -> tuple[TrustRecord, ...]:
        """All decisions, oldest first."""
        try:
            with open(self._path, "rb") as file:
                return tuple(msgspec.json.decode(file.read(), type=list[TrustRecord]))
        except (OSError, msgspec.MsgspecError):
            return ()

    def state(self, folder: str) -> TrustState:
        """What was decided about `folder`."""
        identity = identify(folder)
        return state_of(identity, self.records()) if identity else "undecided"

    def approved(self, folder: str) -> str:
        """Digest of the executing settings that were agreed to for `folder`."""
        identity = identify(folder)
        return approved_digest(identity, self.records()) if identity else ""

    def decide(self, folder: str, trusted: bool, executing: str = "") -> None:
        """Keep a decision.

        Raises:
            OSError: the folder does not exist, or the file cannot be written.
        """
        identity = _must_identify(folder)
        kept = [record for record in self.records() if record.identity != identity]
        self._write([*kept, TrustRecord(identity, trusted, iso(self._clock.now()), executing)])

    def forget(self, folder: str) -> None:
        """Return to undecided."""
        path = os.path.realpath(folder)
        self._write([record for record in self.records() if record.identity.path != path])

    def _write(self, records: list[TrustRecord]) -> None:
        if not self._readable():
            os.replace(self._path, f"{self._path}.broken")
        replace_private(self._path, msgspec.json.format(msgspec.json.encode(records), indent=1))

    def _readable(self) -> bool:
        """Whether nothing would be lost by writing over the file."""
        try:
            with open(self._path, "rb") as file:
                msgspec.json.decode(file.read(), type=list[TrustRecord])
        except FileNotFoundError:
            return True
        except msgspec.MsgspecError:
            return False
        return True


def identify(folder: str) -> Identity | None:
    """`folder` as the file system knows it; None when it is not there."""
    try:
        return _must_identify(folder)
    except OSError:
        return None


def _must_identify(folder: str) -> Identity:
    path = os.path.realpath(folder)
    found = os.stat(path)
    return Identity(path, found.st_dev, found.st_ino, found.st_uid)
