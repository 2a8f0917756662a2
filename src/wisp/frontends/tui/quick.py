"""The screen of the conversation: what changed is drawn at once, and only what follows closely waits.
And where the terminal's cursor belongs after each drawing.

Textual draws at the next beat of a timer, up to a sixtieth of a second late: that is most of the time between
a key and its echo.
"""

from __future__ import annotations

import asyncio

from rich.cells import cell_len
from rich.console import Console
from textual import events
from textual._compositor import ChopsUpdate, CompositorUpdate
from textual.geometry import Offset, Region
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


class Moved(CompositorUpdate):
    """Rows moved up by the terminal, then the cells that are different.

    By line feeds at the lower margin, which every terminal with margins has known since the VT100 (DECSTBM).
    """

    def __init__(self, rows: Region, count: int, update: CompositorUpdate) -> None:
        self._feeds = f"\x1b[0m\x1b[{rows.y + 1};{rows.bottom}r\x1b[{rows.bottom};1H{chr(10) * count}\x1b[r"
        self._update = update

    def render_segments(self, console: Console) -> str:
        """See the base class."""
        return self._feeds + self._update.render_segments(console)


class QuickScreen(Screen[None]):
    """Draws at the leading edge: at once where the last drawing is a beat ago, and a key's echo always.

    Args:
        echo: what is known of the keys that were pressed.
    """

    def __init__(self, echo: Echo) -> None:
        super().__init__(id="_default")
        self._echo = echo
        self._drawn_at = 0.0
        self._scroll: tuple[Widget, Region, int] | None = None
        """What the terminal moves up before it is drawn on next: rows of which widget, and how far."""

    def scroll_rows(self, widget: Widget, rows: Region, count: int) -> bool:
        """Have the terminal itself move up what it shows; whether it will.

        Args:
            widget: whose rows they are; drawn anew where the terminal cannot move them after all.
            rows: cells of the screen, over its whole width.
            count: by how many rows.
        """
        pending = widget._repaint_regions or self._layout_required or self._repaint_required
        if pending or self._scroll is not None or self.app.is_inline or not self.is_current:
            return False
        self._scroll = widget, rows, count
        return True

    async def _on_idle(self, event: events.Idle) -> None:
        changed = self._dirty_widgets or self._layout_required or self._repaint_required
        waits = self._recompose_required or self.app._batch_count or not self.is_current
        now = asyncio.get_running_loop().time()
        if changed and not waits and (now - self._drawn_at >= UPDATE_PERIOD or self._echo.due()):
            event.prevent_default()  # else the next class would start its timer
            self._on_timer_update()

    def _on_timer_update(self) -> None:
        self._drawn_at = asyncio.get_running_loop().time()
        if self._scroll is not None and (
            self._layout_required or self._repaint_required or not self.is_current
        ):
            self._scroll[0].refresh()  # rows may stand elsewhere by now
            self._scroll = None
        super()._on_timer_update()
        self._echo.shown()

    def _compositor_refresh(self) -> None:
        if self._scroll is None:
            super()._compositor_refresh()
            return
        (_, rows, count), self._scroll = self._scroll, None
        update = self._compositor.render_update(screen_stack=self.app._background_screens)
        moved = Moved(rows, count, update) if isinstance(update, ChopsUpdate) else update
        self.app._display(self, moved)  # type: ignore[arg-type]  # as every update of the compositor
        self._dirty_widgets.clear()
        self.app._update_mouse_over(self)
