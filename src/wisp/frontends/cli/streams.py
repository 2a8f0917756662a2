"""Standard input and output as they really are: piped text that may never come, readers that leave."""

from __future__ import annotations

import os
import select
import stat
import sys
from contextlib import suppress

PATIENCE = 0.25
"""Seconds to wait for the first byte of a pipe when there is a prompt already."""
MAX_PIPED = 10_000_000
"""Most bytes taken from standard input."""


class NoInput(Exception):
    """Standard input was needed and gives nothing; the message says what to do."""


def piped_text(*, needed: bool) -> str:
    """What is piped into standard input, decoded; empty when nothing is.

    With `needed` it waits for the end of the input; otherwise a pipe that stays silent for `PATIENCE`
    seconds counts as empty, because a parent that never writes must not block us.

    Raises:
        NoInput: it is needed, and standard input is closed or a terminal.
    """
    try:
        descriptor = sys.stdin.fileno()
        kind = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        if needed:
            raise NoInput("standard input is closed; give the prompt after -p") from None
        return ""
    if os.isatty(descriptor):
        if needed:
            raise NoInput("give the prompt after -p, or pipe it into standard input")
        return ""
    waits = stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)
    if waits and not needed and not select.select([descriptor], [], [], PATIENCE)[0]:
        return ""
    parts: list[bytes] = []
    size = 0
    with suppress(OSError):
        while size < MAX_PIPED and (chunk := os.read(descriptor, 1 << 16)):
            parts.append(chunk)
            size += len(chunk)
    return b"".join(parts).decode("utf-8", "replace")


def quiet_stdout() -> None:
    """Point stdout at nothing, so that closing it at exit cannot complain."""
    with suppress(OSError, ValueError, AttributeError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
