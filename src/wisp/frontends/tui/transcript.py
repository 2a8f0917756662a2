"""The transcript: a window over entries, of which only what is in sight is ever drawn.

Its place is an entry and a line of it, never a distance from the beginning, so that a conversation of any
length scrolls like a short one.  Follows the end until a person scrolls away from it.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.style import Style
from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from wisp.frontends.tui.entries import Entry, Said
from wisp.frontends.tui.lines import Segment, blank, restyled
from wisp.frontends.tui.look import Look
from wisp.frontends.tui.quick import QuickScreen
from wisp.host.showing import safe

WHEEL = 3
"""Lines that one step of the wheel moves."""
AROUND = 400
"""Entries on each side of the window whose lines are kept."""


_JOINED = "\u200d"
"""Terminals disagree on how wide what it joins is: such a row is drawn whole."""


def distance(before: list[Strip], after: list[Strip], first: int) -> int:
    """By how many rows most of those from `first` on have moved up; 0 where they have not."""
    places = {id(strip): y for y, strip in enumerate(before) if y >= first}
    for y in range(first, len(after)):
        count = places.get(id(after[y]), y) - y
        if count > 0:
            pairs = zip(before[first + count :], after[first:], strict=False)
            return count if sum(old is new for old, new in pairs) > len(after) / 3 else 0
    return 0


def different(old: Strip, new: Strip) -> int:
    """How many cells of a row, from its left, have to be drawn so that it becomes the other.

    Only emptiness at its end is left out: words are written whole, for whoever reads what is written.
    """
    if old.cell_length != new.cell_length:
        return max(1, new.cell_length)
    if old is new or old == new:
        return 0
    last = [list(row)[-1] for row in (old, new)]
    if last[0].style != last[1].style or any(_JOINED in part.text for row in (old, new) for part in row):
        return new.cell_length
    return max(1, new.cell_length - min(len(part.text) - len(part.text.rstrip(" ")) for part in last))


class Transcript(Widget):
    """Shows entries; `entries` is changed by whoever feeds it, who then calls `changed`.

    Args:
        look: the colours it begins with.
        on_top: called when the first entry is in sight, for whoever can put older ones before it.
        on_end: called when a person scrolled to the end.
    """

    DEFAULT_CSS = "Transcript { height: 1fr; width: 1fr; }"
    ALLOW_SELECT = False  # marks text itself: what is far away has no place to select it by

    class Marked(Message):
        """The person marked text with the mouse."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, look: Look, on_top: Callable[[], None], on_end: Callable[[], None]) -> None:
        super().__init__(id="transcript")
        self.entries: list[Entry] = []
        self.look = look
        self.follow = True
        self.pin = True
        """Whether the prompt that is being answered stays in sight."""
        self.shows_place = True
        """Whether the last column shows where one is."""
        self._on_top = on_top
        self._on_end = on_end
        self._top: tuple[int, int] = (0, 0)
        """The first line in sight: which entry, which line of it."""
        self._rows: list[tuple[int, Strip]] = []
        self._stale = True
        self._thumb = range(0)
        self._drag: Offset | None = None
        """Where the mouse was pressed, while it is."""
        self._mark: tuple[Offset, Offset] | None = None
        """What is marked: the first cell, and the one after the last, in rows of the window."""

    # -- changes ------------------------------------------------------------------------------------------

    def changed(self) -> None:
        """Entries changed: draw again what is different."""
        if self._mark is not None and self._drag is None:
            self._mark = None
            self.refresh()
        before = self._rows
        self._stale = True
        after = self._visible()
        thumb, self._thumb = self._thumb, self._thumb_rows()
        if len(before) != len(after) or thumb != self._thumb:
            self.refresh()
            return
        old = self._moved([strip for _, strip in before], [strip for _, strip in after])
        whole = self.size.width
        spans = [
            whole if was is None else different(was, row) for was, (_, row) in zip(old, after, strict=True)
        ]
        if any(spans):
            self.refresh(*(Region(0, y, span, 1) for y, span in enumerate(spans) if span))

    def _moved(self, before: list[Strip], after: list[Strip]) -> list[Strip | None]:
        """The rows that the terminal shows once it has moved what it can move itself; None for new ones."""
        first = 1 if before and before[0] is after[0] else 0
        count = distance(before, after, first)
        screen, place = self.screen, self.region
        if not count or not isinstance(screen, QuickScreen) or place.width != screen.size.width:
            return list(before)
        rows = Region(place.x, place.y + first, place.width, place.height - first)
        if self._mark is not None or not screen.scroll_rows(self, rows, count):
            return list(before)
        self._styles_cache.clear()  # it keeps rows by their place
        return [*before[:first], *before[first + count :], *[None] * count]

    def show_look(self, look: Look) -> None:
        """Use other colours."""
        self.look = look
        self.changed()
        self.refresh()

    def prepended(self, count: int) -> None:
        """`count` entries were put before the others: what is in sight stays there."""
        index, line = self._top
        self._top = (index + count, line)
        self.changed()

    def dropped(self, count: int) -> None:
        """Let the first `count` entries go."""
        if count > 0:
            del self.entries[:count]
            index, line = self._top
            self._top = (max(0, index - count), line if index >= count else 0)

    # -- moving -------------------------------------------------------------------------------------------

    def move(self, lines: int) -> None:
        """Scroll by lines, down for positive numbers."""
        if not self.entries or not self.size.height:
            return
        self._visible()
        index, line = self._top
        line += lines
        width = self._inner
        while line < 0 and index > 0:
            index -= 1
            line += len(self._of(index, width))
        while index < len(self.entries) - 1 and line >= len(self._of(index, width)):
            line -= len(self._of(index, width))
            index += 1
        self._top, self.follow = (index, max(0, line)), False
        if lines > 0 and self._room_below() <= 0:
            self.follow = True
            self._on_end()
        self.changed()
        self._tell_top()

    def page(self, direction: int) -> None:
        """Scroll by a screen, less two lines."""
        self.move(direction * max(1, self.size.height - 2))

    def home(self) -> None:
        """To the first entry."""
        self._top, self.follow = (0, 0), False
        self.changed()
        self._tell_top()

    def end(self) -> None:
        """To the end, and stay there."""
        self.follow = True
        self.changed()

    def reveal(self, index: int) -> None:
        """Show entry `index`, near the top."""
        self._top, self.follow = (index, 0), False
        if self._room_below() <= 0:
            self.follow = True
        self.changed()

    def entry_at(self, y: int) -> Entry | None:
        """The entry in row `y` of the widget."""
        rows = self._visible()
        index = rows[y][0] if 0 <= y < len(rows) else -1
        return self.entries[index] if 0 <= index < len(self.entries) else None

    @property
    def first_in_sight(self) -> int:
        """Index of the first entry in sight."""
        self._visible()
        return self._top[0]

    def _tell_top(self) -> None:
        if self.first_in_sight <= 2:
            self._on_top()

    # -- drawing ------------------------------------------------------------------------------------------

    @property
    def _inner(self) -> int:
        """Cells for text; the last column shows where one is."""
        return max(1, self.size.width - 1)

    def _of(self, index: int, width: int) -> list[Strip]:
        return self.entries[index].lines(width, self.look)

    def _room_below(self) -> int:
        """Lines below the window, counted no further than needed: 0 where the end is in sight."""
        index, line = self._top
        need, width = self.size.height + line, self._inner
        while index < len(self.entries) and need >= 0:
            need -= len(self._of(index, width))
            index += 1
        return max(0, -need)

    def _visible(self) -> list[tuple[int, Strip]]:
        """The rows in sight, each with the entry it belongs to (-1 for none)."""
        if self._stale:
            self._stale = False
            self._rows = self._build(self._inner, self.size.height)
        return self._rows

    def _build(self, width: int, height: int) -> list[tuple[int, Strip]]:
        if height <= 0:
            return []
        if self.follow:
            self._top = self._top_of_end(width, height)
        index, line = self._top
        rows: list[tuple[int, Strip]] = []
        while index < len(self.entries) and len(rows) < height:
            strips = self._of(index, width)
            rows += [(index, strip) for strip in strips[line : line + height - len(rows)]]
            index, line = index + 1, 0
        empty = blank(width, self.look.style())
        rows += [(-1, empty)] * (height - len(rows))
        self._trim(index)
        self._pinned(rows, width)
        return rows

    def _top_of_end(self, width: int, height: int) -> tuple[int, int]:
        """Where the window begins when the last line is in its last row."""
        need, index = height, len(self.entries)
        while index > 0 and need > 0:
            index -= 1
            need -= len(self._of(index, width))
        return index, max(0, -need)

    def _trim(self, end: int) -> None:
        """Let lines go that are far from sight: memory follows the window, not the conversation."""
        for place in (self._top[0] - AROUND, end + AROUND):
            for at in range(place - 20, place + 20):
                if 0 <= at < len(self.entries) and not self._top[0] - AROUND < at < end + AROUND:
                    self.entries[at].forget()

    def _pinned(self, rows: list[tuple[int, Strip]], width: int) -> None:
        """Keep the prompt that is being answered in the first row."""
        if not (self.pin and self.follow) or len(rows) < 6:
            return
        first = rows[0][0]
        for at in range(first, max(-1, first - 300), -1):
            entry = self.entries[at] if at >= 0 else None
            if isinstance(entry, Said):
                strips = entry.lines(width, self.look)
                hidden = at < first or self._top[1] > 1
                if hidden and len(strips) > 1:
                    rows[0] = (at, strips[1])
                return

    def render_line(self, y: int) -> Strip:
        """One row, with the mark of where one is in the last column."""
        rows = self._visible()
        base = self.look.style()
        if y >= len(rows):
            return Strip.blank(self.size.width, base)
        mark = Segment(safe("▐" if y in self._thumb else " "), self.look.style("dim"))
        strip = self._highlighted(rows[y][1], y) if self._mark is not None else rows[y][1]
        return Strip([*strip, mark], self._inner + 1)

    def _thumb_rows(self) -> range:
        """The rows of the mark that says where one is; none while the end is followed."""
        total, height = len(self.entries), self.size.height
        first = self._top[0]
        last = next((index for index, _ in reversed(self._rows) if index >= 0), 0)
        if (
            not self.shows_place
            or self.follow
            or total < 2
            or (first == 0 and last == total - 1 and self._top[1] == 0)
        ):
            return range(0)
        share = max(1, round(height * (last - first + 1) / total))
        start = round((height - share) * first / max(1, total - (last - first + 1)))
        return range(start, start + share)

    def render(self) -> str:
        """Nothing: lines are drawn one by one."""
        return ""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """In inline mode: as much as there is to show."""
        del viewport
        inner, need = max(1, width - 1), 0
        for index in range(len(self.entries) - 1, -1, -1):
            need += len(self._of(index, inner))
            if need >= container.height:
                break
        return max(1, min(need, container.height))

    # -- what the terminal says ---------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Another size: everything is drawn for it."""
        self._stale = True
        self.refresh()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        event.stop()
        self.move(-WHEEL)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        event.stop()
        self.move(WHEEL)

    # -- marking ------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Marking begins."""
        if event.button == 1:
            self._drag, self._mark = event.offset, None
            self.capture_mouse()
            self.refresh()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Mark from where the mouse was pressed to here."""
        if self._drag is not None and event.offset != self._drag:
            first, last = sorted((self._drag, event.offset), key=lambda place: (place.y, place.x))
            self._mark = first, last + Offset(1, 0)
            self.refresh()

    def on_mouse_up(self) -> None:
        """What is marked is told."""
        if self._drag is not None:
            self._drag = None
            self.release_mouse()
            if text := self.marked():
                self.post_message(self.Marked(text))

    def marked(self) -> str:
        """The marked words, without the space around lines."""
        rows = self._visible()
        cells = [(y, self._cells(y)) for y in range(len(rows))]
        return "\n".join(rows[y][1].crop(*span).text.strip() for y, span in cells if span).strip("\n")

    def _cells(self, y: int) -> tuple[int, int] | None:
        """Which cells of row `y` are marked."""
        if self._mark is None or not self._mark[0].y <= y <= self._mark[1].y:
            return None
        first, last = self._mark
        return (max(0, first.x) if y == first.y else 0), (last.x if y == last.y else self._inner)

    def _highlighted(self, strip: Strip, y: int) -> Strip:
        span = self._cells(y)
        if span is None:
            return strip
        reverse = Style(reverse=True)
        middle = [restyled(s, (s.style or reverse) + reverse) for s in strip.crop(*span)]
        return Strip([*strip.crop(0, span[0]), *middle, *strip.crop(span[1], self._inner)])

    def on_click(self, event: events.Click) -> None:
        """Open or close what was clicked on; where text was marked, that was no click."""
        entry = self.entry_at(event.y)
        if entry is not None and self._mark is None:
            entry.toggle()
            self.changed()
