"""`--worktree`: a session in a git worktree and on a branch of its own.

It begins at the last commit.  When the session ends, a worktree that holds nothing new, or only what is
merged already, is taken away with its branch; any other stays and is told of.  One that a dead process left
is looked at when the next one is made.  The user's git configuration is never changed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from typing import Any

import msgspec

from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import configure
from wisp.host.gitrun import Git, GitFailed
from wisp.host.library import TrustBook
from wisp.host.paths import Paths, environment
from wisp.host.sandbox import make_box
from wisp.messages.ids import Clock, SystemClock
from wisp.session.catalog import folder_name, resolve
from wisp.session.lock import Locked, SessionLock
from wisp.session.open import seen
from wisp.session.whole import create_private_folder, replace_private
from wisp.workspace.box import Box
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace

BRANCHES = "wisp/"
"""What the names of their branches begin with."""


class _Made(msgspec.Struct, frozen=True):
    """What is kept of a worktree beside it."""

    top: str
    """The repository's folder it was made from."""
    path: str
    branch: str
    start: str
    """The commit it began at."""
    cwd: str
    """What in it stands for the folder it was asked for in."""


class Separate:
    """A worktree for one session, in use until `leave`; blocking.

    Args:
        source: a folder in a repository; absolute.
        resume_in: the folder of a session that goes on; where that is such a worktree, it is used again.

    Raises:
        OpenFailed: there is no repository, nothing was committed yet, or git could not do it.
    """

    def __init__(
        self,
        source: str,
        paths: Paths,
        env: Mapping[str, str],
        clock: Clock,
        box: Box,
        *,
        resume_in: str = "",
    ) -> None:
        self._base = paths.worktrees
        create_private_folder(self._base)
        self._git = Git(env, box, (self._base,))
        self._book = TrustBook(paths.trust_file, clock)
        self.notes: list[str] = []
        """What a person should know at the beginning, a sentence each."""
        self.cwd = ""
        """The folder to work in: what stands for `source`."""
        try:
            self._open(os.path.realpath(source), clock, os.path.realpath(resume_in) if resume_in else "")
        except Locked as exc:
            raise OpenFailed(f"that worktree is in use by {exc.holder}", 1) from None
        except (GitFailed, OSError) as exc:
            raise OpenFailed(f"--worktree: {exc}", 2) from None

    def _open(self, source: str, clock: Clock, before: str) -> None:
        if before.startswith(self._base + os.sep) and os.path.isdir(before):
            home = os.path.dirname(self._git.line(before, "rev-parse", "--show-toplevel"))
            self._lock = SessionLock(os.path.join(home, "lock"))
            self._home, self._made, self.cwd = home, _read(home), before
            return
        top = os.path.realpath(self._git.line(source, "rev-parse", "--show-toplevel"))
        try:
            start = self._git.line(top, "rev-parse", "--verify", "HEAD^{commit}")
        except GitFailed:
            raise OpenFailed(
                "--worktree begins at the last commit, and nothing was committed yet", 2
            ) from None
        self._sweep(top)
        name = clock.new_id()[-8:].lower()
        home = os.path.join(self._base, folder_name(top), name)
        create_private_folder(home)
        self._lock = SessionLock(os.path.join(home, "lock"))
        path = os.path.join(home, os.path.basename(top) or "work")
        cwd = os.path.normpath(os.path.join(path, os.path.relpath(source, top)))
        made = _Made(top, path, BRANCHES + name, start, cwd)
        replace_private(os.path.join(home, "made.json"), msgspec.json.encode(made))
        try:
            self._git(top, "worktree", "add", "--no-track", "-b", made.branch, made.path, start)
        except GitFailed:
            shutil.rmtree(home, ignore_errors=True)
            raise
        self._home, self._made, self.cwd = home, made, cwd
        os.makedirs(self.cwd, exist_ok=True)
        if self._book.state(source) == "trusted":
            self._book.decide(self.cwd, trusted=True, executing=self._book.approved(source))
        self.notes.append(f"this session works in {self.cwd}, on the branch {made.branch}")
        left = len(self._git(top, "status", "--porcelain", "-z").split(b"\0")) - 1
        if left:
            self.notes.append(f"{left} changes in {top} that are not committed are not in it")

    def leave(self) -> str:
        """End its use: take it away where nothing in it could be lost.  A sentence for a person."""
        made = self._made
        try:
            why = self._to_be_kept(made)
            if not why:
                self._take_away(self._home, made)
                return f"the worktree and its branch {made.branch} held nothing new and are gone"
        except (GitFailed, OSError) as exc:
            why = f"it could not be looked at: {exc}"
        finally:
            self._lock.release()
        return (
            f"the worktree {made.path} stays ({why}); its branch is {made.branch}, "
            "'wisp --worktree --resume ID' goes on in it, and once it is merged it is taken away"
        )

    def _to_be_kept(self, made: _Made) -> str:
        """What in it would be lost; empty for nothing."""
        tips = {made.start}
        if os.path.isdir(made.path):  # somebody may have taken it away
            if self._git(made.path, "status", "--porcelain", "--untracked-files=all", "-z"):
                return "it has changes that are not committed"
            tips = {self._git.line(made.path, "rev-parse", "HEAD")}
        with contextlib.suppress(GitFailed):  # somebody took the branch away
            tips.add(self._git.line(made.top, "rev-parse", "--verify", f"refs/heads/{made.branch}"))
        others = self._git.line(
            made.top,
            "rev-list",
            "--count",
            *sorted(tips),
            "--not",
            made.start,
            f"--exclude={made.branch}",
            "--branches",
            "--remotes",
        )
        return f"{others} commits in it are on no other branch" if others != "0" else ""

    def _take_away(self, home: str, made: _Made) -> None:
        self._book.forget(made.cwd)
        lost = () if os.path.isdir(made.path) else ("--force",)
        self._git(made.top, "worktree", "remove", *lost, made.path)
        with contextlib.suppress(GitFailed):
            self._git(made.top, "branch", "-D", "--", made.branch)
        shutil.rmtree(home, ignore_errors=True)

    def _sweep(self, top: str) -> None:
        """Take away what earlier sessions left and nobody would miss."""
        folder = os.path.join(self._base, folder_name(top))
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            home = os.path.join(folder, name)
            try:
                lock = SessionLock(os.path.join(home, "lock"))
            except (Locked, OSError):
                continue
            try:
                made = _read(home)
                if not self._to_be_kept(made):
                    self._take_away(home, made)
                    self.notes.append(f"the worktree of {made.branch} was merged or empty and is gone")
            except (GitFailed, OSError):
                continue
            finally:
                lock.release()


