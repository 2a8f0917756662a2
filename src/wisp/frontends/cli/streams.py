"""Standard input and output as they really are: piped text that may never come, readers that leave."""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from contextlib import suppress

PATIENCE = 0.25
"""Seconds to wait for the first byte of a pipe when there is a prompt already."""
MAX_PIPED = 10_000_000
"""Most bytes taken from standard input."""


class OutputFailed(Exception):
    """Standard output takes nothing more, and not because its reader left; the message says why."""


class NoInput(Exception):
    """Standard input was needed and gives nothing; the message says what to do."""


def piped_text(*, needed: bool) -> str:
    """What is piped into standard input, decoded; empty when nothing is.

    With `needed` it waits for the end of the input; otherwise a pipe that stays silent for `PATIENCE`
    seconds counts as empty, because a parent that never writes must not block us.

    Raises:
        NoInput: it is needed, and standard input is closed or a terminal; or it is longer than `MAX_PIPED`.
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
        while size <= MAX_PIPED and (chunk := os.read(descriptor, 1 << 16)):
            parts.append(chunk)
            size += len(chunk)
    if size > MAX_PIPED:
        raise NoInput(f"standard input holds more than {MAX_PIPED:,} bytes; put it into a file and name that")
    return b"".join(parts).decode("utf-8", "replace")


def put(text: str) -> None:
    """Write `text` to standard output at once.

    Raises:
        BrokenPipeError: the reader left.
        OutputFailed: anything else, a full disk for instance.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as exc:
        quiet_stdout()
        raise OutputFailed(f"standard output cannot be written: {exc.strerror}") from None


def make_usable() -> None:
    """Let no standard stream be missing or refuse a character.

    A closed descriptor is filled, or the next file opened would be taken for a standard stream.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="backslashreplace")


def quiet_stdout() -> None:
    """Point stdout at nothing, so that closing it at exit cannot complain."""
    with suppress(OSError, ValueError, AttributeError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
