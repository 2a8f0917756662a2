"""One command in the box, from what must be covered to what it left behind.

Puts the parts together for every command: what to hide now, which protected names are there and which must
not appear, the private folder for temporary files.  Knows nothing of models or policies.
"""

from __future__ import annotations

import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from wisp.workspace.box import News
from wisp.workspace.errors import Refused
from wisp.workspace.process import Ending
from wisp.workspace.sandbox import hidden, landlock, seccomp
from wisp.workspace.sandbox.bubblewrap import Spec
from wisp.workspace.sandbox.caps import Cap
from wisp.workspace.sandbox.changes import Changes
from wisp.workspace.sandbox.gitdirs import leads_to
from wisp.workspace.sandbox.launch import PROCESSES, Job, NotStarted, direct, launch
from wisp.workspace.sandbox.leftover import private_folder
from wisp.workspace.sandbox.newrepos import NewRepositories
from wisp.workspace.sandbox.plan import PROXY_SOCKET, Grant, environment, exclude, plan
from wisp.workspace.sandbox.probe import descriptor
from wisp.workspace.sandbox.reopening import reopen
from wisp.workspace.sandbox.standins import Standins, is_standin
from wisp.workspace.sandbox.watch import Watch

if TYPE_CHECKING:
    from wisp.workspace.sandbox.proxy import Proxy

TRIES = 3
"""How often a box is planned anew when what was to be covered vanished meanwhile."""
OPENED = 8
"""How deep folders that a command shut are opened again; what is shut below stays so, unwritable."""
_Identity = tuple[int, int, str]


