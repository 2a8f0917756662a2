"""The screen of the conversation: what changed is drawn at once, and only what follows closely waits.

Textual draws at the next beat of a timer, up to a sixtieth of a second late: that is most of the time between
a key and its echo.
"""

from __future__ import annotations

import asyncio

from textual import events
from textual.screen import UPDATE_PERIOD, Screen


class QuickScreen(Screen[None]):
    """Draws at the leading edge: at once where the last drawing is a beat ago."""

    _drawn_at = 0.0

    async def _on_idle(self, event: events.Idle) -> None:
        changed = self._dirty_widgets or self._layout_required or self._repaint_required
        waits = self._recompose_required or self.app._batch_count or not self.is_current
        now = asyncio.get_running_loop().time()
        if changed and not waits and now - self._drawn_at >= UPDATE_PERIOD:
            event.prevent_default()  # else the next class would start its timer
            self._on_timer_update()

    def _on_timer_update(self) -> None:
        self._drawn_at = asyncio.get_running_loop().time()
        super()._on_timer_update()
