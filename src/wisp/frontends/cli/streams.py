"""Standard input and output as they really are: piped text that may never come, readers that leave.

The one door to what a person reads on them: `say`, `complain` and `put` take nothing that was not made safe
to show.  What another program reads goes through `hand_over`.
"""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from wisp.host.showing import Shown

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


def say(text: Shown, end: Literal["\n", ""] = "\n", *, flush: bool = False) -> None:
    """Print for a person, on standard output."""
    print(text, end=end, flush=flush)


def complain(text: Shown, end: Literal["\n", ""] = "\n", *, flush: bool = False) -> None:
    """Print for a person, on standard error."""
    print(text, end=end, file=sys.stderr, flush=flush)


def put(text: Shown) -> None:
    """Write `text` to standard output at once.

    Raises:
        BrokenPipeError: the reader left.
        OutputFailed: anything else, a full disk for instance.
    """
    hand_over(text)


def hand_over(data: str | bytes) -> None:
    """Write what another program reads to standard output at once, as it is: JSON, a file, a script.

    It is not looked at, because it would no longer be what was promised; only who is named in
    `tests/architecture/test_shown.py` may call it.

    Raises:
        BrokenPipeError: the reader left.
        OutputFailed: anything else, a full disk for instance.
    """
    try:
        if isinstance(data, str):
            sys.stdout.write(data)
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as exc:
        quiet_stdout()
        raise OutputFailed(f"standard output cannot be written: {exc.strerror}") from None


def settle() -> None:
    """Have what was printed written, before the process ends.

    Raises:
        BrokenPipeError, OutputFailed: see `put`.
    """
    hand_over("")


def rewrite(line: Shown) -> None:
    """Put `line` in the place of the one that standard error, a terminal, stands on, if it takes it."""
    with suppress(OSError, ValueError):
        write = sys.stderr.drive if isinstance(sys.stderr, Errors) else sys.stderr.write
        write(f"\r\x1b[K{line}")
        sys.stderr.flush()


def mark_pastes(on: bool) -> None:
    """Have the terminal at standard output put marks around what is pasted, or no longer (DECSET 2004)."""
    sys.stdout.write(f"\x1b[?2004{'h' if on else 'l'}")
    sys.stdout.flush()


def copy(text: Shown) -> None:
    """Have the terminal at standard output, which may be far away, put `text` into its clipboard (OSC 52)."""
    import base64

    sys.stdout.write(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")


def hidden(prompt: Shown) -> str:
    """What a person types at their terminal, unseen.

    Raises:
        EOFError: they ended it.
    """
    import getpass

    return getpass.getpass(prompt)


class Errors(io.TextIOWrapper):
    """Standard error for whoever writes to it unasked: Python's own tracebacks and warnings, a library."""

    plain: io.TextIOWrapper
    """What it stands for, kept because its end would close what both write to."""

    def write(self, text: str) -> int:
        """Write what of `text` drives nothing; styles stay."""
        from wisp.host.showing import coloured  # not before something is said

        super().write(coloured(text))
        return len(text)

    def drive(self, text: str) -> int:
        """Write a sequence of ours as it is."""
        return super().write(text)


def make_usable() -> None:
    """Let no standard stream be missing or refuse a character, and standard error drive no terminal.

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
    if type(sys.stderr) is io.TextIOWrapper:
        plain = sys.stderr
        sys.stderr = Errors(plain.buffer, plain.encoding, plain.errors, line_buffering=True)
        sys.stderr.plain = plain


def quiet_stdout() -> None:
    """Point stdout at nothing, so that closing it at exit cannot complain."""
    with suppress(OSError, ValueError, AttributeError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
