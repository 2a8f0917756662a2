"""The box as the rest of wisp sees it: cheap to have, proven and built at the first command.

Until then nothing of `sandbox/` is loaded and no program is started.  Knows nothing of policies.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wisp.workspace.process import Ending, on_terminal
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken

if TYPE_CHECKING:
    from wisp.workspace.sandbox.probe import Proof
    from wisp.workspace.sandbox.runner import Boxes


class BoxSettings(NamedTuple):
    """What a person chose, and what is to be hidden besides the usual."""

    wanted: bool = True
    network: str = "none"
    """`none`, `on`, or hosts separated by commas."""
    home: str = "/nonexistent"
    hide: tuple[str, ...] = ()
    show: tuple[str, ...] = ()


class News(NamedTuple):
    """What a command left that somebody should know of."""

    names: tuple[str, ...] = ()
    """Protected names that were not there before."""
    said: tuple[str, ...] = ()
    """Sentences: what was taken over, set aside or opened again, and why."""


class Looking(NamedTuple):
    """A program of wisp's own, boxed: what to start and what it inherits."""

    argv: list[str]
    fds: tuple[int, ...]
    """The first is for the caller to close."""
    guarded: bool


class Box:
    """One workspace's box; used from any thread, closed at the end.

    Args:
        search_path: where the launcher is looked for.
        now: seconds, for time limits.
        wall: nanoseconds since 1970.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: BoxSettings,
        search_path: str,
        now: Callable[[], float],
        wall: Callable[[], int],
    ) -> None:
        self._workspace, self.settings, self._path = workspace, settings, search_path
        self._now, self._wall = now, wall
        self._lock = threading.Lock()
        self._proof: Proof | None = None
        self._boxes: Boxes | None = None

    @property
    def likely(self) -> bool:
        """Whether commands will probably be boxed: a look, no proof."""
        return self.settings.wanted and bool(self._launcher())

    def prove(self) -> Proof:
        """What boxes commands here, found out by doing it at the first call."""
        from wisp.workspace.sandbox.probe import Proof, prove

        with self._lock:
            if self._proof is None:
                if self.settings.wanted:
                    inside = "lies in the workspace, where commands could change it"
                    self._proof = prove(
                        self._launcher(),
                        self._now,
                        inside if self._launcher(anywhere=True) else "is not installed",
                    )
                else:
                    self._proof = Proof("none", "the sandbox was turned off")
            return self._proof

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        timeout: float,
        stop: StopToken,
        output: Callable[[bytes], object],
        stdin: int = -1,
        errors: Callable[[bytes], object] | None = None,
        tty: bool = False,
    ) -> tuple[Ending, News]:
        """Run a command in the box, in the working directory.

        Args:
            errors: takes its standard error apart.
            tty: it gets a terminal of its own.

        Returns:
            How it ended, and what is new since.

        Raises:
            Refused: it could not be boxed; nothing ran.
        """
        from wisp.workspace.sandbox.launch import Job

        made, job = self._made(), Job(argv, env, timeout, stop, output, errors, stdin)
        if self.prove().kind == "bubblewrap":
            return made.run(job._replace(argv=on_terminal(argv)) if tty else job)
        return made.run_confined(job, tty=tty)

    def look(self, argv: Sequence[str], folder: int, path: str) -> Looking | None:
        """How a program of wisp's own that only reads is started, over one folder; None for plainly.

        Args:
            argv: the program, absolute, and its arguments.
            folder: handle of the folder it starts in; `path` is where that is.
        """
        proof = self.prove()
        if proof.kind == "none":
            return None
        from wisp.workspace.sandbox import landlock, seccomp
        from wisp.workspace.sandbox.looking import looking
        from wisp.workspace.sandbox.probe import descriptor

        program = seccomp.build(os.uname().machine, sockets=False)
        if proof.kind == "landlock":
            rules = landlock.packed((), landlock.readable(()), False, program)
            return Looking(list(argv), (descriptor("rules", rules),), guarded=True)
        root, at = folder, path
        for granted in self._workspace.roots:
            if path == granted.path or path.startswith(granted.path.rstrip("/") + "/"):
                root, at = granted.fd, granted.path
        filter_ = descriptor("filter", program)
        words = looking(self._launcher(), argv[0], root, at, path, filter_)
        return Looking([*words, *argv], (filter_, root), guarded=False)

    def tend(
        self,
        argv: Sequence[str],
        path: str,
        writable: Sequence[str],
        kept: Sequence[str],
        *,
        env: Mapping[str, str],
        timeout: float,
        output: Callable[[bytes], object],
        errors: Callable[[bytes], object],
    ) -> Ending:
        """Run a program of wisp's own in the folder `path`, where it may change the folders `writable` only.

        Args:
            kept: what lies within those and stays as it is.

        Raises:
            Refused: it could not be boxed, or not be started; nothing ran.
            OSError: there is no such folder.
        """
        from wisp.workspace.sandbox.launch import Job
        from wisp.workspace.sandbox.tending import Tended, tend

        kind, chosen = self.prove().kind, self.settings
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            home = os.path.realpath(chosen.home)
            place = Tended(folder, os.path.realpath(path), writable, kept, home, chosen.hide)
            job = Job(argv, env, timeout, StopToken(), output, errors)
            return tend(kind, self._launcher(), place, job, self._now)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Remove what the boxes shared."""
        if self._boxes is not None:
            self._boxes.close()

    def _made(self) -> Boxes:
        from wisp.workspace.sandbox.plan import Grant
        from wisp.workspace.sandbox.runner import Boxes

        with self._lock:
            if self._boxes is None:
                chosen = self.settings
                grant = Grant(
                    self._launcher(),
                    self._workspace.roots,
                    os.path.realpath(chosen.home),
                    chosen.hide,
                    chosen.show,
                    chosen.network == "on",
                    "" if chosen.network in ("none", "on") else chosen.network,
                )
                self._boxes = Boxes(grant, self._now, self._wall)
            return self._boxes

    def _launcher(self, *, anywhere: bool = False) -> str:
        """The launcher, outside of what a command could have written; or wherever it is."""
        roots = [root.path for root in self._workspace.roots]
        for folder in self._path.split(os.pathsep):
            if os.path.isabs(folder):
                found = os.path.realpath(os.path.join(folder, "bwrap"))
                if not anywhere and any(found.startswith(root.rstrip("/") + "/") for root in roots):
                    continue
                if os.path.isfile(found) and os.access(found, os.X_OK):
                    return found
        return ""
