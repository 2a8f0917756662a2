"""One line to write in: filters and comments.  A paste is made one line, and nothing of it is lost."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from wisp.host.showing import safe


class Field(Input):
    """An input whose pastes keep all their lines, joined by spaces."""

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        words = " ".join(safe(line).strip() for line in event.text.splitlines())
        self.replace(words, *self.selection) if self.selection else self.insert_text_at_cursor(words)
