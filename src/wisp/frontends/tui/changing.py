"""What a person makes of an operation before they allow it: other words, or only some of its hunks.

Knows arguments and diffs as text; what is allowed in the end is the host's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from wisp.frontends.tui.bars import Bar
from wisp.frontends.tui.diffs import diff_lines
from wisp.frontends.tui.lines import blank, fitted
from wisp.frontends.tui.look import Look

_HUNK = re.compile(r"(?m)^(?=@@ -)")
_FILE = re.compile(r"(?m)^(?=--- [^\n]*\n\+\+\+ [^\n]*\n@@ -)")


class Editable(NamedTuple):
    """The part of a call's arguments that a person would change, as they write it."""

    text: str
    whole: Callable[[str], str]
    """The arguments with another text in its place, as JSON."""


def editable(arguments: str) -> Editable | None:
    """A command, the content or the new text as it is; everything else as JSON.  None for no JSON object."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    key = next((key for key in ("command", "content") if isinstance(value.get(key), str)), "")
    if key:
        return Editable(value[key], lambda text: json.dumps({**value, key: text}))
    edits = value.get("edits")
    if isinstance(edits, list) and len(edits) == 1 and isinstance(edits[0], dict):
        edit: dict[str, Any] = edits[0]
        if isinstance(edit.get("new_text"), str):
            return Editable(
                edit["new_text"], lambda text: json.dumps({**value, "edits": [{**edit, "new_text": text}]})
            )
    return Editable(json.dumps(value, indent=2, ensure_ascii=False), lambda text: text)


def hunks(diff: str) -> list[str]:
    """Every hunk of a diff as a diff of its own, in order."""
    found = []
    for part in _FILE.split(diff):
        head, *rest = _HUNK.split(part)
        found += [head + hunk for hunk in rest]
    return found


class Choosing(ModalScreen[tuple[int, ...] | None]):
    """Choose the hunks that are allowed.

    Args:
        look: the colours.
        title: the operation.
        parts: the hunks, each as a diff that is safe to show.
    """

    DEFAULT_CSS = "Choosing { background: $background; layout: vertical; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,q", "leave", show=False, priority=True),
        Binding("up,k", "step(-1)", show=False, priority=True),
        Binding("down,j", "step(1)", show=False, priority=True),
        Binding("pageup", "move(-10)", show=False, priority=True),
        Binding("pagedown", "move(10)", show=False, priority=True),
        Binding("space", "turn", show=False, priority=True),
        Binding("a", "every(True)", show=False, priority=True),
        Binding("n", "every(False)", show=False, priority=True),
        Binding("enter", "allow", show=False, priority=True),
    ]

    def __init__(self, look: Look, title: str, parts: list[str]) -> None:
        super().__init__()
        self.look = look
        self._heading, self._parts = title, parts

    def compose(self) -> ComposeResult:
        """Title, hunks, keys."""
        yield Bar(self.look, "title")
        yield _Hunks(self.look, self._parts)
        yield Bar(self.look, "keys")

    def on_mount(self) -> None:
        """Say what it is."""
        title = Text(f"Which hunks? {self._heading}", self.look.style("accent", bold=True), no_wrap=True)
        self.query_one("#title", Bar).show(title)
        self._tell()

    @property
    def _list(self) -> _Hunks:
        return self.query_one(_Hunks)

    def _tell(self) -> None:
        chosen, count = len(self._list.chosen), len(self._parts)
        what = f"allows {chosen} of {count}" if chosen else "needs one at least"
        text = Text(no_wrap=True)
        text.append(f"Enter {what}", self.look.style(bold=True))
        text.append(
            " · Space takes or leaves one · a all · n none · Esc back to the question", self.look.style("dim")
        )
        self.query_one("#keys", Bar).show(text)

    def action_step(self, by: int) -> None:
        """Another hunk."""
        self._list.step(by)

    def action_move(self, by: int) -> None:
        """Scroll."""
        self._list.move(by)

    def action_turn(self) -> None:
        """Take or leave the marked hunk."""
        self._list.turn({self._list.at})
        self._tell()

    def action_every(self, wanted: bool) -> None:
        """Take all, or none."""
        everything = set(range(len(self._parts)))
        self._list.turn(everything - self._list.chosen if wanted else set(self._list.chosen))
        self._tell()

    def action_allow(self) -> None:
        """Allow what is chosen."""
        if self._list.chosen:
            self.dismiss(tuple(sorted(self._list.chosen)))

    def action_leave(self) -> None:
        """Back to the question."""
        self.dismiss(None)


class _Hunks(Widget):
    """The hunks, one of them marked, each taken or not."""

    DEFAULT_CSS = "_Hunks { width: 1fr; height: 1fr; margin: 1 0; }"

    def __init__(self, look: Look, parts: list[str]) -> None:
        super().__init__()
        self.look = look
        self.at = 0
        self.chosen = set(range(len(parts)))
        self._parts = parts
        self._top = 0
        self._lines: list[Strip] = []
        self._starts: list[int] = []
        self._key: tuple[object, ...] = ()

    def step(self, by: int) -> None:
        """Mark another hunk, and bring it into sight."""
        self.at = max(0, min(len(self._parts) - 1, self.at + by))
        self._draw()
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

    def turn(self, which: set[int]) -> None:
        """Take those that were left, leave those that were taken."""
        self.chosen ^= which
        self.refresh()

    def _draw(self) -> None:
        key = (self.size.width, self.at, tuple(sorted(self.chosen)))
        if key == self._key:
            return
        self._key, self._lines, self._starts = key, [], []
        width, base = self.size.width, self.look.style()
        for number, part in enumerate(self._parts):
            self._starts.append(len(self._lines))
            taken, on = number in self.chosen, "panel" if number == self.at else ""
            mark = "[x]" if taken else "[ ]"
            head = part.split("\n", 2)[1].removeprefix("+++ b/").strip() if part.startswith("--- ") else ""
            name = f"{'❯' if on else ' '} {mark} hunk {number + 1} of {len(self._parts)}  {head}"
            style = self.look.style("good" if taken else "dim", on=on, bold=bool(on))
            self._lines.append(fitted([Segment(name, style)], width, self.look.style(on=on)))
            strips = diff_lines(part, width - 1, self.look, indent=4)
            self._lines += [strip.adjust_cell_length(width, base) for strip in strips]
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
