"""Git for the host's own purposes; nothing of a repository's configuration that runs programs is heeded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from wisp.workspace.errors import Refused
from wisp.workspace.process import Ending, quiet_environment, run
from wisp.workspace.stop import StopToken

PATIENCE = 120.0
"""Seconds for one git command."""
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
        now: seconds that never go backwards.
    """

    def __init__(self, env: Mapping[str, str], now: Callable[[], float]) -> None:
        self._env = quiet_environment(env)
        self._now = now

    def __call__(self, folder: str, *words: str, more: Mapping[str, str] | None = None) -> bytes:
        """What a git command prints, run in `folder` with the variables `more`.

        Raises:
            GitFailed: there is no git, it ended with another code than 0, or took more than `PATIENCE`.
            OSError: there is no such folder.
        """
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            scoped = self._ran(
                descriptor, ("config", "--show-scope", "-z", "--get-regexp", "^filter[.]"), {}
            )[1]
            variables = {**(more or {}), **_without_filters(scoped, self._env)}
            ending, out, err = self._ran(descriptor, words, variables)
        except Refused as exc:
            raise GitFailed(f"git could not be run: {exc}") from None
        finally:
            os.close(descriptor)
        if ending.code != 0:
            said = err.decode("utf-8", "replace").strip().splitlines()
            raise GitFailed(said[-1] if said else f"it ended with {ending.how} {ending.code}")
        return out

    def _ran(self, folder: int, words: Sequence[str], more: Mapping[str, str]) -> tuple[Ending, bytes, bytes]:
        out, err = bytearray(), bytearray()

        def take(piece: bytes) -> bool:
            out.extend(piece)
            return len(out) <= MOST_OUTPUT

        ending = run(
            ["git", *_INERT, *words],
            cwd=folder,
            env={**self._env, **_NO_FETCH, **more},
            timeout=PATIENCE,
            stop=StopToken(),
            now=self._now,
            output=take,
            errors=err.extend,
        )
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
