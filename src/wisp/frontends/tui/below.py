"""The lines around the composer, kept up to date: what happens now, what waits, where one is, hints.

Owns the rhythm in which what changed is drawn; what the lines look like is in `bars`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from wisp.frontends.tui.bars import Bar, activity, status
from wisp.frontends.tui.lines import Text
from wisp.host.showing import Shown, safe

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp

FRAME = 1 / 30
"""Seconds between two drawings of what streams in."""
SOON = 0.002
"""Seconds before the first of them: what belongs together comes together."""
AFTER_KEY = 0.004
"""Seconds for which what streams in lets a key's echo go first, before it looks again."""
TICK = 0.1
"""Seconds between two looks at the clock during a run."""
NARROW = 60
"""Columns below which words are saved."""
MOMENT = 2.0
"""Seconds for which a hint is shown."""


class Below:
    """What one screen shows around its composer."""

    def __init__(self, app: WispApp) -> None:
        self._app = app
        self._flushing = False
        self._drawn_at = -FRAME
        self._frame = 0
        self.hint = safe("")
        """Said beside what happens."""

    def flush_soon(self) -> None:
        """Draw what changed, with whatever else changes until then."""
        if not self._flushing:
            self._flushing = True
            rest = self._drawn_at + FRAME - asyncio.get_running_loop().time()
            self._app.after(max(SOON, rest), self._draw_changes)

    def draw(self) -> None:
        """Draw what changed, at once: what a question is about stands above it."""
        self._drawn_at = asyncio.get_running_loop().time()
        self._app.transcript.changed()
        self.activity()

    def _draw_changes(self) -> None:
        if self._app.echo.waits(asyncio.get_running_loop().time()):
            self._app.after(AFTER_KEY, self._draw_changes)
            return
        self._flushing = False
        self._drawn_at = asyncio.get_running_loop().time()
        self._app.transcript.changed()
        self.activity()
        self.queue()

    def tick(self) -> None:
        """Time passed."""
        talk = self._app.talk
        if talk is not None and self._app.working:
            self._frame += 1
            if self._app.wishes.settings.reader:
                return  # nothing is read again because a second has passed
            if self._frame % 5 == 0:
                talk.feed.tick(asyncio.get_running_loop().time())
                self._app.transcript.changed()
            self.activity()

    def activity(self) -> None:
        """What is being waited for."""
        app = self._app
        bar, look = app.part("activity", Bar), app.look
        if app.talk is None or not app.working:
            bar.show(Text(self.hint, look.style("dim"), no_wrap=True))
            return
        feed = app.talk.feed
        bar.show(
            activity(
                look,
                waiting=feed.waiting(),
                seconds=asyncio.get_running_loop().time() - feed.run_began,
                frame=self._frame,
                still=app.animation_level == "none",
                hint=self.hint or self._escape(),
                width=max(1, app.size.width - 2),
            )
        )

    def _escape(self) -> Shown:
        """What Esc would stop now: one thing, and never what is written or waits."""
        app = self._app
        if app.dialog.ask is not None:
            return safe("")  # the question names its own keys
        command = app.talk is not None and (app.talk.feed.shell or app.talk.feed.commands)
        what = "" if app.size.width < NARROW else " the command" if command else " the run"
        return safe(f"esc stops{what}")

    def queue(self) -> None:
        """What waits to be said."""
        app = self._app
        queue = app.talk.feed.queue if app.talk is not None else ()
        bar = app.part("queue", Bar)
        bar.set_class(not queue, "hidden")
        if queue:
            from wisp.frontends.tui.queue import queue_text

            shown = queue_text(app.look, queue, max(1, app.size.width - 2))
            bar.styles.height = shown.plain.count("\n") + 1
            bar.show(shown)

    def status(self) -> None:
        """Where one is, and how calls are judged."""
        app = self._app
        if app.talk is not None:
            now, feed = app.talk.client.snapshot(), app.talk.feed
            parts = app.wishes.settings.status
            shown = status(app.look, now, feed.cost, feed.context, max(1, app.size.width - 2), parts)
            app.part("status", Bar).show(shown)

    def say_for_a_moment(self, hint: Shown) -> None:
        """Show a hint for as long as a second Ctrl+C would count."""
        self.hint = hint
        self.activity()
        self._app.after(MOMENT, lambda: self._unsay(hint))

    def _unsay(self, hint: Shown) -> None:
        if self.hint == hint:
            self.hint = safe("")
            self.activity()
