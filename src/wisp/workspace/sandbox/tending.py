"""The box of wisp's own programs that write, as git does for a worktree: a few folders and nothing else.

Everything can be read but credentials; there is no network and no socket; what makes a repository run
something cannot be changed.  Knows nothing of git but where that lies.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wisp.workspace.process import Ending
from wisp.workspace.sandbox import hidden, landlock, seccomp
from wisp.workspace.sandbox.bubblewrap import Mount, Spec
from wisp.workspace.sandbox.launch import Job, direct, launch
from wisp.workspace.sandbox.probe import BoxKind


class Tended(NamedTuple):
    """Where such a program works."""

    folder: int
    """Handle of the folder it starts in."""
    path: str
    """Where that is."""
    writable: Sequence[str]
    kept: Sequence[str]
    """What lies within those and stays as it is, where bubblewrap does the boxing."""
    home: str
    hide: Sequence[str]


def tend(kind: BoxKind, bwrap: str, place: Tended, job: Job, now: Callable[[], float]) -> Ending:
    """Run `job` there, in the best box there is.

    Raises:
        Refused: it could not be boxed; nothing ran.
    """
    if kind == "none":
        return direct(job, place.folder, now)
    unseen = [*hidden.credential_places(place.home), *place.hide]
    unseen = [path for path in unseen if os.path.lexists(path)]
    machine = os.uname().machine
    if kind == "landlock":
        seen = landlock.readable(["/dev", *(path for path in unseen if not path.startswith("/proc/"))])
        rules = landlock.packed(place.writable, seen, False, seccomp.build(machine, sockets=False))
        return direct(job, place.folder, now, rules=rules)

    def planned() -> Spec:
        covered = [path for path in unseen if path not in place.writable]
        mounts = [Mount("/run", "empty"), *(Mount(path, "hide") for path in covered)]
        mounts += [Mount(path, "hide") for path in hidden.sockets([*covered, "/run"], place.writable)]
        mounts += [Mount(path, "write") for path in place.writable]
        mounts += [Mount(path, "read") for path in place.kept]
        return Spec(mounts, place.path, job.env, False, os.geteuid() == 0)

    return launch(
        lambda options: [bwrap, *options], planned, seccomp.build(machine), job, folder=place.folder, now=now
    )
