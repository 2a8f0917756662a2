"""Everything that can be done with stored sessions: shown as a tree, branched, named, shelved, mended, found.

For commands, for front ends and for other programs alike.  A session that is in use is changed through its
host, not here; this refuses and names who has it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from wisp._version import __version__
from wisp.host.client import OpenFailed
from wisp.messages.ids import Clock, iso
from wisp.messages.message import Message
from wisp.session.branches import Entry, clone_lines, entries, fork_lines, resolve_entry
from wisp.session.catalog import SessionInfo, describe, resolve, sessions, shelf_of
from wisp.session.find import Match, matches
from wisp.session.fold import NAVIGATED, NAVIGATED_BACK, Fold
from wisp.session.journal import FileJournal
from wisp.session.lock import Locked
from wisp.session.mending import Faults, examine, mended_lines
from wisp.session.open import opened_tree, seen
from wisp.session.records import VERSION, Known, LabelRecord, LeafRecord, Record, SessionHeader, TitleRecord
from wisp.session.storage import StorageFailed
from wisp.session.whole import create, destroy, move, replace
from wisp.session.words import forget, spans

__all__ = ["Entry", "Faults", "Found", "Made", "Match", "SessionInfo", "SessionStore", "tree_of"]

_Result = TypeVar("_Result")
ARCHIVE, TRASH = "archive", "trash"
SEARCHING = 20.0
"""Seconds that one search spends at most on having the next ones read less."""
TRASH_DAYS = 30
"""Days that a deleted session can be brought back."""


class Made(msgspec.Struct, frozen=True):
    """A session that was made from another."""

    id: str
    path: str
    messages: int


class Found(msgspec.Struct, frozen=True):
    """A session that matches a search."""

    info: SessionInfo
    matches: tuple[Match, ...]


def tree_of(path: str) -> list[Entry]:
    """Every message of the session file at `path`, which may be in use, in reading order."""
    with opened_tree(path) as tree:
        return list(entries(tree.fold))


class SessionStore:
    """The sessions below one folder.

    Args:
        base: where sessions are kept.
        clock: for the times and ids of new records.
    """

    def __init__(self, base: str, clock: Clock) -> None:
        self._base = base
        self._clock = clock

    # -- looking ------------------------------------------------------------------------------------------

    def listed(self, cwd: str | None = None, shelf: str = "") -> list[SessionInfo]:
        """The sessions of folder `cwd` or of all, newest first."""
        return sessions(self._base, cwd, shelf)

    def find(self, text: str, cwd: str | None = None) -> Iterator[Found]:
        """Sessions in which `text` was said, newest first, archived ones after the others."""
        infos = [*self.listed(cwd), *self.listed(cwd, ARCHIVE)]
        thrown = None if cwd is not None else {info.id + ".jsonl" for info in self.listed(shelf=TRASH)}
        paths = [info.path for info in infos]
        where = spans(self._base, paths, text, self._clock.monotonic, SEARCHING, thrown)
        for info in infos:
            try:
                found = matches(info.path, text, spans=where[info.path])
            except OSError:
                continue
            if found:
                yield Found(info, tuple(found))

    def tree(self, prefix: str) -> list[Entry]:
        """Every message of a session with its branches, in reading order."""
        return tree_of(self._path(prefix))

    def last(self, prefix: str, count: int) -> list[Message]:
        """The last `count` messages of the conversation."""
        path = self._path(prefix)
        held = seen(path).state
        if len(held.messages) >= count or not held.earlier.count:
            return held.messages[-count:]
        with opened_tree(path) as tree:
            return [tree.fold.message(found) for found in tree.fold.path(tree.fold.state.leaf)[-count:]]

    # -- branching ----------------------------------------------------------------------------------------

    def fork(self, prefix: str, entry: str = "") -> Made:
        """A new session that goes on from `entry` of another, or from where that stands.

        Raises:
            NoSuchSession, NoSuchEntry: which is not there.
            OSError: it cannot be read or made.
        """
        source = self._path(prefix)
        with opened_tree(source) as tree:
            target = resolve_entry(tree.fold, entry) if entry else tree.fold.state.leaf
            new = self._clock.new_id()
            path = os.path.join(os.path.dirname(source), new + ".jsonl")
            stamp = iso(self._clock.now())
            create(path, fork_lines(tree, target, new, f"wisp {__version__}", stamp))
            return Made(new, path, len(tree.fold.path(target)))

    def clone(self, prefix: str) -> Made:
        """A copy of a session with all its branches, under an id of its own; damaged records stay behind."""
        source = self._path(prefix)
        with opened_tree(source) as tree:
            new = self._clock.new_id()
            path = os.path.join(os.path.dirname(source), new + ".jsonl")
            create(path, clone_lines(tree, new, f"wisp {__version__}"))
            return Made(new, path, tree.fold.state.count)

    def go(self, prefix: str, entry: str) -> Entry:
        """Have the conversation go on from another message; `back` takes it back.

        Raises:
            OpenFailed: it is in use, or cannot be written.
            NoSuchEntry: there is no such message.
        """

        def bodies(fold: Fold) -> Known:
            return LeafRecord(resolve_entry(fold, entry), NAVIGATED)

        return self._note(prefix, bodies, lambda fold: next(row for row in entries(fold) if row.leaf))

    def back(self, prefix: str) -> Entry | None:
        """Take the last move between branches back; where it stands then, None at its beginning.

        Raises:
            OpenFailed: there was none, or the session is in use.
        """

        def bodies(fold: Fold) -> Known:
            if not fold.state.moves:
                raise OpenFailed("there is no move to take back in this session", 1)
            return LeafRecord(fold.state.moves[-1], NAVIGATED_BACK)

        return self._note(prefix, bodies, lambda fold: next((r for r in entries(fold) if r.leaf), None))

    # -- naming -------------------------------------------------------------------------------------------

    def rename(self, prefix: str, name: str) -> None:
        """Give a session a name; an empty one takes it back."""
        self._note(prefix, lambda _: TitleRecord(" ".join(name.split())[:200]), lambda _: None, whole=False)

    def label(self, prefix: str, entry: str, label: str) -> Entry:
        """Mark a message; an empty label takes the mark away."""
        found: list[str] = []

        def bodies(fold: Fold) -> Known:
            found.append(resolve_entry(fold, entry))
            return LabelRecord(found[0], " ".join(label.split())[:100])

        return self._note(prefix, bodies, lambda fold: next(r for r in entries(fold) if r.id == found[0]))

    # -- keeping ------------------------------------------------------------------------------------------

    def archive(self, prefix: str) -> SessionInfo:
        """Put a session out of the way."""
        return self._shelve(self._path(prefix), ARCHIVE)

    def remove(self, prefix: str) -> SessionInfo:
        """Throw a session away; it can be brought back for `TRASH_DAYS` days."""
        return self._shelve(self._path(prefix), TRASH)

    def restore(self, prefix: str) -> SessionInfo:
        """Bring a session back from the archive or the trash."""
        try:
            path = resolve(self._base, prefix, ARCHIVE)
        except LookupError:
            path = resolve(self._base, prefix, TRASH)
        return self._shelve(path, "")

    def prune(self, days: float | None, *, do_it: bool) -> list[SessionInfo]:
        """Throw away sessions that were not used for `days` days, and delete what was thrown away long ago.

        Sessions with a name, archived ones and those in use stay.  Returns those that went, or would.
        """
        now = self._clock.now()
        old = [
            i for i in self.listed() if days is not None and not i.name and now - i.modified > days * 86_400
        ]
        gone = [i for i in self.listed(shelf=TRASH) if now - os.lstat(i.path).st_ctime > TRASH_DAYS * 86_400]
        if not do_it:
            return [*old, *gone]
        went = []
        for info in (*old, *gone):
            with contextlib.suppress(OpenFailed):  # in use
                if info.shelf:
                    self._exclusive(lambda path=info.path: destroy(path))  # type: ignore[misc]
                    forget(self._base, [info.path])
                else:
                    self._shelve(info.path, TRASH)
                went.append(info)
        return went

    def _shelve(self, path: str, shelf: str) -> SessionInfo:
        folder = os.path.basename(os.path.dirname(path))
        target = os.path.join(shelf_of(self._base, shelf), folder, os.path.basename(path))
        info = describe(path)
        if info is None:
            raise OpenFailed(f"{path} cannot be read", 1)
        self._exclusive(lambda: move(path, target))
        return msgspec.structs.replace(info, path=target, shelf=shelf)

    # -- mending ------------------------------------------------------------------------------------------

    def repair(self, prefix_or_file: str, *, do_it: bool, output: str = "") -> tuple[Faults, str]:
        """What is wrong with a session, in the store or in a file from elsewhere; with `do_it` mended.

        A session of the store is replaced and its old file kept beside it; of a file from elsewhere a mended
        copy is written to `output`.  Returns the faults and where the other file is, empty if there is none.

        Raises:
            NoSuchSession: it is neither a file nor the beginning of a session's id.
            OpenFailed: it is in use, of a newer format, or holds nothing of a session.
            OSError: it cannot be read or written.
        """
        elsewhere = os.path.sep in prefix_or_file or os.path.isfile(prefix_or_file)
        path = os.path.abspath(prefix_or_file) if elsewhere else self._path(prefix_or_file)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OpenFailed(f"{path} is no file that a session could be in", 1)
            faults, fold, places = examine(path, descriptor)
            if not places:
                raise OpenFailed(f"{path} holds no whole record of a session", 1)
            if not do_it or not (faults.found or output):
                return faults, ""
            if faults.newest > VERSION:
                raise OpenFailed(f"{path} was written in format {faults.newest}; update wisp to mend it", 1)
            header = None
            if fold.state.header is None:
                name = os.path.basename(path).removesuffix(".jsonl")
                header = SessionHeader(name, "", f"wisp {__version__}")
            stamp = (iso(self._clock.now()), self._clock.new_id(), fold.state.leaf)
            lines = mended_lines(descriptor, places, faults, header, stamp)
            if elsewhere:
                target = os.path.abspath(output or path + ".mended.jsonl")
                create(target, lines)
                return faults, target
            return faults, self._exclusive(lambda: replace(path, lines, ".before-repair"))
        finally:
            os.close(descriptor)

    # -- parts --------------------------------------------------------------------------------------------

    def _path(self, prefix: str) -> str:
        return resolve(self._base, prefix)

    @staticmethod
    def _exclusive(work: Callable[[], _Result]) -> _Result:
        try:
            return work()
        except Locked as exc:
            raise OpenFailed(str(exc), 1) from None

    def _note(
        self,
        prefix: str,
        body_of: Callable[[Fold], Known],
        result_of: Callable[[Fold], _Result],
        *,
        whole: bool = True,
    ) -> _Result:
        """Add one record to a session; returns what `result_of` makes of what it adds up to then.

        Args:
            whole: whether every message must be in reach; costs reading all of a long session.
        """
        with self._opened(self._path(prefix)) as journal:
            if whole:
                fold = journal.folded()
            else:
                loaded = journal.load()
                fold = Fold(loaded.records, state=loaded.state)
            body = body_of(fold)
            stamp = iso(self._clock.now())
            record = Record(fold.state.next_seq, self._clock.new_id(), fold.state.leaf, stamp, body)
            journal.append([record], sync=True)
            fold.add(record)
            journal.remember(fold.state)
            return result_of(fold)

    @contextmanager
    def _opened(self, path: str) -> Iterator[FileJournal]:
        try:
            journal = FileJournal(path)
        except Locked as exc:
            raise OpenFailed(str(exc), 1) from None
        try:
            yield journal
        except StorageFailed as exc:
            raise OpenFailed(str(exc), 1) from None
        finally:
            journal.close()