class Boxes:
    """Runs commands in boxes that share one private folder for temporary files; close it at the end."""

    def __init__(self, grant: Grant, now: Callable[[], float], wall: Callable[[], int]) -> None:
        self._grant, self._now, self._wall = grant, now, wall
        self._changes = [Changes(root.path) for root in grant.roots]
        self._watches = [
            Watch(root.path, told) for root, told in zip(grant.roots, self._changes, strict=True)
        ]
        self._top = self._temporary = ""
        self._lock = threading.Lock()
        self._new = NewRepositories(grant.roots)
        self._running = 0
        self._hold = -1
        self._proxy: Proxy | None = None
        self._cap: Cap | None = None
        self.most = PROCESSES
        """Most processes, all boxes together."""
        self._filter = seccomp.build(os.uname().machine)

    def run(self, job: Job) -> tuple[Ending, News]:
        """Run `job` in the working directory; how it ended and what is new.

        Raises:
            Refused: the box cannot be built; nothing ran.
        """
        self._check_roots()
        before: dict[str, _Identity] | None = None

        def look() -> list[str]:
            nonlocal before
            before = {path: _identity(path) for path in self._look()}
            return list(before)

        with self._lock:
            self._running += 1
        try:
            for left in range(TRIES - 1, -1, -1):
                try:
                    ending = self._once(job, look)
                    break
                except NotStarted:
                    if not left or job.stop.stopped:
                        raise
        finally:
            news = self._ended(before)
        return ending, news

    def _ended(self, before: Mapping[str, _Identity] | None) -> News:
        """Count it out; the protected names that are new, and what became of them.

        Args:
            before: those that were there; None when nothing ran.
        """
        with self._lock:
            self._running -= 1
            if before is None:
                return News()
            self._look()
            said = self._reopen(before)
            fresh = {path for path in self._look() if before.get(path) != _identity(path)}
            for watch in self._watches:
                if watch.outgrown:
                    watch.outgrown = False
                    said.append(
                        f"{watch.root} has more folders now than are looked at: "
                        "what could make git run something may lie among them unseen"
                    )
            said += self._new.settle(fresh, set(before) - self._new.loose - fresh, alone=not self._running)
            return News(tuple(sorted(path for path in fresh if os.path.lexists(path))), tuple(said))

    def _once(self, job: Job, look: Callable[[], list[str]]) -> Ending:
        """Run it in one box; `look` says which protected names are there."""
        with Standins() as standins:
            temporary = self._own_folder()
            spare = {
                root.path: descriptor("spare", b"")
                for root in self._grant.roots
                if os.path.exists(exclude(root.path))
            }

            def planned() -> Spec:
                with self._lock:
                    found = look()
                    staged = self._new.stage(self._top)
                return plan(self._grant, found, job.env, standins, temporary, staged, spare)

            try:
                return launch(
                    self._launcher,
                    planned,
                    self._filter,
                    job,
                    folder=self._grant.roots[0].fd,
                    now=self._now,
                    data=tuple(spare.values()),
                    proxied=bool(self._grant.hosts),
                )
            finally:
                for fd in spare.values():
                    os.close(fd)

    def _launcher(self, options: list[str]) -> list[str]:
        argv = [self._grant.bwrap, *options]
        if os.geteuid() != 0:
            return argv
        if self._cap is None:
            self._cap = Cap(self.most)
        return self._cap.entering(argv)

    def run_confined(self, job: Job, *, tty: bool = False) -> tuple[Ending, News]:
        """As `run`, under Landlock only."""
        self._check_roots()
        roots = [root.path for root in self._grant.roots]
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
        with self._lock:
            self._running += 1
            before = {path: _identity(path) for path in self._look()}
        try:
            confined = job._replace(env=environment(job.env, temporary))
            ending = direct(confined, self._grant.roots[0].fd, self._now, rules=rules, tty=tty)
        finally:
            news = self._ended(before)
        return ending, news

    def close(self) -> None:
        """Remove the private folder and close the way out."""
        for told in self._changes:
            told.close()
        if self._cap is not None:
            self._cap.close()
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None
        if self._temporary:
            shutil.rmtree(self._top, ignore_errors=True)
            os.close(self._hold)
            self._temporary = ""
            self._new.forget()

    def _own_folder(self) -> str:
        with self._lock:
            if not self._temporary or not os.path.isdir(self._temporary):
                if self._temporary:  # somebody tidied up
                    os.close(self._hold)
                self._top, self._hold = private_folder(self._wall())
                self._temporary = os.path.join(self._top, "tmp")
                os.makedirs(os.path.join(self._temporary, ".cache"), 0o700)
                if self._grant.hosts:
                    self._proxy = self._open_way()
            return self._temporary

    def _open_way(self) -> Proxy:
        from wisp.workspace.sandbox.hosts import parse_rules
        from wisp.workspace.sandbox.proxy import Proxy

        path = os.path.join(self._temporary, os.path.basename(PROXY_SOCKET))
        return Proxy(parse_rules(self._grant.hosts), path)

    def _look(self) -> list[str]:
        """Protected names as they are, ours that stand in aside; under the lock."""
        found, now = [], self._wall()
        for watch in self._watches:
            found += [path for path in watch.look(now) if not _ours(path)]
        return found

    def _reopen(self, before: Iterable[str]) -> list[str]:
        """Open what commands shut, so that it can be looked into; what there is to be said."""
        known, said = set(before), []
        for _ in range(OPENED):
            shut = [path for watch in self._watches for path in watch.shut if path not in known]
            for path in shut:
                known.add(path)
                said.append(reopen(self._grant.roots, path))
            if not shut:
                break
            self._look()
        return said

    def _check_roots(self) -> None:
        for root in self._grant.roots:
            try:
                there, held = os.stat(root.path), os.fstat(root.fd)
            except OSError:
                there, held = None, None
            if there is None or held is None or (there.st_dev, there.st_ino) != (held.st_dev, held.st_ino):
                raise Refused("stale_root", f"{root.path} is no longer the folder that was granted")


def _ours(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return True
    try:  # a command can set any time stamp; where names are looked for, only empty folders of ours stand
        return is_standin(found) and stat.S_ISDIR(found.st_mode) and not os.listdir(path)
    except OSError:
        return False


def _identity(path: str) -> _Identity:
    """What is at `path`; unlike what is mounted, a link can be replaced, and what a pointer names be made."""
    try:
        there = os.lstat(path)
        kind, target = stat.S_IFMT(there.st_mode), ""
        if kind == stat.S_IFLNK:
            target = os.readlink(path)
        elif kind == stat.S_IFREG and os.path.basename(path) == ".git":
            target = leads_to(path)
        return there.st_ino, kind, target
    except OSError:
        return 0, 0, ""
