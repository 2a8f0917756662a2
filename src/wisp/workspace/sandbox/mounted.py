"""Whether a box became what was planned: every place really covered, by what it was meant to be covered with.

The launcher finds what it mounts by name and follows links.  A command that still runs can put a link to
anywhere in the place of a folder between our look at it and that.  So what was mounted is read back, as Linux
tells it (proc_pid_mountinfo(5)), before anything runs there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from wisp.workspace.sandbox.bubblewrap import Mount, ordered

_SPECIAL = re.compile(rb"[ \t\n\\]")


class _Source(NamedTuple):
    device: bytes
    path: bytes
    """In its file system."""


def astray(pid: int, mounts: Iterable[Mount]) -> str:
    """The first place of `mounts`, as the process sees it, that is not what it should be; empty for none.

    Looked at is what lies beneath a folder that can be written in: commands cannot change other names.

    Args:
        pid: a process in the box.

    Raises:
        OSError: the process is gone.
    """
    planned = ordered(mounts)
    writable = {mount.path for mount in planned if mount.kind == "write" and mount.path != "/"}
    beneath = [(mount, above) for mount in planned if (above := _above(mount.path, writable))]
    if not beneath:
        return ""
    there = _table(f"/proc/{pid}/mountinfo")
    here: Mapping[bytes, _Source] = {}
    for mount, above in beneath:
        found, top = there.get(_escaped(mount.path)), there.get(_escaped(above))
        if found is None or top is None:
            return mount.path
        if mount.kind not in ("write", "read"):
            continue
        if found != top._replace(path=_joined(top.path, _escaped(mount.path[len(above) :]))):
            here = here or _table("/proc/self/mountinfo")
            if found != _expected(_escaped(mount.path), here):
                return mount.path
    return ""


def _above(path: str, writable: set[str]) -> str:
    """The nearest folder above it that is writable; empty for none."""
    while (path := os.path.dirname(path)) not in ("/", ""):
        if path in writable:
            return path
    return ""


def _expected(path: bytes, here: Mapping[bytes, _Source]) -> _Source | None:
    """What is at `path` outside of the box: there may be another file system below a folder."""
    top = path
    while top not in here:
        if top == b"/":
            return None
        top = os.path.dirname(top)
    return here[top]._replace(path=_joined(here[top].path, path[len(top.rstrip(b"/")) :]))


def _table(path: str) -> dict[bytes, _Source]:
    """What was mounted last at each place."""
    with open(path, "rb") as file:
        rows = [line.split(b" ", 5) for line in file.read().split(b"\n")]
    return {row[4]: _Source(row[2], row[3]) for row in rows if len(row) > 5}


def _joined(top: bytes, rest: bytes) -> bytes:
    return (top.rstrip(b"/") + rest) or b"/"


def _escaped(path: str) -> bytes:
    return _SPECIAL.sub(lambda found: b"\\%03o" % found[0][0], os.fsencode(path))
