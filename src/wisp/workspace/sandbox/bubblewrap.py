"""The box built by bubblewrap: from what may be written and what must stay hidden to its arguments.

Later mounts cover earlier ones, so they are sorted from the outside in.  Pure but for looking whether
something exists and what kind it is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

Kind = Literal["write", "private", "read", "data", "empty", "hide"]
"""`private`: a folder of ours stands there, writable.  `data`: an unwritable file of ours.  `empty`: an
empty folder nobody may write in.  `hide`: nothing to be seen, file or folder."""
_STRENGTH: dict[Kind, int] = {"write": 0, "private": 0, "read": 1, "data": 2, "empty": 3, "hide": 4}


class Mount(NamedTuple):
    """One place inside the box."""

    path: str
    kind: Kind
    source: str = ""
    """For `private`: what stands there.  For `data`: the number of a descriptor with its content."""


class Spec(NamedTuple):
    """One box."""

    mounts: Sequence[Mount]
    cwd: str
    environment: Mapping[str, str]
    network: bool
    """Share the network of the system."""
    as_root: bool


def arguments(spec: Spec) -> list[str]:
    """What goes before the command, for `--args`: everything but the descriptors."""
    args = [
        "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
        "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "box",
    ]  # fmt: skip
    if not spec.network:
        args.append("--unshare-net")
    if not spec.as_root:
        args.append("--unshare-user")
    # The kernel's settings are in /proc too, where file modes alone keep root from changing them.
    args += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
    for mount in ordered(spec.mounts):
        args += _words(mount)
    args += ["--chdir", spec.cwd, "--clearenv"]
    for name, value in spec.environment.items():
        if name and "=" not in name:
            args += ["--setenv", name, value]
    return args


def ordered(mounts: Iterable[Mount]) -> list[Mount]:
    """From the outside in; of two for one place the stricter."""
    strictest: dict[str, Mount] = {}
    for mount in mounts:
        path = mount.path.rstrip("/") or "/"
        other = strictest.get(path)
        if other is None or _STRENGTH[mount.kind] > _STRENGTH[other.kind]:
            strictest[path] = mount._replace(path=path)
    return sorted(strictest.values(), key=lambda m: (m.path.count("/") if m.path != "/" else 0, m.path))


def packed(args: Sequence[str]) -> bytes:
    """As `--args` reads them."""
    return b"".join(os.fsencode(word) + b"\0" for word in args)


def _words(mount: Mount) -> list[str]:
    """A file system of its own covers a folder: for a bind the launcher reads the whole table of mounts."""
    path = mount.path
    if mount.kind == "write":
        return ["--bind", path, path]
    if mount.kind == "private":
        return ["--bind", mount.source, path]
    if mount.kind == "read":
        return ["--ro-bind-try", path, path]
    if mount.kind == "data":
        return ["--ro-bind-data", mount.source, path]
    if mount.kind == "empty" or _is_folder(path):
        return ["--perms", "0555", "--tmpfs", path]
    return ["--ro-bind", "/dev/null", path]


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return True
