"""A screen on which one of many rows is chosen: typed letters narrow it, a pane shows more of the marked row.

Knows nothing of what the rows are; `choose` and `pages` say what they mean.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from rich.console import ConsoleRenderable
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from wisp.frontends.tui.bars import Bar
from wisp.frontends.tui.field import Field
from wisp.frontends.tui.lines import Text, blank, clipped, lines_of
from wisp.frontends.tui.look import Look
from wisp.frontends.tui.rank import matching
from wisp.host.showing import Shown, one_line, safe

LEAVE = safe("Esc leaves")


class Item(NamedTuple):
    """One row."""

    id: str
    text: Shown
    side: Shown = safe("")
    """At the right edge."""
    more: str = ""
    """Searched too."""


class Act(NamedTuple):
    """What a key does with the marked row."""

    name: str
    """Shown with its key; empty for one that is not shown."""
    do: Callable[[Picker, Any], None]
    needs_row: bool = True


R = TypeVar("R")
Preview = Callable[[Item], Awaitable[Text]]
"""What the pane shows of a row."""


def leave(screen: ModalScreen[R], result: R) -> None:
    """Leave a screen; a second key that was pressed meanwhile finds it left."""
    if screen.is_current:
        screen.dismiss(result)


class Rows(Widget):
    """The rows in sight."""

    DEFAULT_CSS = "Rows { width: 1fr; height: 1fr; }"

    def __init__(self, look: Look, items: Sequence[Item], mark: int) -> None:
        super().__init__()
        self.look = look
        self.nothing = "there is nothing here"
        """Said where there are no rows."""
        self.items = list(items)
        self.at = max(0, min(mark, len(self.items) - 1))

    def show(self, items: Sequence[Item], mark: int = 0) -> None:
        """Show other rows."""
        self.items, self.at = list(items), max(0, min(mark, len(items) - 1))
        self.refresh()

    def step(self, by: int) -> None:
        """Mark another row."""
        self.at = max(0, min(len(self.items) - 1, self.at + by))
        self.refresh()

    def render(self) -> str:
        """Nothing: lines are drawn one by one."""
        return ""

    def render_line(self, y: int) -> Strip:
        """One row."""
        width, height = self.size.width, self.size.height
        first = max(0, min(self.at - height // 2, len(self.items) - height))
        at = first + y
        if not 0 <= at < len(self.items):
            said = self.nothing if y == 0 and not self.items else ""
            empty = Text(safe(f"  {said}"), self.look.style("dim"))
            return (lines_of(empty, width, self.look.style()) or [blank(width, self.look.style())])[0]
        item, marked = self.items[at], at == self.at
        on = "panel" if marked else ""
        side = clipped(item.side, max(0, width // 2))
        text = Text(self.look.pointer(marked), self.look.style("accent", on=on), no_wrap=True)
        text.append(clipped(item.text, max(1, width - len(side) - 4)), self.look.style(on=on, bold=marked))
        if side:
            text.append(safe(" " * max(1, width - text.cell_len - len(side) - 1)), self.look.style(on=on))
            text.append(side, self.look.style("dim", on=on))
        return lines_of(text, width, self.look.style(on=on))[0]

    def on_click(self, event: events.Click) -> None:
        """Mark what was clicked on."""
        first = max(0, min(self.at - self.size.height // 2, len(self.items) - self.size.height))
        self.step(first + event.y - self.at)


def headed(look: Look, heading: Shown, hint: Shown, width: int) -> Text:
    """The first line of a page: its heading and its keys, of which a narrow window has the way out alone.

    Args:
        look: The colours.
        heading: What the page is; cut only where it would not fit by itself.
        hint: The keys, the one that leaves first.
        width: Cells there are in all, of which a bar leaves two free.
    """
    text = Text(no_wrap=True).append(heading, look.style("accent", bold=True))
    if hint.startswith(LEAVE) and text.cell_len + len(f"   {LEAVE}") > width - 2:
        hint = safe(LEAVE.partition(" ")[0])
        if text.cell_len > width - 2:  # it is cut in any case
            text.truncate(max(1, width - 2 - len(f"   {hint}")), overflow="ellipsis")
    return text.append(safe(f"   {hint}"), look.style("dim"))


class Pane(Widget):
    """Text that can be scrolled."""

    DEFAULT_CSS = "Pane { width: 1fr; height: 1fr; padding: 0 1; }"

    def __init__(self, look: Look, text: ConsoleRenderable | None = None) -> None:
        super().__init__()
        self.look = look
        self.at = 0
        self._shown: ConsoleRenderable = text or Text()
        self._strips: list[Strip] = []
        self._for = -1

    def show(self, text: ConsoleRenderable) -> None:
        """Show another text from its beginning."""
        self._shown, self.at, self._for = text, 0, -1
        self.refresh()

    def move(self, by: int) -> None:
        """Scroll by lines."""
        self.at = max(0, min(len(self._strips) - self.size.height, self.at + by))
        self.refresh()

    def render(self) -> str:
        """Nothing: lines are drawn one by one."""
        return ""

    def render_line(self, y: int) -> Strip:
        """One line."""
        width = self.size.width
        if self._for != width:
            self._strips, self._for = lines_of(self._shown, width, self.look.style()), width
        at = self.at + y
        return self._strips[at] if at < len(self._strips) else blank(width, self.look.style())

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        event.stop()
        self.move(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        event.stop()
        self.move(3)


class Picker(ModalScreen[Item | None]):
    """Choose one row, or none.

    Args:
        look: the colours.
        title: what is chosen.
        items: the rows.
        preview: what the pane shows of a row; without it there is no pane.
        mark: the row that is marked first.
        other: another set of rows, reached by Tab: its name, and the rows.
        acts: what other keys do with the marked row.
    """

    DEFAULT_CSS = """
    Picker { background: $background; layout: vertical; }
    Picker Horizontal { margin: 1 0 0 0; }
    Picker Input { border: none; height: 1; padding: 0 1; background: $background; }
    Picker Input:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", show=False, priority=True),
        Binding("up,ctrl+p", "step(-1)", show=False, priority=True),
        Binding("down,ctrl+n", "step(1)", show=False, priority=True),
        Binding("pageup", "step(-10)", show=False, priority=True),
        Binding("pagedown", "step(10)", show=False, priority=True),
        Binding("tab", "other", show=False, priority=True),
    ]

    def __init__(
        self,
        look: Look,
        title: Shown,
        items: Sequence[Item],
        *,
        preview: Preview | None = None,
        mark: int = 0,
        other: tuple[str, Callable[[], Awaitable[Sequence[Item]]]] | None = None,
        acts: Mapping[str, Act] | None = None,
    ) -> None:
        super().__init__()
        self.look = look
        self._heading, self._other = title, other
        self._items = list(items)
        self._preview = preview
        self._mark = mark
        self._acts = acts or {}
        self._gone: list[tuple[int, Item]] = []
        for key in self._acts:
            self._bindings.bind(key, f"act('{key}')", show=False, priority=True)

    def compose(self) -> ComposeResult:
        """Title, what is typed, rows and pane."""
        yield Bar(self.look, "title")
        yield Field(placeholder="type to narrow")
        with Horizontal():
            yield Rows(self.look, self._items, self._mark)
            if self._preview is not None and self.app.size.width >= 90:
                yield Pane(self.look)

    def on_mount(self) -> None:
        """Show the rows."""
        self.query_one(Input).focus()
        self._title()
        self._show_more()

    def _title(self, words: Shown | None = None) -> None:
        tab = f" · Tab {self._other[0]}" if self._other else ""
        acts = "".join(
            f" · {key[:-1].capitalize()}{key[-1].upper()} {act.name}"
            for key, act in self._acts.items()
            if act.name
        )
        hint = words or safe(f"{LEAVE} · Enter takes{tab}{acts}")
        self.query_one("#title", Bar).show(headed(self.look, self._heading, hint, self.app.size.width))

    def say(self, words: str) -> None:
        """Say something in the place of the keys."""
        self._title(one_line(words, 200))

    def without(self, item: Item) -> None:
        """Show the rows without one of them."""
        if item in self._items:
            self._gone.append((self._items.index(item), item))
            self._items.remove(item)
            self._narrow(self.query_one(Input).value, self.rows.at)

    def back(self) -> None:
        """Show the row again that was left out last."""
        if self._gone:
            at, item = self._gone.pop()
            self._items.insert(at, item)
            self._narrow(self.query_one(Input).value, at)
            self._title()

    def action_act(self, key: str) -> None:
        """Do what a key stands for."""
        act, rows = self._acts[key], self.rows
        if rows.items or not act.needs_row:
            act.do(self, rows.items[rows.at] if rows.items else None)

    @property
    def rows(self) -> Rows:
        """The rows."""
        return self.query_one(Rows)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow the rows."""
        self._narrow(event.value, 0)

    def _narrow(self, typed: str, mark: int) -> None:
        texts = [(n, f"{item.text} {item.side} {item.more}") for n, item in enumerate(self._items)]
        self.rows.nothing = "nothing fits" if typed else "there is nothing here"
        self.rows.show([self._items[n] for n in matching(typed, texts)], mark)
        self._show_more()

    def on_input_submitted(self) -> None:
        """Take the marked row."""
        rows = self.rows
        if rows.items:
            leave(self, rows.items[rows.at])

    def action_step(self, by: int) -> None:
        """Mark another row."""
        self.rows.step(by)
        self._show_more()

    def action_leave(self) -> None:
        """Take none."""
        leave(self, None)

    def action_other(self) -> None:
        """Show the other rows."""
        if self._other is not None:
            self.run_worker(self._switch(), exclusive=True)

    async def _switch(self) -> None:
        assert self._other is not None
        self._items = list(await self._other[1]())
        self._other = None
        self._title()
        self.rows.show(self._items)
        self._show_more()

    def _show_more(self) -> None:
        rows = self.rows
        if self._preview is not None and rows.items and self.query(Pane):
            self.run_worker(self._more(rows.items[rows.at]), exclusive=True)

    async def _more(self, item: Item) -> None:
        assert self._preview is not None
        text = await self._preview(item)
        self.query_one(Pane).show(text)


class Page(ModalScreen[None]):
    """A text on a screen of its own."""

    GLANCE = True
    """Who writes on has looked at it: letters are for what is below."""

    DEFAULT_CSS = "Page { background: $background; layout: vertical; } Page Pane { margin: 1 0 0 0; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c,enter,f1", "leave", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("pageup", "move(-15)", show=False, priority=True),
        Binding("pagedown,space", "move(15)", show=False, priority=True),
    ]

    def __init__(self, look: Look, title: Shown, text: ConsoleRenderable) -> None:
        super().__init__()
        self.look = look
        self._heading, self._body = title, text

    def compose(self) -> ComposeResult:
        """Title and text."""
        yield Bar(self.look, "title")
        yield Pane(self.look, self._body)

    def on_mount(self) -> None:
        """Say what it is."""
        self.query_one("#title", Bar).show(headed(self.look, self._heading, LEAVE, self.app.size.width))

    def action_move(self, by: int) -> None:
        """Scroll."""
        self.query_one(Pane).move(by)

    def action_leave(self) -> None:
        """Back to the conversation."""
        leave(self, None)