def _read(home: str) -> _Made:
    """What was kept beside a worktree.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with open(os.path.join(home, "made.json"), "rb") as file:
            return msgspec.json.decode(file.read(), type=_Made)
    except msgspec.MsgspecError as exc:
        raise OSError(f"{home}/made.json: {exc}") from None


def separate(cwd: str, resume: str, settings: Mapping[str, Any]) -> Separate:
    """A worktree for the session that is about to begin in `cwd`, or for the one that `resume` names.

    Args:
        cwd: the folder; empty for the process's own.
        settings: given on the command line; where sessions are kept may be among them.

    Raises:
        OpenFailed: see `Separate`; or there is no such folder or session.
    """
    env, clock = environment(), SystemClock()
    configured = configure(OpenRequest(options=settings, cwd=cwd), env, clock)
    before = ""
    if resume:
        try:
            path = resolve(configured.session_base, resume)
            header = seen(path).state.header
        except LookupError as exc:
            raise OpenFailed(str(exc.args[0]), 2) from None
        except OSError as exc:
            raise OpenFailed(f"the session cannot be read: {exc}", 1) from None
        before = header.cwd if header is not None else ""
    try:
        box = make_box(Workspace(configured.cwd), configured, env, clock)
    except Refused as exc:
        raise OpenFailed(f"--worktree: {exc}", 2) from None
    return Separate(configured.cwd, configured.paths, env, clock, box, resume_in=before)
