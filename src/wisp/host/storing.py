"""Where a conversation is kept: a new session, the one to go on with, a branch of another, or nowhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import Configured
from wisp.host.paths import NO_HOME
from wisp.messages.ids import Clock
from wisp.session.catalog import latest, resolve, session_path
from wisp.session.lock import Locked
from wisp.session.records import VERSION
from wisp.session.storage import MemoryStorage, Storage

if TYPE_CHECKING:
    from wisp.host.store import SessionStore


class Kept(NamedTuple):
    """The storage of a conversation, and how it came about."""

    storage: Storage
    resumed: bool
    """Whether it goes on with something."""
    new_id: str
    """The session's id, if it is a new one."""
    notes: tuple[str, ...] = ()
    """What the user should know of it."""


def storage_for(request: OpenRequest, configured: Configured, clock: Clock, own: Storage | None) -> Kept:
    """Open what `request` asks for.

    Raises:
        OpenFailed: there is no such session, it is in use, or nothing can be kept.
    """
    new_id = request.session_id or clock.new_id()
    if own is not None:
        return Kept(own, False, new_id)
    if request.no_session:
        return Kept(MemoryStorage(), False, new_id)
    base = configured.session_base
    try:
        return _opened(request, configured, clock, new_id)
    except LookupError as exc:  # no such session, or no such entry in it
        raise OpenFailed(str(exc.args[0]), 2) from None
    except Locked as exc:
        raise OpenFailed(f"{exc}; wait for it, or start a new session", 1) from None
    except OSError as exc:
        why = f"{exc.filename or base}: {exc.strerror or exc}"
        if base.startswith(NO_HOME):
            why = "no home folder is known: set HOME, or WISP_HOME to a folder that wisp may write in"
        raise OpenFailed(
            f"the session cannot be kept ({why}); use --session-dir DIR, or --no-session to keep nothing",
            1,
        ) from None


def _opened(request: OpenRequest, configured: Configured, clock: Clock, new_id: str) -> Kept:
    from wisp.session.journal import FileJournal, newest_of
    from wisp.session.whole import create_private_folder

    base = configured.session_base
    notes: tuple[str, ...] = ()
    path = None
    if request.fork:
        source, _, entry = request.fork.partition("@")
        path = _store(base, clock).fork(source, entry).path
    elif request.resume:
        path = resolve(base, request.resume)
    elif request.continue_:
        path = latest(base, configured.cwd)
    resumed = path is not None
    if path is not None and (newest := newest_of(path)) > VERSION:
        path, notes = _copied(path, newest, base, clock)
    path = path or session_path(base, configured.cwd, new_id)
    create_private_folder(os.path.dirname(path))
    return Kept(FileJournal(path), resumed, new_id, notes)


def _copied(path: str, newest: int, base: str, clock: Clock) -> tuple[str, tuple[str, ...]]:
    """A branch of a session that a newer wisp wrote; that one stays as it is, so that it can still be read.

    Returns the branch's path and what to tell of it.
    """
    made = _store(base, clock).fork(os.path.basename(path).removesuffix(".jsonl"))
    told = (
        f"the session was written by a newer wisp (format {newest}, this one knows {VERSION}): "
        f"it stays as it is, and a branch of it with what is understood goes on as {made.id}"
    )
    return made.path, (told,)


def _store(base: str, clock: Clock) -> SessionStore:
    from wisp.host.store import SessionStore

    return SessionStore(base, clock)
