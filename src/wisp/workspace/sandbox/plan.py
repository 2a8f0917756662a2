"""What one box looks like: what may be written, what is covered, which names must not appear.

Looks at the system anew for every command, because sockets, credentials and repositories come and go.
Starts nothing.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from wisp.workspace.root import Root
from wisp.workspace.sandbox import gitdirs, hidden
from wisp.workspace.sandbox.bubblewrap import Kind, Mount, Spec
from wisp.workspace.sandbox.gitreads import first_missing
from wisp.workspace.sandbox.standins import Standins
from wisp.workspace.sandbox.watch import MASKED, SHELL_NAMES

TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - covered, not used
_OUTSIDE_ONLY = (
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST", "TMUX", "STY",
)  # fmt: skip
PROXY_PORT = 3128
PROXY_SOCKET = "/tmp/.wisp-proxy"  # noqa: S108 - in the private folder
FORWARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "forward.py")
_PROXY = f"http://127.0.0.1:{PROXY_PORT}"
_PROXIED = {
    **dict.fromkeys(
        ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"), _PROXY
    ),
    "NO_PROXY": "localhost,127.0.0.1,::1",
    "no_proxy": "localhost,127.0.0.1,::1",
    "NODE_USE_ENV_PROXY": "1",
}
_CACHES = {
    "GOCACHE": "go-build",
    "UV_CACHE_DIR": "uv",
    "npm_config_cache": "npm",
    "CCACHE_DIR": "ccache",
}


class Grant(NamedTuple):
    """What every box of one workspace shares."""

    bwrap: str
    roots: Sequence[Root]
    home: str
    hide: Sequence[str]
    """More places to hide: wisp's own files."""
    show: Sequence[str]
    """Places within those that stay readable."""
    network: bool
    hosts: str = ""
    """What the proxy lets through; empty for no proxy."""


def plan(
    grant: Grant,
    found: Sequence[str],
    env: Mapping[str, str],
    standins: Standins,
    temporary: str,
    staged: Mapping[str, str],
    spare: Mapping[str, int],
) -> Spec:
    """The box for one command.

    Args:
        found: protected names that are there.
        standins: gets what must stand in for those that are not; keep it until the command ended.
        temporary: the private folder for temporary files.
        staged: by root, the folder of ours that plays its `.git` where there is none.
        spare: by root with a list of what git is to ignore, the descriptor of an empty file for another one.
    """
    roots = [root.path for root in grant.roots]
    mounts = [Mount(path, "write") for path in roots]
    mounts += _system(grant, roots, env, temporary)
    mounts += [Mount(path, "hide") for path in hidden.credential_places(grant.home) if path not in roots]
    mounts += [Mount(path, "hide") for path in grant.hide if os.path.lexists(path) and path not in roots]
    mounts += [Mount(path, "read") for path in grant.show if os.path.lexists(path)]
    covered = [mount.path for mount in mounts if mount.kind in ("hide", "empty", "private")]
    mounts += [Mount(path, "hide") for path in hidden.sockets(covered, roots)]
    mounts += _protected(grant, found, roots, standins, staged, covered)
    for path in grant.hide:
        place = first_missing(path)
        if not os.path.lexists(path) and _beneath(place, roots) and standins.folder(place):
            mounts.append(Mount(place, "empty"))  # a command is not to make it either
    closed = {mount.path for mount in mounts if mount.kind in ("read", "empty")} | set(covered)
    mounts += [Mount(path, "write") for path in pins(mounts, roots, closed)]
    for root, fd in spare.items():
        mounts += _unlisted(root, [mount.path for mount in mounts if mount.kind == "empty"], fd)
    given = environment(env) | (_PROXIED if grant.hosts else {})
    return Spec(mounts, roots[0], given, grant.network, os.geteuid() == 0)


def _system(grant: Grant, roots: Sequence[str], env: Mapping[str, str], temporary: str) -> list[Mount]:
    mounts = [Mount("/run", "empty"), *(Mount(path, "read") for path in hidden.run_places(grant.network))]
    for place in TEMPORARY:
        if os.path.isdir(place) and not os.path.islink(place) and place not in roots:
            mounts.append(Mount(place, "private", temporary))
    if any(grant.home.startswith(top + "/") for top in TEMPORARY):
        mounts.append(Mount(grant.home, "read"))
    if grant.hosts:
        needed = (os.path.dirname(FORWARD), sys.prefix, sys.base_prefix)
        mounts += [Mount(p, "read") for p in needed if any(p.startswith(t + "/") for t in TEMPORARY)]
    for folder in env.get("PATH", "").split(os.pathsep):
        real = os.path.realpath(folder)
        if any(real.startswith(top + "/") for top in TEMPORARY) and os.path.isdir(real):
            venv = os.path.dirname(real)
            whole = os.path.exists(os.path.join(venv, "pyvenv.cfg"))
            mounts.append(Mount(venv if whole else real, "read"))
    return [mount for mount in mounts if mount.path not in roots]


