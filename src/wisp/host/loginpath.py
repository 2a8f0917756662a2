"""The PATH of the person's login shell, for commands of a process that no shell started.

An editor or a desktop starts wisp with a short PATH; what the person installed with a version manager is
then not found.  The login shell is asked once in a process, in the home folder, without input, without a
prompt and with nothing that shells take orders from (`BASH_ENV`, `PROMPT_COMMAND`).
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping

from wisp.workspace.errors import Refused
from wisp.workspace.process import quiet_environment, run
from wisp.workspace.stop import StopToken

PATIENCE = 5.0
"""Seconds for the shell's start-up files; a slower shell tells nothing."""
_MARK = "wisp-login-path"
_ASK = f"printf '\\n{_MARK}<%s>\\n' \"$PATH\""  # read alike by sh, bash, zsh and fish
_TOLD = re.compile(rf"^{_MARK}<(.*)>$", re.MULTILINE)
_SHOWN = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "PATH")
_MOST = 1 << 16
_told_before: dict[tuple[tuple[str, str], ...], tuple[str, ...]] = {}
"""Answers of this process, by what the shell was shown."""


def wanted(setting: bool | None, editor: bool, env: Mapping[str, str]) -> bool:
    """Whether the login shell is asked: as set, else where an editor started us and no shell did."""
    return setting if setting is not None else editor and "SHLVL" not in env


async def widened(env: Mapping[str, str], now: Callable[[], float]) -> dict[str, str]:
    """`with_login_path`, in a thread."""
    return await asyncio.to_thread(with_login_path, env, now)


def with_login_path(env: Mapping[str, str], now: Callable[[], float]) -> dict[str, str]:
    """`env`, its PATH followed by the folders of the login shell's that it lacks; blocking.

    Args:
        env: names the shell (`SHELL`) and the home folder.
        now: seconds that never go backwards.
    """
    shell, home = env.get("SHELL", ""), env.get("HOME", "")
    if not (os.path.isabs(shell) and os.path.isabs(home)):
        return dict(env)
    known = env.get("PATH", "").split(":") if env.get("PATH") else []
    shown = tuple((name, env[name]) for name in _SHOWN if name in env)
    if shown not in _told_before:
        _told_before[shown] = _ask(shell, home, shown, now)
    more = [entry for entry in _told_before[shown] if entry not in known]
    return {**env, "PATH": ":".join([*known, *dict.fromkeys(more)])}


def _ask(
    shell: str, home: str, shown: tuple[tuple[str, str], ...], now: Callable[[], float]
) -> tuple[str, ...]:
    said = bytearray()

    def take(piece: bytes) -> bool:
        said.extend(piece)
        return len(said) < _MOST

    try:
        folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ()
    try:
        run(
            [shell, "-l", "-c", _ASK],
            cwd=folder,
            env=quiet_environment(dict(shown)),
            timeout=PATIENCE,
            stop=StopToken(),
            now=now,
            output=take,
            errors=len,
        )
    except Refused:
        return ()
    finally:
        os.close(folder)
    told = _TOLD.findall(said.decode("utf-8", "surrogateescape"))
    return tuple(entry for entry in told[-1].split(":") if os.path.isabs(entry)) if told else ()
