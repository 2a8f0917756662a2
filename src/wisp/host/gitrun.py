"""Git for the host itself: in the sandbox, and nothing of a repository that runs programs is heeded.

It may change the repository's own folder, but not its configuration and hooks, and the folders it is given.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from wisp.workspace.box import Box
from wisp.workspace.errors import Refused
from wisp.workspace.process import Ending, quiet_environment

PATIENCE = 120.0
"""Seconds for one git command."""
LOOK = 5.0
"""Seconds for one that only reads the settings; it takes longer where they are a pipe."""
MOST_OUTPUT = 64 << 20
_INERT = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "diff.ignoreSubmodules=all")

_NO_FETCH = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
"""Objects that a partial clone lacks stay away: the repository says which program fetches them."""


class GitFailed(Exception):
    """Git could not be run, or said no; the message is its last line."""


class Git:
    """Runs git; blocking.

    Args:
        env: the environment of commands.
        box: what boxes it.
        writable: folders that it may change besides the repository's own.
    """

    def __init__(self, env: Mapping[str, str], box: Box, writable: Sequence[str] = ()) -> None:
        self._env = quiet_environment(env)
        self._box = box
        self._writable = tuple(map(os.path.realpath, writable))
        self._owns: dict[str, str] = {}

    def __call__(self, folder: str, *words: str, more: Mapping[str, str] | None = None) -> bytes:
        """What a git command prints, run in `folder` with the variables `more`.

        Raises:
            GitFailed: there is no git, it ended with another code than 0, or took more than `PATIENCE`.
            OSError: there is no such folder.
        """
        try:
            scoped = self._ran(
                folder, ("config", "--show-scope", "-z", "--get-regexp", "^filter[.]"), patience=LOOK
            )[1]
            variables = {**(more or {}), **_without_filters(scoped, self._env)}
            ending, out, err = self._ran(folder, words, variables, self._own(folder))
        except Refused as exc:
            raise GitFailed(f"git could not be run: {exc}") from None
        if ending.code != 0:
            said = err.decode("utf-8", "replace").strip().splitlines()
            raise GitFailed(said[-1] if said else f"it ended with {ending.how} {ending.code}")
        return out

    def _own(self, folder: str) -> tuple[str, ...]:
        """The repository's own folder, where there is one."""
        if folder not in self._owns:
            ending, out, _ = self._ran(folder, ("rev-parse", "--git-common-dir"), patience=LOOK)
            found = os.path.join(folder, os.fsdecode(out).removesuffix("\n"))
            self._owns[folder] = os.path.realpath(found) if ending.code == 0 else ""
        return tuple(filter(None, [self._owns[folder]]))

    def _ran(
        self,
        folder: str,
        words: Sequence[str],
        more: Mapping[str, str] | None = None,
        own: Sequence[str] = (),
        patience: float = PATIENCE,
    ) -> tuple[Ending, bytes, bytes]:
        from wisp.workspace.sandbox.gitdirs import frozen

        out, err = bytearray(), bytearray()

        def take(piece: bytes) -> bool:
            out.extend(piece)
            return len(out) <= MOST_OUTPUT

        ending = self._box.tend(
            ["git", *_INERT, *words],
            folder,
            [path for path in (*self._writable, *own) if os.path.isdir(path)],
            [place for path in own for place in frozen(path)],
            env={**self._env, **_NO_FETCH, **(more or {})},
            timeout=patience,
            output=take,
            errors=err.extend,
        )
        if ending.how == "timeout":
            raise GitFailed(f"'git {words[0]}' took more than {patience:g} s in {folder}")
        return ending, bytes(out), bytes(err)

    def line(self, folder: str, *words: str) -> str:
        """As `__call__`, for what prints one line."""
        return os.fsdecode(self(folder, *words)).strip("\n")


def _without_filters(scoped: bytes, env: Mapping[str, str]) -> dict[str, str]:
    """Variables that put the person's own filters, or none, in the place of a repository's.

    Args:
        scoped: what `git config --show-scope -z --get-regexp` printed of `filter.*`.
        env: the environment, which may give settings in the same way.
    """
    fields = scoped.decode("utf-8", "surrogateescape").split("\0")
    own: dict[str, str] = {}
    theirs: set[str] = set()
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = setting.partition("\n")
        if scope in ("local", "worktree"):
            theirs.add(key.rpartition(".")[0])
        else:
            own[key] = value
    inert = {"clean": "", "smudge": "", "process": "", "required": "false"}
    keys = {f"{name}.{what}": value for name in sorted(theirs) for what, value in inert.items()}
    first = int(env.get("GIT_CONFIG_COUNT", "0") or 0)
    found = {"GIT_CONFIG_COUNT": str(first + len(keys))} if keys else {}
    for place, key in enumerate(keys, first):
        found |= {f"GIT_CONFIG_KEY_{place}": key, f"GIT_CONFIG_VALUE_{place}": own.get(key, keys[key])}
    return found
