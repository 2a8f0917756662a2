"""From a path in a call to the one file it means, with the effect a policy must know of.

Also where refusals of the workspace become failures the model can act on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from wisp.messages.codec import clean
from wisp.messages.tool import Effect, ToolFailure
from wisp.workspace.errors import Refused, refusal, shown
from wisp.workspace.files import check_target
from wisp.workspace.names import near, variant
from wisp.workspace.protected import why_protected
from wisp.workspace.root import Place, Workspace
from wisp.workspace.stop import Stopped

_HINTS = {
    "outside": "work inside the granted folders, or ask the user to add that folder",
    "permission_denied": "ask the user, or choose another file",
    "disk_full": "free some space first",
    "is_directory": "use ls or find for directories",
    "not_regular": "only regular files can be read or written",
}


class Target(NamedTuple):
    """What a path in a call means."""

    place: Place
    path: str
    """Absolute, links resolved: as it will be opened."""
    exists: bool
    note: str = ""
    """Said to the model when another spelling of the name was used."""

    def effect(self, kind: str) -> Effect:
        """What doing `kind` (`read` or `write`) to it means."""
        if kind == "write":
            why = why_protected(self.path, "write")
            return Effect("write", self.told, self.place.inside, self.exists, why)
        return Effect("read", self.told, self.place.inside, True, why_protected(self.path, "read"))

    @property
    def told(self) -> str:
        """The path as it may be written down: bytes that are no text are escaped."""
        return self.path if clean(self.path) == self.path else shown(self.path)


@contextmanager
def failures(path: str = "") -> Iterator[None]:
    """Turn what the workspace refuses, and what the system refuses, into a `ToolFailure`."""
    try:
        yield
    except Refused as exc:
        raise failure(exc) from None
    except Stopped as exc:
        raise ToolFailure("cancelled", f"stopped: {exc}") from None
    except OSError as exc:
        raise failure(refusal(exc, path or "the file")) from None


def failure(exc: Refused) -> ToolFailure:
    """A refusal with what to do instead."""
    hint = _HINTS.get(exc.code, "")
    code = "invalid_arguments" if exc.code in ("invalid_path", "invalid_pattern") else exc.code
    return ToolFailure(code, clean(exc.message + (f"; {hint}" if hint and hint not in exc.message else "")))


def to_read(workspace: Workspace, path: str) -> Target:
    """What a path to be read means; a name that differs only in Unicode form or spaces is found.

    Nothing outside the granted folders is looked at here.

    Raises:
        ToolFailure: `not_found` with names that come near, or why it cannot be opened.
    """
    with failures(path):
        place = workspace.place(path)
        if not place.inside:
            return Target(place, place.path, True)
        note = ""
        try:
            workspace.status(place)
        except Refused as exc:
            if exc.code != "not_found":
                raise
            other = variant(workspace, place)
            if other is None:
                raise _missing(workspace, place, path) from None
            place, note = other, f"[read {shown(other.relative)}, which is how the name is spelt]"
        real = workspace.real(place)
        return Target(workspace.place(real), real, True, note)


def to_write(workspace: Workspace, path: str) -> Target:
    """What a path to be written means.

    Raises:
        ToolFailure: it is a link, has several names, is no regular file, or may not be written.
    """
    with failures(path):
        place = workspace.place(path)
        if not place.parts:
            raise Refused("is_directory", f"{shown(place.path)} is a directory")
        if not place.inside:
            return Target(place, place.path, os.path.lexists(place.path))
        try:
            folder, name = workspace.open_parent(place)
        except Refused as exc:
            if exc.code != "not_found":
                raise
            return Target(place, place.path, False)
        try:
            return Target(place, place.path, check_target(folder, name, place.path) is not None)
        finally:
            os.close(folder)


def to_change(workspace: Workspace, path: str) -> Target:
    """What a path to be changed means; the file is there, and is found as by `to_read`.

    Raises:
        ToolFailure: `not_found` with names that come near, or as `to_write`.
    """
    target = to_write(workspace, path)
    if target.exists or not target.place.inside:
        return target
    other = variant(workspace, target.place)
    if other is None:
        raise _missing(workspace, target.place, path, "use write to create it")
    return to_write(workspace, other.path)


def relative(workspace: Workspace, path: str) -> str:
    """`path` as the model should see it: from the working directory where it is below it."""
    base = workspace.cwd.rstrip("/") + "/"
    return shown(path.removeprefix(base))


def in_diff(workspace: Workspace, path: str) -> str:
    """`path` for the header of a diff, which has its own way of escaping; git drops the first slash too."""
    return path.removeprefix(workspace.cwd.rstrip("/") + "/").lstrip("/")


def _missing(
    workspace: Workspace, place: Place, path: str, otherwise: str = "use find or ls to look"
) -> ToolFailure:
    if path.startswith("~"):
        return ToolFailure(
            "not_found", f"{shown(path)} does not exist; ~ is not expanded, give the whole path"
        )
    names = near(workspace, place)
    hint = f"; did you mean {', '.join(shown(name) for name in names)}?" if names else f"; {otherwise}"
    return ToolFailure("not_found", f"{shown(path)} does not exist{hint}")
