"""The changes of the conversation: what its runs made of the files; comments on them go back as one message.

Shows what the host tells; undoing is the host's too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

from wisp.frontends.tui.bars import Bar
from wisp.frontends.tui.field import Field
from wisp.frontends.tui.hunklist import HunkList, file_of, hunks
from wisp.frontends.tui.lines import Text
from wisp.frontends.tui.look import Look
from wisp.frontends.tui.picker import leave
from wisp.host.client import CommandRefused
from wisp.host.showing import Shown, flat, named, one_line, safe

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp
    from wisp.frontends.tui.talk import Talk

PAUSE = 0.1
"""Seconds without a key after which the field has the focus."""
MARKS = {"made": "+", "changed": "~", "deleted": "-"}


class Hunk(NamedTuple):
    """One hunk of one file, or a file without words to show."""

    what: str
    diff: Shown


class Outcome(NamedTuple):
    """What the person wants."""

    comments: str = ""
    """A message with all of them."""
    undo: bool = False


async def show_changes(app: WispApp, talk: Talk) -> bool:
    """Open the page; whether it was done."""
    try:
        found = await talk.client.around.changes()
    except CommandRefused as exc:
        talk.note(str(exc), "warn")
        return True
    parts: list[Hunk] = []
    for one in found:
        if one.diff:
            parts += [Hunk(one.what, part) for part in hunks(safe(one.diff))]
        else:
            name = named(one.path)
            diff = safe(f"--- a/{name}\n+++ b/{name}\n@@ -0,0 +1 @@\n+({flat(one.note)})\n")
            parts.append(Hunk(one.what, diff))
    if not parts:
        talk.note("no run of this conversation has changed a file")
        return True

    def left(outcome: Outcome | None) -> None:
        if outcome is None:
            return
        if outcome.undo:
            app.keep(talk.slash("/undo yes"))
        elif outcome.comments:
            app.keep(talk.say(outcome.comments))

    app.push_screen(Changes(app.look, len(found), parts), left)
    return True


class Changes(ModalScreen[Outcome | None]):
    """Every hunk, one of them marked."""

    DEFAULT_CSS = """
    Changes { background: $background; layout: vertical; }
    Changes Input { border: none; height: 1; padding: 0 1; background: $background; display: none; }
    Changes Input:focus { border: none; }
    Changes.writing Input { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", show=False, priority=True),
        Binding("up,k", "step(-1)", show=False),
        Binding("down,j", "step(1)", show=False),
        Binding("pageup", "move(-10)", show=False),
        Binding("pagedown,space", "move(10)", show=False),
        Binding("c,enter", "comment", show=False),
        Binding("s", "send", show=False),
        Binding("u", "undo", show=False),
        Binding("q", "leave", show=False),
    ]

    def __init__(self, look: Look, files: int, parts: Sequence[Hunk]) -> None:
        super().__init__()
        self.look = look
        self._files, self._parts = files, list(parts)
        self._comments: dict[int, str] = {}
        self._undoing = False

    def compose(self) -> ComposeResult:
        """Title, hunks, what is written, keys."""
        yield Bar(self.look, "title")
        yield HunkList(self.look, [part.diff for part in self._parts], self._label, self._below)
        yield Field(placeholder="a comment on this hunk; Enter keeps it")
        yield Bar(self.look, "keys")

    def on_mount(self) -> None:
        """Say what it is."""
        title = Text(no_wrap=True)
        files = "1 file" if self._files == 1 else f"{self._files} files"
        heading = safe(f"Changes of this conversation: {files}")
        title.append(heading, self.look.style("accent", bold=True))
        self.query_one("#title", Bar).show(title)
        self._list.focus()
        self._focus = self.set_interval(PAUSE, self._take_focus, pause=True)
        self._tell()

    def _label(self, number: int) -> tuple[Shown, str]:
        what = self._parts[number].what
        return safe(MARKS.get(what, "~")), {"made": "good", "deleted": "bad"}.get(what, "text")

    def _below(self, number: int) -> Shown:
        said = self._comments.get(number, "")
        return safe(f"✎ {one_line(said, 300)}" if said else "")

    def _tell(self, words: Shown | None = None) -> None:
        count = len(self._comments)
        send = f"s sends {count} comment{'s' if count != 1 else ''} · " if count else ""
        text = Text(no_wrap=True)
        keys = safe(f"Esc leaves · {send}c comments · u undoes the last run")
        text.append(words or keys, self.look.style("dim"))
        self.query_one("#keys", Bar).show(text)

    @property
    def _list(self) -> HunkList:
        return self.query_one(HunkList)

    def action_step(self, by: int) -> None:
        """Another hunk."""
        self._undoing = False
        self._list.step(by)
        self._tell()

    def action_move(self, by: int) -> None:
        """Scroll."""
        self._list.move(by)

    def _take_focus(self) -> None:
        self._focus.pause()
        self.query_one(Input).focus()

    def action_comment(self) -> None:
        """Write a comment on the marked hunk."""
        self.add_class("writing")
        field = self.query_one(Input)
        field.value = self._comments.get(self._list.at, "")
        self._focus.reset()

    async def on_key(self, event: events.Key) -> None:
        """Do what a key means, in the order in which keys were pressed.

        By the usual way, over the app, letters that are typed directly after `c` would still be commands; and
        with the focus at once the first of them could come after the others.
        """
        field = self.query_one(Input)
        event.stop()
        if not self.has_class("writing"):
            for binding in self._bindings.key_to_bindings.get(event.key, ()):
                await self.run_action(binding.action)
        elif not field.has_focus:
            self._focus.reset()
            if event.is_printable:
                field.insert_text_at_cursor(event.character or "")
            elif event.key == "backspace":
                field.action_delete_left()
            elif event.key == "enter":
                self._keep(field.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the comment; an empty one is none."""
        event.stop()
        self._keep(event.value)

    def _keep(self, comment: str) -> None:
        if comment.strip():
            self._comments[self._list.at] = comment.strip()
        else:
            self._comments.pop(self._list.at, None)
        self._written()

    def _written(self) -> None:
        self._focus.pause()
        self.remove_class("writing")
        self._list.focus()
        self._list.draw_again()
        self._tell()

    def action_send(self) -> None:
        """All comments go back as one message."""
        if self._comments:
            leave(self, Outcome(message(self._parts, self._comments)))

    def action_undo(self) -> None:
        """Undo the last run, at the second press."""
        if self._undoing:
            leave(self, Outcome(undo=True))
            return
        self._undoing = True
        self._tell(safe("u again puts the files back to before the last run"))

    def action_leave(self) -> None:
        """Back to the hunks, or to the conversation."""
        if self.has_class("writing"):
            self._written()
        else:
            leave(self, None)


def message(parts: Sequence[Hunk], comments: dict[int, str]) -> str:
    """The comments as one message, each with the hunk that it is on."""
    rows = ["Comments on the changes:"]
    for number, comment in sorted(comments.items()):
        body = parts[number].diff.split("\n", 2)[2].rstrip("\n")
        rows.append(f"{file_of(parts[number].diff)}:\n```diff\n{body}\n```\n{comment}")
    return "\n\n".join(rows)
