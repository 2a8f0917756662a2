"""A question above the composer: the whole of what is asked, and single keys that answer it.

Owns the moment from which keys count: not before the question has been drawn and the person has paused.
Knows nothing of what an answer does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from wisp.frontends.tui.diffs import diff_lines, is_diff
from wisp.frontends.tui.lines import Segment, Text, blank, fitted, lines_of
from wisp.frontends.tui.look import Look
from wisp.host.showing import Shown, safe

GUARD = 0.3
"""Seconds a question stands on the screen before a key answers it."""
PAUSE = 0.5
"""Seconds without a key in the composer before keys answer instead of being written there."""


class Choice(NamedTuple):
    """One answer."""

    name: str
    keys: tuple[str, ...]
    """The first is shown."""
    text: Shown


class Ask(NamedTuple):
    """One question with its answers."""

    id: str
    title: Shown
    body: Shown
    """The whole operation, made visible; a diff is drawn as one."""
    why: Shown
    choices: tuple[Choice, ...]
    note: Shown = safe("")
    lasting: bool = False
    """Whether it stays when a run ends: the person asked for it."""


class Dialog(Widget, can_focus=True):
    """Shows one question at a time, over the composer."""

    DEFAULT_CSS = """
    Dialog { height: auto; max-height: 80%; border-top: solid $warning; border-bottom: solid $warning; }
    Dialog.hidden { display: none; }
    """

    class Answered(Message):
        """The person chose."""

        def __init__(self, ask: Ask, choice: Choice) -> None:
            super().__init__()
            self.ask = ask
            self.choice = choice

    class Typed(Message):
        """A key that came too early to be an answer: it belongs to the composer."""

        def __init__(self, event: events.Key) -> None:
            super().__init__()
            self.event = event

    def __init__(self, look: Look, now: Callable[[], float] | None = None) -> None:
        super().__init__(id="dialog", classes="hidden")
        self._now = now or (lambda: asyncio.get_running_loop().time())
        self.look = look
        self.ask: Ask | None = None
        self._armed_at = 0.0
        self._pausing = False
        self._at = 0
        self._marked = -1
        self._rows_there = 24
        """Rows of the screen."""
        self._key: tuple[object, ...] = ()
        self._head: list[Strip] = []
        self._body: list[Strip] = []
        self._foot: list[Strip] = []

    def put(self, ask: Ask, last_key: float) -> None:
        """Ask.

        Args:
            ask: the question.
            last_key: when the person last pressed a key elsewhere, by the event loop's clock.
        """
        now = self._now()
        self.ask, self._at, self._marked, self._key = ask, 0, -1, ()
        self._armed_at = max(now + GUARD, last_key + PAUSE)
        self._pausing = last_key + PAUSE > now + GUARD
        self.remove_class("hidden")
        self.screen.add_class("asks")
        self.focus()
        self.refresh(layout=True)

    def drop(self) -> None:
        """The question is settled."""
        self.ask = None
        self.add_class("hidden")
        self.screen.remove_class("asks")

    # -- drawing ------------------------------------------------------------------------------------------

    def _draw(self, width: int) -> None:
        if self.ask is None or self._key == (width, self.look.name, self._marked, id(self.ask)):
            return
        self._key = (width, self.look.name, self._marked, id(self.ask))
        ask, look, base = self.ask, self.look, self.look.style()
        title = Text.assemble((safe("? "), look.style("warn", bold=True)), (ask.title, look.style(bold=True)))
        self._head = lines_of(title, width, base, 1)
        if ask.why:
            self._head += lines_of(Text(ask.why, look.style("dim")), width, base, 3)
        if is_diff(ask.body):
            self._body = [
                strip.adjust_cell_length(width, base)
                for strip in diff_lines(ask.body, width - 1, look, indent=2)
            ]
        elif ask.body:
            self._body = lines_of(Text(ask.body), width, base, 3)
        else:
            self._body = []
        most = max(1, self._rows_there // 3)
        self._foot = lines_of(self._answers(short=False), width, base, 1)
        if ask.note:
            self._foot += lines_of(Text(ask.note, look.style("dim")), width, base, 1)
        if len(self._foot) > max(2, most):
            self._foot = lines_of(self._answers(short=True), width, base)
        if len(self._head) > max(2, most):
            self._head = lines_of(title, width, base)[:most]

    def _answers(self, *, short: bool) -> Text:
        """The answers with their keys; the keys alone where there is no room."""
        assert self.ask is not None
        look, foot = self.look, Text()
        for at, choice in enumerate(self.ask.choices):
            on = "panel" if at == self._marked else ""
            foot.append(safe(("" if short else "   ") if at else ""))
            foot.append(safe(f"[{choice.keys[0]}]"), look.style("accent", on=on, bold=True))
            if not short:
                foot.append(safe(f" {choice.text}"), look.style(on=on))
        return foot

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As much as is needed."""
        del viewport
        if container.height != self._rows_there:
            self._rows_there, self._key = container.height, ()
        self._draw(width)
        return len(self._head) + len(self._body) + len(self._foot)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """All there is."""
        del viewport
        return container.width

    @property
    def _room(self) -> int:
        return max(1, self.size.height - len(self._head) - len(self._foot))

    def render(self) -> str:
        """Nothing: lines are drawn one by one."""
        return ""

    def render_line(self, y: int) -> Strip:
        """Title, as much of the operation as there is room for, answers."""
        width, base = self.size.width, self.look.style()
        self._draw(width)
        if y < len(self._head):
            return self._head[y]
        y -= len(self._head)
        room = self._room
        if y < room:
            more = len(self._body) - self._at - room
            if more > 0 and y == room - 1:
                hint = f"   ↓ {more + 1} more lines, of {len(self._body)} (arrows, PgDn)"
                return fitted([Segment(safe(hint), self.look.style("warn"))], width, base)
            at = self._at + y
            return self._body[at] if at < len(self._body) else blank(width, base)
        y -= room
        return self._foot[y] if y < len(self._foot) else blank(width, base)

    # -- keys ---------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Answer, scroll, or give the key to the composer while it is too early."""
        if self.ask is None:
            return
        event.stop()
        event.prevent_default()
        key = event.key
        now = self._now()
        if now < self._armed_at:
            if self._pausing:
                self._armed_at = now + PAUSE
                self.post_message(self.Typed(event))
            return
        moves = {
            "up": -1,
            "down": 1,
            "k": -1,
            "j": 1,
            "pageup": -self._room,
            "pagedown": self._room,
            "space": self._room,
        }
        for choice in self.ask.choices:
            if key in choice.keys:
                self._answer(choice)
                return
        if key in moves:
            self.scroll_lines(moves[key])
        elif key in ("left", "right", "tab", "shift+tab"):
            step = -1 if key in ("left", "shift+tab") else 1
            count = len(self.ask.choices)
            self._marked = (
                (self._marked + step) % count if self._marked >= 0 else (0 if step > 0 else count - 1)
            )
            self.refresh()
        elif key == "enter" and self._marked >= 0:
            self._answer(self.ask.choices[self._marked])

    def _answer(self, choice: Choice) -> None:
        assert self.ask is not None
        self.post_message(self.Answered(self.ask, choice))

    def scroll_lines(self, lines: int) -> None:
        """Show another part of the operation."""
        most = max(0, len(self._body) - self._room)
        self._at = min(most, max(0, self._at + lines))
        self.refresh()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        event.stop()
        self.scroll_lines(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        event.stop()
        self.scroll_lines(3)
