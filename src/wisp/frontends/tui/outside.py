"""What the terminal around the screen is told: its title, work, that a person is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp


def title(app: WispApp) -> None:
    """Name the folder in the title, and mark it while a run is in progress (OSC 0)."""
    if app.talk is not None:
        folder = app.talk.client.snapshot().cwd.rsplit("/", 1)[-1]
        plain = "".join(char for char in folder if char.isprintable())[:60]
        _tell(app, f"\x1b]0;{'* ' if app.working else ''}wisp {plain}\x07")


def progress(app: WispApp, working: bool) -> None:
    """Show that something is worked on (OSC 9;4, where a terminal knows that)."""
    _tell(app, f"\x1b]9;4;{3 if working else 0};0\x07")


def call_back(app: WispApp, why: str) -> None:
    """Ring and notify (OSC 9), where the terminal is known not to have the focus."""
    if not app.app_focus:
        app.bell()
        _tell(app, f"\x1b]9;wisp: {why}\x07")


def _tell(app: WispApp, sequence: str) -> None:
    if app._driver is not None and not app.is_headless:
        app._driver.write(sequence)
