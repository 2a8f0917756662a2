"""Undo and redo of files: the session says which steps, the snapshots put the folder back."""

from __future__ import annotations

import contextlib
import os
from datetime import datetime

from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.mending import changes_folder, recover
from wisp.host.queries import PathChange
from wisp.messages.ids import Clock, iso
from wisp.session.catalog import NoSuchSession, folder_name, latest, resolve
from wisp.session.fold import Fold
from wisp.session.journal import FileJournal
from wisp.session.lock import Locked
from wisp.session.records import FilesMovedRecord, Known, LeafRecord, Record
from wisp.session.storage import StorageFailed
from wisp.session.undo import NothingToDo, plan_redo, plan_undo
from wisp.workspace.changelog import RollbackFailed
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace
from wisp.workspace.snapshots import Conflict, Snapshots, Tree
from wisp.workspace.store import ObjectStore

__all__ = ["FileUndo", "PathChange", "snapshots_of"]


_COARSE = 0.02
"""Seconds by which a file's change time may lag behind the clock."""


def snapshots_of(workspace: Workspace, state_folder: str, session_base: str) -> Snapshots:
    """Snapshots of the workspace's main folder, kept below wisp's own state and without it.

    What wisp writes itself during a run is nothing that a run changed: with it no undo would ever fit.
    """
    name = folder_name(workspace.cwd)
    place = os.path.join(state_folder, "snapshots", name)
    journals = changes_folder(workspace.cwd, state_folder)
    own = [os.path.realpath(folder) for folder in (state_folder, os.path.join(session_base, name))]
    return Snapshots(workspace.roots[0].fd, workspace.cwd, ObjectStore(place), journals, own)


class FileUndo:
    """One undo or redo of a stored session: look with `preview`, do it with `apply`, then `close`.

    Raises:
        OpenFailed: no such session, it is in use, or there is nothing to do.
    """

    def __init__(
        self, configured: Configured, clock: Clock, *, redo: bool, one_turn: bool, prefix: str = ""
    ) -> None:
        self._clock = clock
        try:
            base = configured.session_base
            path = resolve(base, prefix) if prefix else latest(base, configured.cwd)
            if path is None:
                raise OpenFailed("there is no session in this folder", 1)
            self._journal = FileJournal(path)
        except (NoSuchSession, Locked, OSError) as exc:
            raise OpenFailed(str(exc), 1) from None
        try:
            loaded = self._journal.load()
            self._fold = Fold(loaded.records, state=loaded.state)
            header = self._fold.state.header
            self._workspace = Workspace(header.cwd if header else configured.cwd)
            self._snapshots = snapshots_of(self._workspace, configured.paths.state, base)
            self.notes = tuple(recover(changes_folder(self._workspace.cwd, configured.paths.state)))
            plan = plan_redo if redo else plan_undo
            self.move = plan(self._fold.state, one_turn=one_turn)
            self._pair = self._trees()
        except (NothingToDo, StorageFailed, Refused) as exc:
            self._journal.close()
            raise OpenFailed(str(exc), 1) from None
        except BaseException:
            self._journal.close()
            raise

    def _trees(self) -> tuple[Tree, Tree]:
        try:
            to = self._snapshots.load(self.move.to)
            now = self.move.now or self._snapshots.take()
            return to, self._snapshots.load(now)
        except KeyError:
            raise OpenFailed("the snapshot is no longer kept; it was pruned to save space", 1) from None

    def preview(self) -> list[PathChange]:
        """What would change.

        Raises:
            OpenFailed: somebody else changed the same files since; they are named.
        """
        return self._restore(check_only=True)

    def uncovered(self) -> list[tuple[str, str]]:
        """Paths that changed meanwhile and that an undo leaves as they are, each with the reason."""
        from wisp.workspace.outside import ignored_since, too_large

        if self.move.direction == "redo":
            return []
        found = [(item.path, item.why) for item in too_large(*self._pair)]
        try:
            began = datetime.fromisoformat(self.move.since).timestamp()
        except ValueError:
            return found
        root = self._workspace.roots[0]
        since = int((began - _COARSE) * 1e9)
        ignored, whole = ignored_since(root.fd, root.path, since)
        more = [] if whole else [("...", "there are more ignored files than were looked at")]
        return [*found, *((item.path, item.why) for item in ignored), *more]

    def apply(self, *, chat: bool) -> list[PathChange]:
        """Do it, and with `chat` take the conversation back to before the prompt too.

        Raises:
            OpenFailed: somebody else changed the same files since; nothing was touched.
        """
        done = self._restore(check_only=False)
        bodies: list[Known] = [FilesMovedRecord(self.move.direction, self.move.steps)]
        if chat and self.move.direction == "undo":
            bodies.append(LeafRecord(self.move.follows, "undo"))
        records = []
        for number, body in enumerate(bodies):
            seq = self._fold.state.next_seq + number
            stamp = iso(self._clock.now())
            records.append(Record(seq, self._clock.new_id(), self._fold.state.leaf, stamp, body))
        try:
            self._journal.append(records, sync=True)
        except StorageFailed as exc:
            raise OpenFailed(f"the files are back, but the session could not note it: {exc}", 1) from None
        return done

    def _restore(self, *, check_only: bool) -> list[PathChange]:
        try:
            changes = self._snapshots.restore(self._pair, check_only=check_only)
        except Conflict as exc:
            names = ", ".join(exc.paths[:10]) + (" ..." if len(exc.paths) > 10 else "")
            raise OpenFailed(
                f"changed by somebody else since, so nothing was touched: {names}; "
                "put them back or move them away first",
                1,
            ) from None
        except KeyError:
            raise OpenFailed("a file's old content is no longer kept; nothing was touched", 1) from None
        except Refused as exc:
            raise OpenFailed(exc.message, 1) from None
        except RollbackFailed as exc:
            raise OpenFailed(f"it failed half way, and {exc}", 1) from None
        except OSError as exc:
            where = f"{exc.filename}: " if exc.filename else ""
            raise OpenFailed(f"{where}{exc.strerror or exc}; every file is as it was", 1) from None
        return [PathChange(change.path, change.what) for change in changes]

    def close(self) -> None:
        """Let the session and the folder go."""
        self._journal.close()
        with contextlib.suppress(OSError):
            self._workspace.close()
