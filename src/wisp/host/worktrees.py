"""A copy of a repository's working folder, made and taken back by git: where a subagent may write.

It begins as the folder is now, changes that were not committed included, and ends as a patch.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping

from wisp.host.gitrun import Git, GitFailed
from wisp.messages.tool import ToolFailure
from wisp.workspace.box import Box

_NOBODY = {
    "GIT_AUTHOR_NAME": "wisp",
    "GIT_AUTHOR_EMAIL": "wisp@localhost",
    "GIT_COMMITTER_NAME": "wisp",
    "GIT_COMMITTER_EMAIL": "wisp@localhost",
}


class Worktree:
    """One such copy; blocking.

    Args:
        source: a folder in a repository; absolute.
        env: the environment of commands.
        box: what boxes git.

    Raises:
        ToolFailure: there is no repository, or git could not do it.
    """

    def __init__(self, source: str, env: Mapping[str, str], box: Box) -> None:
        self._source = source
        self._base = os.path.realpath(tempfile.mkdtemp(prefix="wisp-worktree-"))
        self._run = Git(env, box, (self._base,))
        try:
            top = self._git(source, "rev-parse", "--show-toplevel").decode().strip()
            self._start = self._as_it_is(top)
            self._path = os.path.join(self._base, os.path.basename(top) or "work")
            self._git(top, "worktree", "add", "--detach", self._path, self._start)
        except BaseException:
            shutil.rmtree(self._base, ignore_errors=True)
            raise
        self.cwd = os.path.normpath(os.path.join(self._path, os.path.relpath(os.path.realpath(source), top)))
        """What stands for the source folder."""
        os.makedirs(self.cwd, exist_ok=True)

    def _as_it_is(self, top: str) -> str:
        """A commit, on no branch, of the folder as it is now."""
        with tempfile.TemporaryDirectory(prefix="index-", dir=self._base) as folder:
            own = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
            parent: tuple[str, ...] = ()
            try:
                head = self._git(top, "rev-parse", "--verify", "HEAD").decode().strip()
                self._git(top, "read-tree", head, more=own)
                parent = ("-p", head)
            except ToolFailure:
                pass  # nothing was committed yet
            self._git(top, "add", "-A", more=own)
            tree = self._git(top, "write-tree", more=own).decode().strip()
        return self._git(top, "commit-tree", *parent, "-m", "as it was", tree).decode().strip()

    def changes(self) -> tuple[bytes, str]:
        """Everything that is otherwise now: a patch for `git apply` and a summary; empty for nothing."""
        self._git(self._path, "add", "-A")
        patch = self._git(
            self._path, "diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", self._start
        )
        stat = self._git(
            self._path, "diff", "--cached", "--stat", "--no-ext-diff", "--no-textconv", self._start
        )
        return patch, stat.decode("utf-8", "replace").strip()

    def remove(self) -> None:
        """Take it away with all that is in it; a rest that cannot be removed stays."""
        try:
            self._git(self._source, "worktree", "remove", "--force", "--force", self._path)
        except ToolFailure:
            pass
        shutil.rmtree(self._base, ignore_errors=True)

    def _git(self, folder: str, *words: str, more: Mapping[str, str] | None = None) -> bytes:
        try:
            return self._run(folder, *words, more={**_NOBODY, **(more or {})})
        except GitFailed as exc:
            raise ToolFailure("unavailable", f"a worktree for the subagent could not be had: {exc}") from None
