"""Signals of a headless run, from the program's first moment to its last.

One that comes early is kept until a `print.Stopper` takes it as a request to stop: nothing is raised into an
import, where it can bring down a module that is not written in Python.  Only what waits for input is
interrupted.  While the outcome is being told, a signal changes nothing; afterwards it can only hurry the end.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import Signals

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""What the process ends with, by the signal that ended it."""

came: list[Signals] = []
"""The signals that came while nobody could take them."""

_waiting = False


class Ended(BaseException):
    """A signal came while input was waited for.

    Args:
        number: the signal's.
    """

    def __init__(self, number: Signals) -> None:
        super().__init__(why(number))
        self.code = CODES[number]


def why(number: Signals) -> str:
    """In words."""
    return f"interrupted by {number.name}"


def heeded() -> list[Signals]:
    """The signals that end a run; a hangup that whoever started the program ignores (`nohup`) is none."""
    return [n for n in CODES if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN]


def arm() -> None:
    """From here on a signal is kept."""
    for number in heeded():
        signal.signal(number, _take)


def take(told: Callable[[Signals], object]) -> None:
    """From here on `told` hears of each signal; once it cannot (RuntimeError), a signal ends the process.

    Not by the event loop's own way: where that gives a signal back, it has its deadly default for a moment.
    """

    def hear(number: int, frame: object) -> None:
        try:
            told(Signals(number))
        except RuntimeError:  # the loop is closed
            os._exit(CODES[Signals(number)])

    for number in heeded():
        signal.signal(number, hear)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within, a signal raises `Ended`; also one that came before."""
    global _waiting
    _waiting = True
    try:
        if came:
            raise Ended(came[0])
        yield
    finally:
        _waiting = False


def ignore() -> None:
    """The outcome is being told: from here on a signal changes nothing."""
    for number in CODES:
        signal.signal(number, signal.SIG_IGN)


def told(code: int) -> None:
    """The outcome is told, and only closing is left: a signal ends the process at once, with that outcome."""

    def leave(number: int, frame: object) -> None:
        os._exit(code)

    for number in CODES:
        signal.signal(number, leave)


def _take(number: int, frame: object) -> None:
    came.append(Signals(number))
    if _waiting:
        raise Ended(came[0])
