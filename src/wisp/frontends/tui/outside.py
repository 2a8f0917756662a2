"""What the terminal around the screen is told: title, work, that one is wanted; and what signals tell."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Literal

from wisp.host.showing import Shown, one_line, safe

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp

ENDING = tuple(
    getattr(signal, f"SIG{name}")
    for name in ("TERM", "HUP", "QUIT", "ABRT", "USR1", "USR2", "ALRM", "VTALRM", "XCPU")
    if hasattr(signal, f"SIG{name}")
)
"""Signals that would end the program at once: it ends by itself, with the terminal restored."""

HUNG_UP = 128 + signal.SIGHUP
"""The exit code where the terminal went away, told by a signal or not."""


def listen(app: WispApp) -> None:
    """End by ourselves on signals; SIGINT is Ctrl+C."""
    loop = asyncio.get_running_loop()
    for number in ENDING:
        loop.add_signal_handler(number, app.exit, 128 + number)
    loop.add_signal_handler(signal.SIGINT, app.action_interrupt)


def title(app: WispApp) -> None:
    """Name the folder in the title, and mark it while a run is in progress (OSC 0)."""
    if app.talk is not None:
        folder = app.talk.client.snapshot().cwd.rsplit("/", 1)[-1]
        _tell(app, "0", one_line(f"{'* ' if app.working else ''}wisp {folder}", 70))


def progress(app: WispApp, working: bool) -> None:
    """Show that something is worked on (OSC 9;4, where a terminal knows that)."""
    _tell(app, "9;4", safe(f"{3 if working else 0};0"))


def call_back(app: WispApp, why: str) -> None:
    """Ring and notify (OSC 9), where the terminal is known not to have the focus."""
    if not app.app_focus:
        app.bell()
        _tell(app, "9", one_line(f"wisp: {why}"))


def _tell(app: WispApp, what: Literal["0", "9", "9;4"], words: Shown) -> None:
    """One operating system command (ECMA-48, 8.3.89) with words on one line."""
    if app._driver is not None and not app.is_headless:
        app._driver.write(f"\x1b]{what};{words}\x07")
