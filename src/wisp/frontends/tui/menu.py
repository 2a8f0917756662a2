"""What could be meant, above the composer: commands after `/`, files after `@`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.widget import Widget

from wisp.frontends.tui.lines import Text, clipped
from wisp.frontends.tui.look import Look
from wisp.host.showing import Shown, safe

SHOWN = 8


class Row(NamedTuple):
    """One thing that could be meant."""

    text: Shown
    help: Shown = safe("")
    insert: str = ""
    """What is put in place of what was typed; empty for `text`."""
    runs: bool = False
    """Whether Enter does it at once: nothing more has to be said."""


class Menu(Widget):
    """Some rows, of which one is marked."""

    DEFAULT_CSS = "Menu { height: auto; width: 1fr; padding: 0 1; } Menu.hidden { display: none; }"

    def __init__(self, look: Look) -> None:
        super().__init__(id="menu", classes="hidden")
        self.look = look
        self.rows: list[Row] = []
        self.of = ""
        """The line before the cursor for which the rows were made."""
        self.typed = 0
        """Characters before the cursor that a row replaces."""
        self._marked = 0

    @property
    def open(self) -> bool:
        """Whether it is shown."""
        return bool(self.rows)

    @property
    def chosen(self) -> Row | None:
        """The marked row."""
        return self.rows[self._marked] if self.rows else None

    def show(self, rows: Sequence[Row], typed: int) -> None:
        """Show other rows; none closes it."""
        if list(rows) != self.rows:
            self._marked = 0
        self.rows, self.typed = list(rows), typed
        self.set_class(not self.rows, "hidden")
        self.styles.height = max(1, min(SHOWN, len(self.rows)))
        self.refresh()

    def step(self, by: int) -> None:
        """Mark another row."""
        if self.rows:
            self._marked = (self._marked + by) % len(self.rows)
            self.refresh()

    def render(self) -> Text:
        """The rows around the marked one."""
        width = max(4, self.size.width)
        first = max(0, min(self._marked - SHOWN // 2, len(self.rows) - SHOWN))
        shown = self.rows[first : first + SHOWN]
        wide = min(max((cell_len(row.text) for row in shown), default=0), width - 2, 48)
        text = Text(no_wrap=True)
        for at, row in enumerate(shown):
            marked = first + at == self._marked
            ground = "panel" if marked else ""
            name = clipped(row.text, width - 2) if not row.help else clipped(row.text, wide)
            line = Text(self.look.pointer(marked), self.look.style("accent", on=ground))
            line.append(name, self.look.style("accent" if marked else "text", on=ground, bold=marked))
            pad = wide - cell_len(name) + 2
            if row.help and width - wide - 5 > 8:
                line.append(safe(" " * pad), self.look.style(on=ground))
                line.append(clipped(row.help, width - wide - 5), self.look.style("dim", on=ground))
            line.append(safe(" " * max(0, width - cell_len(line.plain))), self.look.style(on=ground))
            text.append_text(Text(safe("\n")) if at else Text())
            text.append_text(line)
        return text
