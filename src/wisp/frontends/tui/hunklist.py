"""The hunks of one or several diffs, one of them marked, each under a line that says what it is.

Knows nothing of what is done with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from textual import events
from textual.strip import Strip
from textual.widget import Widget

from wisp.frontends.tui.diffs import diff_lines
from wisp.frontends.tui.lines import Segment, blank, fitted
from wisp.frontends.tui.look import Look
from wisp.host.showing import Shown, safe

_HUNK = re.compile(r"(?m)^(?=@@ -)")
_FILE = re.compile(r"(?m)^(?=--- [^\n]*\n\+\+\+ [^\n]*\n@@ -)")


def hunks(diff: Shown) -> list[Shown]:
    """Every hunk of a diff as a diff of its own, in order."""
    found = []
    for part in _FILE.split(diff):
        head, *rest = _HUNK.split(part)
        found += [safe(head + hunk) for hunk in rest]
    return found


class HunkList(Widget, can_focus=True):
    """Shows hunks.

    Args:
        look: the colours.
        parts: the hunks, each as a diff that is safe to show.
        label: for the number of a hunk what stands before its name, and in which colour.
        below: for the number of a hunk a line that stands under it; empty for none.
    """

    DEFAULT_CSS = "HunkList { width: 1fr; height: 1fr; margin: 1 0; }"

    def __init__(
        self,
        look: Look,
        parts: list[Shown],
        label: Callable[[int], tuple[Shown, str]],
        below: Callable[[int], Shown] = lambda number: safe(""),
    ) -> None:
        super().__init__()
        self.look = look
        self.at = 0
        self._parts, self._label, self._below = parts, label, below
        self._top = 0
        self._lines: list[Strip] = []
        self._starts: list[int] = []
        self._key: tuple[object, ...] = ()

    def step(self, by: int) -> None:
        """Mark another hunk, and bring it into sight."""
        self.at = max(0, min(len(self._parts) - 1, self.at + by))
        self._draw()
        if not self._parts:
            return
        start = self._starts[self.at]
        end = self._starts[self.at + 1] if self.at + 1 < len(self._parts) else len(self._lines)
        if start < self._top or end > self._top + self.size.height:
            self._top = start
        self.move(0)

    def move(self, by: int) -> None:
        """Scroll by lines."""
        self._draw()
        self._top = max(0, min(len(self._lines) - self.size.height, self._top + by))
        self.refresh()

    def draw_again(self) -> None:
        """What labels or lines below say has changed."""
        self._key = ()
        self.refresh()

    def _draw(self) -> None:
        key = (self.size.width, self.at, self.look.name)
        if key == self._key:
            return
        self._key, self._lines, self._starts = key, [], []
        width, base = self.size.width, self.look.style()
        for number, part in enumerate(self._parts):
            self._starts.append(len(self._lines))
            on = "panel" if number == self.at else ""
            mark, tone = self._label(number)
            name = f"{self.look.pointer(bool(on))}{mark} {number + 1} of {len(self._parts)}  {file_of(part)}"
            style = self.look.style(tone, on=on, bold=bool(on))
            self._lines.append(fitted([Segment(safe(name), style)], width, self.look.style(on=on)))
            strips = diff_lines(part, width - 1, self.look, indent=4)
            self._lines += [strip.adjust_cell_length(width, base) for strip in strips]
            if said := self._below(number):
                line = Segment(safe(f"    {said}"), self.look.style("accent"))
                self._lines.append(fitted([line], width, base))
            self._lines.append(blank(width, base))

    def render(self) -> str:
        """Nothing: lines are drawn one by one."""
        return ""

    def render_line(self, y: int) -> Strip:
        """One line."""
        self._draw()
        at = self._top + y
        return self._lines[at] if at < len(self._lines) else blank(self.size.width, self.look.style())

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        event.stop()
        self.move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        event.stop()
        self.move(3)


def file_of(part: str) -> str:
    """The name of a hunk's file, of one that was deleted the old name."""
    rows = part.split("\n", 2)
    if len(rows) < 3 or not rows[0].startswith("--- "):
        return ""
    name = rows[1].removeprefix("+++ ").strip()
    return rows[0].removeprefix("--- a/").strip() if name == "/dev/null" else name.removeprefix("b/")
