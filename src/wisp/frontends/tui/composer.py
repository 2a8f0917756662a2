"""Where a person writes: several lines, history, large pastes folded to a mark, keys by which it is sent.

Knows nothing of what becomes of the text; says what the person did by messages.
"""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from wisp.frontends.tui.echo import Echo
from wisp.frontends.tui.graphemes import after, before
from wisp.frontends.tui.killing import KillRing
from wisp.frontends.tui.lines import Text, written

FOLDED_CHARACTERS, FOLDED_LINES = 2_000, 12
"""A paste beyond either is shown as a mark."""
KILLING = ("ctrl+k", "ctrl+u", "ctrl+w", "alt+d", "alt+backspace")
FORWARD = ("ctrl+k", "alt+d")
JOINERS = ("\u200d", "\u200c")
MOST_FOLDED = 64
_PICTURE = re.compile(r"\[image #(\d+): [^\]\n]*\]")
_MARK = re.compile(r"\[pasted #(\d+): [^\]\n]*\]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Composer(TextArea):
    """The text that will be sent."""

    DEFAULT_CSS = """
    Composer {
        height: auto; min-height: 1; max-height: 40%; padding: 0 1; border: round $dim;
        background: $background;
        &:focus { border: round $accent; }
        &.shell:focus { border: round $warning; }
        & .text-area--placeholder { color: $dim; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+underscore,alt+z,super+z", "undo", show=False),
        Binding("alt+y", "yank_before", show=False),
        Binding("ctrl+shift+z,super+shift+z", "redo", show=False),
        Binding("ctrl+y", "yank", show=False),
        Binding("ctrl+b", "cursor_left", show=False),
        Binding("alt+b", "cursor_word_left", show=False),
        Binding("alt+f", "cursor_word_right", show=False),
        Binding("alt+backspace", "delete_word_left", show=False),
        Binding("alt+d", "delete_word_right", show=False),
    ]

    class Sent(Message):
        """The person sent the text: at once, or to be said later."""

        def __init__(self, text: str, when: Literal["now", "later"], pictures: tuple[str, ...]) -> None:
            super().__init__()
            self.text = text
            self.when = when
            self.pictures = pictures
            """Files of the pictures that it names."""

    class Edited(Message):
        """What stands before the cursor changed."""

    class Pasted(Message):
        """A short text was pasted: it may be what the terminal writes for a dropped file."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Pressed(Message):
        """A key whose meaning depends on what else is on the screen."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, echo: Echo | None = None) -> None:
        super().__init__(
            id="composer",
            highlight_cursor_line=False,
            placeholder="starting…",
            max_checkpoints=200,
        )
        self._echo = echo or Echo()
        self.menu_open = False
        """Whether arrows, Tab and Enter belong to a menu."""
        self.last_key = 0.0
        """When a key was last pressed here, by the event loop's clock."""
        self._pasted: dict[int, str] = {}
        self._sent: list[str] = []
        self._place: int | None = None
        """Which entry of the history is shown; None for the person's own text."""
        self._wanted = False
        """An earlier text was asked for before any was known."""
        self._draft = ""
        self._ring = KillRing()
        self._yanked: tuple[tuple[int, int], tuple[int, int]] | None = None
        """Where that stands which the last key put back."""
        self._pictures: dict[int, str] = {}
        self._last = ("", "")
        """What was sent last: whole, and as it was shown."""

    # -- text ---------------------------------------------------------------------------------------------

    @property
    def whole(self) -> str:
        """The text with what was pasted in place of the marks."""
        return _MARK.sub(lambda m: self._pasted.get(int(m[1]), m[0]), self.text)

    def put(self, text: str) -> None:
        """Replace the text; it can be undone."""
        self.replace(text, (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    def get_line(self, line_index: int) -> Text:
        """A line as it is drawn: what is written may be anything, as a file's name is, and drives nothing."""
        return written(self.document.get_line(line_index))

    def add_picture(self, path: str, name: str) -> None:
        """Put the mark of a picture at the cursor; the file goes along for as long as the mark stands."""
        number = max(self._pictures, default=0) + 1
        self._pictures[number] = path
        self._insert(f"[image #{number}: {name}]")

    def before_cursor(self) -> str:
        """The line up to the cursor."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    def complete(self, size: int, text: str) -> None:
        """Replace the last `size` characters before the cursor."""
        row, column = self.cursor_location
        result = self.replace(text, (row, column - size), (row, column))
        self.move_cursor(result.end_location)

    def remember(self, text: str) -> None:
        """Add to the history."""
        if text.strip() and (not self._sent or self._sent[-1] != text):
            self._sent.append(text)
        self._place = None

    @property
    def sent(self) -> list[str]:
        """What was sent, oldest first."""
        return self._sent

    def load_sent(self, texts: list[str]) -> None:
        """What was sent before this program started, oldest first."""
        new = [text for text in texts if text not in self._sent]
        self._sent = [*new, *self._sent]
        if self._place is not None:
            self._place += len(new)
        elif self._wanted:
            self._recall(-1)
        self._wanted = False

    async def press(self, event: events.Key) -> None:
        """A key that was pressed elsewhere and is meant for the text."""
        await self._on_key(event)

    # -- keys ---------------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        import asyncio

        self.last_key = asyncio.get_running_loop().time()
        self._echo.taken(self.last_key)
        key = event.key
        if key not in ("ctrl+y", "alt+y"):
            self._yanked = None
        if key not in self._bindings.key_to_bindings:
            self._ring.close()
        if self.menu_open and key in ("up", "down", "tab", "enter", "escape"):
            self._pass(event)
        elif key == "enter":
            self._enter(event)
        elif key in ("shift+enter", "ctrl+j", "newline"):
            event.stop()
            event.prevent_default()
            self._insert("\n")
        elif key in ("alt+enter", "ctrl+enter"):
            event.stop()
            event.prevent_default()
            self.send("later")
        elif (key == "up" and self._on_edge(-1)) or (key == "down" and self._on_edge(1)):
            event.stop()
            event.prevent_default()
            self._recall(-1 if key == "up" else 1)
        elif key in ("tab", "escape", "alt+up", "ctrl+g", "ctrl+v") or (key == "ctrl+d" and not self.text):
            self._pass(event)
        elif event.character in JOINERS:  # no printable ones by Python's count, but part of what is written
            event.stop()
            event.prevent_default()
            self._insert(event.character or "")
        elif not await self._bound(event):
            await super()._on_key(event)

    async def _bound(self, event: events.Key) -> bool:
        """Do what the key is bound to at once: by the usual way what is typed after it could come first."""
        if event.key not in self._bindings.key_to_bindings:
            return False
        event.stop()
        event.prevent_default()
        earlier, kills = self.text, event.key in KILLING
        for binding in self._bindings.get_bindings_for_key(event.key):
            await self.run_action(binding.action)
        if kills:
            self._ring.note(earlier, self.text, forward=event.key in FORWARD)
        else:
            self._ring.close()
        return True

    def _pass(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Pressed(event.key))

    def _enter(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if self.before_cursor().endswith("\\"):
            self.action_delete_left()
            self._insert("\n")
        else:
            self.send("now")

    def _insert(self, text: str) -> None:
        start, end = self.selection
        result = self.replace(text, start, end)
        self.move_cursor(result.end_location)

    def send(self, when: Literal["now", "later"]) -> None:
        """Send and begin anew at once: what is typed next is another text."""
        self._last = self.whole, self.text
        numbers = [int(number) for number in _PICTURE.findall(self.text)]
        pictures = tuple(self._pictures[number] for number in numbers if number in self._pictures)
        self.post_message(self.Sent(self.whole, when, pictures))
        self.load_text("")
        self._place = None

    def give_back(self, text: str) -> None:
        """What was sent was not taken: it stands here again, before what was written since."""
        shown = self._last[1] if self._last[0] == text else text
        since = self.text
        self.put(f"{shown}\n{since}" if since.strip() else shown)

    def _on_edge(self, direction: int) -> bool:
        """Whether the cursor cannot go further up or down, or walks through the history."""
        if self.selection.start != self.selection.end:
            return False
        if self._place is not None and self.text == self._sent[self._place]:
            return True
        return self.cursor_at_first_line if direction < 0 else self.cursor_at_last_line

    def _recall(self, direction: int) -> None:
        self.post_message(self.Pressed("recall"))
        place = len(self._sent) if self._place is None else self._place
        place += direction
        if not self._sent or place < 0:
            self._wanted = direction < 0 and not self._sent
            self.move_cursor((0, 0))
            return
        if self._place is None:
            if direction > 0:
                self.move_cursor(self.document.end)
                return
            self._draft = self.text
        self._place = place if place < len(self._sent) else None
        self.put(self._draft if self._place is None else self._sent[self._place])

    def action_yank(self) -> None:
        """Put back what was removed last."""
        self._put_back(self._ring.newest)

    def action_yank_before(self) -> None:
        """Directly after `yank`: what was removed before that instead; else redo what was undone."""
        if self._yanked is None:
            self.action_redo()
            return
        self.selection = Selection(*self._yanked)
        self._put_back(self._ring.before())

    def _put_back(self, text: str) -> None:
        if text:
            start = min(self.selection.start, self.selection.end)
            self._insert(text)
            self._yanked = start, self.cursor_location

    def get_cursor_left_location(self) -> tuple[int, int]:
        """One character to the left: whatever a person takes for one."""
        row, column = self.cursor_location
        if column == 0:
            return super().get_cursor_left_location()
        return row, before(self.document.get_line(row), column)

    def get_cursor_right_location(self) -> tuple[int, int]:
        """One character to the right."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        return super().get_cursor_right_location() if column >= len(line) else (row, after(line, column))

    # -- pasting ------------------------------------------------------------------------------------------

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = _CONTROL.sub("", event.text.replace("\r\n", "\n").replace("\r", "\n"))
        if len(text) > FOLDED_CHARACTERS or text.count("\n") >= FOLDED_LINES:
            number = max(self._pasted, default=0) + 1
            self._pasted = {**self._pasted, number: text}
            self._pasted.pop(number - MOST_FOLDED, None)
            lines = text.count("\n") + 1
            size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
            text = f"[pasted #{number}: {size}]"
        self._insert(text)
        if "." in text and "\n" not in text.strip():
            self.post_message(self.Pasted(text))

    def _watch_selection(self, previous: object, selection: object) -> None:
        super()._watch_selection(previous, selection)  # type: ignore[arg-type]
        self.post_message(self.Edited())
