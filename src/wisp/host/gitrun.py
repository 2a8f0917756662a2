"""Git for the host's own purposes; nothing of a repository's configuration that runs programs is heeded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from wisp.workspace.errors import Refused
from wisp.workspace.process import quiet_environment, run
from wisp.workspace.stop import StopToken

PATIENCE = 120.0
"""Seconds for one git command."""
MOST_OUTPUT = 64 << 20
_INERT = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "diff.ignoreSubmodules=all")


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
        out, err = bytearray(), bytearray()

        def take(piece: bytes) -> bool:
            out.extend(piece)
            return len(out) <= MOST_OUTPUT

        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            ending = run(
                ["git", *_INERT, *words],
                cwd=descriptor,
                env={**self._env, **(more or {})},
                timeout=PATIENCE,
                stop=StopToken(),
                now=self._now,
                output=take,
                errors=err.extend,
            )
        except Refused as exc:
            raise GitFailed(f"git could not be run: {exc}") from None
        finally:
            os.close(descriptor)
        if ending.code != 0:
            said = err.decode("utf-8", "replace").strip().splitlines()
            raise GitFailed(said[-1] if said else f"it ended with {ending.how} {ending.code}")
        return bytes(out)

    def line(self, folder: str, *words: str) -> str:
        """As `__call__`, for what prints one line."""
        return os.fsdecode(self(folder, *words)).strip("\n")
