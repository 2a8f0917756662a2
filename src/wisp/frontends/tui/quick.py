"""The screen of the conversation: what changed is drawn at once, and only what follows closely waits.
And where the terminal's cursor belongs after each drawing.

Textual draws at the next beat of a timer, up to a sixtieth of a second late: that is most of the time between
a key and its echo.
"""

from __future__ import annotations

import asyncio

from rich.cells import cell_len
from textual import events
from textual.geometry import Offset
from textual.screen import UPDATE_PERIOD, Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

from wisp.frontends.tui.echo import Echo


def caret(widget: Widget | None, otherwise: Offset) -> Offset:
    """Where the terminal's own cursor belongs: an input method shows there what is being composed."""
    if isinstance(widget, Input) and widget.is_attached:
        x, y, _, _ = widget.content_region  # its own figure is one cell off at the end of the text
        return Offset(x + cell_len(widget.value[: widget.cursor_position]) - widget.scroll_offset.x, y)
    if isinstance(widget, TextArea) and widget.is_attached:
        return widget.cursor_screen_offset
    return otherwise


class QuickScreen(Screen[None]):
    """Draws at the leading edge: at once where the last drawing is a beat ago, and a key's echo always.

    Args:
        echo: what is known of the keys that were pressed.
    """

    def __init__(self, echo: Echo) -> None:
        super().__init__(id="_default")
        self._echo = echo
        self._drawn_at = 0.0

    async def _on_idle(self, event: events.Idle) -> None:
        changed = self._dirty_widgets or self._layout_required or self._repaint_required
        waits = self._recompose_required or self.app._batch_count or not self.is_current
        now = asyncio.get_running_loop().time()
        if changed and not waits and (now - self._drawn_at >= UPDATE_PERIOD or self._echo.due()):
            event.prevent_default()  # else the next class would start its timer
            self._on_timer_update()

    def _on_timer_update(self) -> None:
        self._drawn_at = asyncio.get_running_loop().time()
        super()._on_timer_update()
        self._echo.shown()
