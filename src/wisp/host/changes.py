"""What the runs of a session made of the folder's files, as diffs; read from the snapshots that undo uses.

Changes nothing.  Knows no screen.
"""

from __future__ import annotations

import tempfile

import msgspec

from wisp.host.undo import snapshots_of
from wisp.session.state import FileStep
from wisp.tools.diff import whole
from wisp.workspace import text
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace
from wisp.workspace.snapshots import Entry, Snapshots, compare

LARGEST = 1 << 20
"""Bytes of a file whose change is shown line by line."""
MOST = 500
"""Files that are listed."""


class FileChanged(msgspec.Struct, frozen=True):
    """One file that differs from what it was before the session's first change."""

    path: str
    what: str
    """`made`, `changed` or `deleted`."""
    diff: str = ""
    """Empty where it is no text, too large, or no longer kept; see `note`."""
    note: str = ""


def changes(cwd: str, state_folder: str, session_base: str, steps: list[FileStep]) -> list[FileChanged]:
    """Every file that the steps changed, from the first snapshot to the last.

    Args:
        cwd: the session's folder.
        state_folder: wisp's own.
        session_base: where sessions are kept.
        steps: those that were not undone, oldest first.

    Raises:
        LookupError: the snapshots are no longer kept.
        OSError: the folder cannot be read.
    """
    if not steps:
        return []
    try:
        workspace = Workspace(cwd)
    except Refused as exc:
        raise OSError(exc.message) from None
    try:
        snapshots = snapshots_of(workspace, state_folder, session_base)
        last = steps[-1].after or snapshots.take()
        old, new = snapshots.load(steps[0].before), snapshots.load(last)
        found = []
        for change in compare(old, new):
            before, after = old.get(change.path), new.get(change.path)
            if (before or after) is None or "folder" in (
                getattr(before, "kind", ""),
                getattr(after, "kind", ""),
            ):
                continue
            found.append(_shown(snapshots, change.path, change.what, before, after))
            if len(found) >= MOST:
                break
        return found
    except KeyError:
        raise LookupError("the snapshots of this session are no longer kept") from None
    finally:
        workspace.close()


def _shown(
    snapshots: Snapshots, path: str, what: str, before: Entry | None, after: Entry | None
) -> FileChanged:
    if "link" in (getattr(before, "kind", ""), getattr(after, "kind", "")):
        return FileChanged(path, what, note="a symbolic link")
    try:
        old, new = (_text(snapshots, entry) for entry in (before, after))
    except KeyError:
        return FileChanged(path, what, note="its content is no longer kept")
    except Refused as exc:
        return FileChanged(path, what, note=exc.message)
    diff = whole(old, new, path, created=before is None, deleted=after is None).text
    return FileChanged(path, what, diff, "" if diff else "only its permissions")


def _text(snapshots: Snapshots, entry: Entry | None) -> str:
    """The words of a file.

    Raises:
        KeyError: its content is not kept.
        Refused: it is too large, or no text.
    """
    if entry is None:
        return ""
    if entry.size > LARGEST or not entry.content:
        raise Refused("too_large", "too large to be shown here")
    with tempfile.TemporaryFile() as file:
        snapshots.write_out(entry.content, file.fileno())
        file.seek(0)
        found = text.decode(file.read())
        return text.lead(found.form) + found.text