def _protected(
    grant: Grant,
    found: Sequence[str],
    roots: Sequence[str],
    standins: Standins,
    staged: Mapping[str, str],
    covered: Sequence[str],
) -> list[Mount]:
    mounts = []
    there = set(found)
    for root in roots:
        names = (*MASKED, *SHELL_NAMES) if root == grant.home else MASKED
        for name in names:
            path = os.path.join(root, name)
            if path not in there and standins.folder(path):
                played = name == ".git" and root in staged
                mounts.append(Mount(path, "private", staged[root]) if played else Mount(path, "empty"))
    gits: list[Mount] = []
    for path in found:
        if os.path.basename(path).casefold() == ".git":
            gits += _git(path, roots, standins, covered)
        elif not os.path.islink(path):
            mounts.append(Mount(path, "read"))
        else:
            real = os.path.realpath(path)
            if any(real.startswith(root + "/") for root in roots) and os.path.lexists(real):
                mounts.append(Mount(real, "read"))
    own = {mount.path for mount in gits if mount.kind == "write" and "/.git/worktrees/" in mount.path}
    return mounts + [mount for mount in gits if mount.kind != "read" or mount.path not in own]


def _git(path: str, roots: Sequence[str], standins: Standins, covered: Sequence[str]) -> list[Mount]:
    if os.path.islink(path):
        real = os.path.realpath(path)
        inside = any(real.startswith(root + "/") for root in roots)
        return _git(real, roots, standins, covered) if inside and os.path.lexists(real) else []
    plan = gitdirs.layout(path)
    mounts = [Mount(place, "write") for place in plan.writable]
    mounts += [Mount(place, _unwritable(place)) for place in plan.frozen if not os.path.islink(place)]
    mounts += [Mount(place, "empty") for place in plan.absent_folders if standins.folder(place)]
    mounts += [Mount(place, "read") for place, text in plan.absent_files if standins.file(place, text)]
    changeable = (*roots, *plan.writable)
    for place, kind in plan.named:
        if not _beneath(place, changeable) or _beneath(place, covered):
            continue
        if kind == "there" or (kind == "file" and standins.file(place, b"")):
            mounts.append(Mount(place, "read"))
        elif kind == "folder" and standins.folder(place):
            mounts.append(Mount(place, "empty"))
    return mounts


def _beneath(path: str, tops: Sequence[str]) -> bool:
    return any(path.startswith(top.rstrip("/") + "/") for top in tops)


def _unwritable(place: str) -> Kind:
    """How `place` is kept as it is: an empty folder by another one, which costs less."""
    try:
        return "read" if os.listdir(place) else "empty"
    except OSError:
        return "read"


def environment(env: Mapping[str, str], temporary: str = TEMPORARY[0]) -> dict[str, str]:
    """What the command gets of `env`, and where it may keep temporary files and caches."""
    found = {name: value for name, value in env.items() if name not in _OUTSIDE_ONLY}
    found["TMPDIR"] = temporary
    for name, folder in _CACHES.items():
        found.setdefault(name, f"{temporary}/.cache/{folder}")
    return found


def exclude(root: str) -> str:
    """Where the repository at `root` keeps its private list of what git is to ignore."""
    return os.path.join(root, ".git", "info", "exclude")


def _unlisted(root: str, paths: Sequence[str], spare: int) -> list[Mount]:
    """Git's private list of what to ignore, with our stand-ins added: they are not the project's."""
    own = os.path.join(os.path.realpath(os.path.dirname(exclude(root))), "exclude")
    names = [os.path.relpath(path, root) for path in paths if os.path.dirname(path) == root]
    try:
        fd = os.open(own, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        text = os.read(fd, 1 << 20) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)
    added = "".join(f"\n/{name}/" for name in names)
    os.pwrite(spare, text + os.fsencode(added) + b"\n", 0)
    return [Mount(own, "data", str(spare))]


def pins(mounts: Sequence[Mount], roots: Sequence[str], closed: Container[str]) -> set[str]:
    """The folders on the way to protected places: what is mounted cannot be renamed, and so not replaced.

    Args:
        closed: what cannot be written in, or not be seen; nothing in there is to be opened by a pin.
    """
    pinned = set()
    for mount in mounts:
        way = []
        above = os.path.dirname(mount.path)
        while any(above.startswith(root.rstrip("/") + "/") for root in roots):
            way.append(above)
            above = os.path.dirname(above)
        if not any(place in closed for place in way):
            pinned.update(way)
    return pinned
