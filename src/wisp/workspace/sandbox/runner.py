"""One command in the box, from what must be covered to what it left behind.

Puts the parts together for every command: what to hide now, which protected names are there and which must
not appear, the private folder for temporary files.  Knows nothing of models or policies.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from wisp.workspace.errors import Refused
from wisp.workspace.process import Boxed, Ending, run
from wisp.workspace.root import Root
from wisp.workspace.sandbox import gitdirs, hidden, landlock, seccomp
from wisp.workspace.sandbox.bubblewrap import Mount, Spec, arguments, packed
from wisp.workspace.sandbox.probe import descriptor
from wisp.workspace.sandbox.standins import Standins, is_standin
from wisp.workspace.sandbox.watch import MASKED, SHELL_NAMES, Watch
from wisp.workspace.stop import StopToken

_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - covered, not used
_OUTSIDE_ONLY = (
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST", "TMUX", "STY",
)  # fmt: skip
_CACHES = {
    "GOCACHE": "go-build",
    "UV_CACHE_DIR": "uv",
    "npm_config_cache": "npm",
    "CCACHE_DIR": "ccache",
}
_BASH = "/bin/bash"
_INSIDE = r"""
s=$1; n=$2; shift 2
ulimit -c 0; [ "$n" = 0 ] || ulimit -u "$n" 2>/dev/null
exec 9>&2 2>/dev/null
p=(/proc/[0-9]*); b=${#p[@]}
"$@" 2>&9 9>&- {gone}
c=$?
for ((i = 0; i < 12; i++)); do p=(/proc/[0-9]*); [ ${#p[@]} -le "$b" ] && exit $c; sleep 0.02; done
for q in "${p[@]}"; do
    q=${q#/proc/}
    [ "$q" -gt $$ ] && read -r x <"/proc/$q/comm" && printf 'left %s\n' "$x" >&"$s"
done
exit $c
"""
"""Runs the command, gives what it left in the background a moment, and names what is still there."""
PROCESSES = 4096
"""Most processes of one box, where the system counts them for an ordinary user."""


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


class Boxes:
    """Runs commands in boxes that share one private folder for temporary files; close it at the end."""

    def __init__(self, grant: Grant, now: Callable[[], float], wall: Callable[[], int]) -> None:
        self._grant, self._now, self._wall = grant, now, wall
        self._watches = [(root.path, Watch(root.path)) for root in grant.roots]
        self._temporary = ""
        self._filter = seccomp.build(os.uname().machine)

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        timeout: float,
        stop: StopToken,
        output: Callable[[bytes], object],
    ) -> tuple[Ending, tuple[str, ...]]:
        """Run `argv` in the working directory; how it ended and which protected names are new since.

        Raises:
            Refused: the box cannot be built; nothing ran.
        """
        self._check_roots()
        before = self._look()
        with Standins() as standins:
            spec = self._spec(before, env, standins)
            ending = self._start(spec, argv, timeout, stop, output)
        return ending, tuple(sorted(set(self._look()) - set(before)))

    def run_confined(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        timeout: float,
        stop: StopToken,
        output: Callable[[bytes], object],
    ) -> tuple[Ending, tuple[str, ...]]:
        """As `run`, under Landlock only."""
        self._check_roots()
        before, roots = self._look(), [root.path for root in self._grant.roots]
        unseen = ["/dev", *hidden.credential_places(self._grant.home), *self._grant.hide]
        unseen = [path for path in unseen if os.path.lexists(path) and not path.startswith("/proc/")]
        temporary = self._own_folder()
        network = self._grant.network
        rules = landlock.packed(
            [*roots, temporary],
            [*landlock.readable(unseen), *(place for place in self._grant.show if os.path.lexists(place))],
            network,
            seccomp.build(os.uname().machine, sockets=network),
        )
        confine = descriptor("rules", rules)
        try:
            ending = run(
                argv,
                cwd=self._grant.roots[0].fd,
                env=self._environment(env, temporary),
                timeout=timeout,
                stop=stop,
                now=self._now,
                output=output,
                fds=(confine,),
            )
        finally:
            os.close(confine)
        return ending, tuple(sorted(set(self._look()) - set(before)))

    def close(self) -> None:
        """Remove the private folder."""
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = ""

    def _start(
        self,
        spec: Spec,
        argv: Sequence[str],
        timeout: float,
        stop: StopToken,
        output: Callable[[bytes], object],
    ) -> Ending:
        args = descriptor("args", packed(arguments(spec)))
        filter_ = descriptor("filter", self._filter)
        info_read, info_write = os.pipe()
        left_read, left_write = os.pipe()
        try:
            left_write = _high(left_write)
            os.set_blocking(left_read, False)
            given = {"--seccomp": filter_, "--info-fd": info_write, "--args": args}
            options = [word for name, fd in given.items() for word in (name, str(fd))]
            ending = run(
                [self._grant.bwrap, *options, "--", *_inside(left_write, spec.as_root), *argv],
                cwd=self._grant.roots[0].fd,
                env={},
                timeout=timeout,
                stop=stop,
                now=self._now,
                output=output,
                guarded=False,
                fds=(filter_, args, info_write, left_write),
                boxed=Boxed(info_read, info_write),
            )
            return ending._replace(left=_names(left_read))
        finally:
            for fd in (args, filter_, info_read, left_read, left_write):
                os.close(fd)
            try:
                os.close(info_write)
            except OSError:
                pass  # closed by `run` as soon as the launcher had it

    def _spec(self, found: Sequence[str], env: Mapping[str, str], standins: Standins) -> Spec:
        grant = self._grant
        roots = [root.path for root in grant.roots]
        mounts = [Mount(path, "write") for path in roots]
        mounts += self._system(roots, env)
        mounts += [Mount(path, "hide") for path in hidden.credential_places(grant.home) if path not in roots]
        mounts += [Mount(path, "hide") for path in grant.hide if os.path.lexists(path) and path not in roots]
        mounts += [Mount(path, "read") for path in grant.show if os.path.lexists(path)]
        covered = [mount.path for mount in mounts if mount.kind in ("hide", "empty", "private")]
        mounts += [Mount(path, "hide") for path in hidden.sockets(covered, roots)]
        mounts += self._protected(found, roots, standins)
        return Spec(mounts, roots[0], self._environment(env), grant.network, os.geteuid() == 0)

    def _system(self, roots: Sequence[str], env: Mapping[str, str]) -> list[Mount]:
        mounts = [Mount("/run", "empty"), *(Mount(path, "read") for path in hidden.KERNEL_PLACES)]
        mounts += [Mount(path, "read") for path in hidden.run_places(self._grant.network)]
        temporary = self._own_folder()
        for place in _TEMPORARY:
            if os.path.isdir(place) and not os.path.islink(place) and place not in roots:
                mounts.append(Mount(place, "private", temporary))
        for folder in env.get("PATH", "").split(os.pathsep):
            real = os.path.realpath(folder)
            if any(real.startswith(top + "/") for top in _TEMPORARY) and os.path.isdir(real):
                venv = os.path.dirname(real)
                whole = os.path.exists(os.path.join(venv, "pyvenv.cfg"))
                mounts.append(Mount(venv if whole else real, "read"))
        return [mount for mount in mounts if mount.path not in roots]

    def _protected(self, found: Sequence[str], roots: Sequence[str], standins: Standins) -> list[Mount]:
        mounts = [Mount(path, "write") for path in pins(found, roots)]
        there = set(found)
        for root in roots:
            names = (*MASKED, *SHELL_NAMES) if root == self._grant.home else MASKED
            for name in names:
                path = os.path.join(root, name)
                if path not in there and standins.folder(path):
                    mounts.append(Mount(path, "empty"))
        for path in found:
            if os.path.basename(path).casefold() == ".git":
                mounts += self._git(path, standins)
            elif not os.path.islink(path):
                mounts.append(Mount(path, "read"))
            else:
                real = os.path.realpath(path)
                if any(real.startswith(root + "/") for root in roots) and os.path.lexists(real):
                    mounts.append(Mount(real, "read"))
        return mounts

    def _git(self, path: str, standins: Standins) -> list[Mount]:
        if os.path.islink(path):
            real = os.path.realpath(path)
            inside = any(real.startswith(root.path + "/") for root in self._grant.roots)
            return self._git(real, standins) if inside and os.path.lexists(real) else []
        plan = gitdirs.layout(path)
        mounts = [Mount(place, "write") for place in plan.writable]
        mounts += [Mount(place, "read") for place in plan.frozen if not os.path.islink(place)]
        mounts += [Mount(place, "empty") for place in plan.absent_folders if standins.folder(place)]
        mounts += [Mount(place, "read") for place, text in plan.absent_files if standins.file(place, text)]
        return mounts

    def _environment(self, env: Mapping[str, str], temporary: str = _TEMPORARY[0]) -> dict[str, str]:
        found = {name: value for name, value in env.items() if name not in _OUTSIDE_ONLY}
        found["TMPDIR"] = temporary
        for name, folder in _CACHES.items():
            found.setdefault(name, f"{temporary}/.cache/{folder}")
        return found

    def _own_folder(self) -> str:
        if not self._temporary or not os.path.isdir(self._temporary):
            self._temporary = os.path.realpath(tempfile.mkdtemp(prefix="wisp-box-"))
            os.mkdir(os.path.join(self._temporary, ".cache"))
        return self._temporary

    def _look(self) -> list[str]:
        """Protected names as they are, ours that stand in aside."""
        now = self._wall()
        found = []
        for _, watch in self._watches:
            found += [path for path in watch.look(now) if not _ours(path)]
        return found

    def _check_roots(self) -> None:
        for root in self._grant.roots:
            try:
                there, held = os.stat(root.path), os.fstat(root.fd)
            except OSError:
                there, held = None, None
            if there is None or held is None or (there.st_dev, there.st_ino) != (held.st_dev, held.st_ino):
                raise Refused("stale_root", f"{root.path} is no longer the folder that was granted")


def pins(found: Sequence[str], roots: Sequence[str]) -> set[str]:
    """The folders on the way to protected names: what is mounted cannot be renamed, and so not replaced."""
    pinned = set()
    for path in found:
        above = os.path.dirname(path)
        while above not in roots and any(above.startswith(root.rstrip("/") + "/") for root in roots):
            pinned.add(above)
            above = os.path.dirname(above)
    return pinned


def _inside(left: int, as_root: bool) -> list[str]:
    script = _INSIDE.replace("{gone}", f"{left}>&-")
    limit = "0" if as_root else str(PROCESSES)
    return [_BASH, "--noprofile", "--norc", "-c", script, "box", str(left), limit]


def _high(fd: int) -> int:
    """The same pipe under a number that no script uses for something else."""
    import fcntl

    high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 30)
    os.close(fd)
    return high


def _names(fd: int) -> tuple[str, ...]:
    try:
        said = os.read(fd, 65536).decode("utf-8", "replace")
    except BlockingIOError:
        return ()
    return tuple(line[5:] for line in said.split("\n") if line.startswith("left "))[:8]


def _ours(path: str) -> bool:
    try:
        found = os.lstat(path)
        return is_standin(found) and (not stat.S_ISDIR(found.st_mode) or not os.listdir(path))
    except OSError:
        return True
