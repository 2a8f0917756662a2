"""What a short program prints: for key commands and questions to git, never for the model's commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from wisp.workspace.errors import Refused
from wisp.workspace.process import run
from wisp.workspace.stop import StopToken


def capture(
    argv: Sequence[str], *, env: Mapping[str, str], now: Callable[[], float], timeout: float = 30.0
) -> str:
    """What a short program of the user's own choosing prints, at most 64 KiB of it.

    Raises:
        OSError: it cannot be started, takes longer than `timeout` seconds, or fails; says which.
    """
    out = bytearray()

    def keep(piece: bytes) -> bool:
        out.extend(piece)
        return len(out) < 65536

    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        ending = run(
            argv,
            cwd=folder,
            env=env,
            timeout=timeout,
            stop=StopToken(),
            now=now,
            output=keep,
            errors=lambda piece: True,
        )
    except Refused as exc:
        raise OSError(str(exc)) from None
    finally:
        os.close(folder)
    if ending.how != "exited" or ending.code != 0:
        raise OSError(f"it ended by {ending.how}, exit code {ending.code}")
    return out.decode("utf-8", "replace")
