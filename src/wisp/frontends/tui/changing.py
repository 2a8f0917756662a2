"""What a person makes of an operation before they allow it: other words, or only some of its hunks.

Knows arguments and diffs as text; what is allowed in the end is the host's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from wisp.frontends.tui.bars import Bar
from wisp.frontends.tui.hunklist import HunkList
from wisp.frontends.tui.lines import Text
from wisp.frontends.tui.look import Look
from wisp.frontends.tui.picker import leave
from wisp.host.showing import Shown, safe


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

    def __init__(self, look: Look, title: Shown, parts: list[Shown]) -> None:
        super().__init__()
        self.look = look
        self._heading, self._parts = title, parts
        self._chosen = set(range(len(parts)))

    def compose(self) -> ComposeResult:
        """Title, hunks, keys."""
        yield Bar(self.look, "title")
        yield HunkList(self.look, self._parts, self._label)
        yield Bar(self.look, "keys")

    def on_mount(self) -> None:
        """Say what it is."""
        heading = safe(f"Which hunks? {self._heading}")
        title = Text(heading, self.look.style("accent", bold=True), no_wrap=True)
        self.query_one("#title", Bar).show(title)
        self._tell()

    @property
    def _list(self) -> HunkList:
        return self.query_one(HunkList)

    def _label(self, number: int) -> tuple[Shown, str]:
        taken = number in self._chosen
        return (safe("[x]"), "good") if taken else (safe("[ ]"), "dim")

    def _tell(self) -> None:
        chosen, count = len(self._chosen), len(self._parts)
        what = f"allows {chosen} of {count}" if chosen else "needs one at least"
        text = Text(no_wrap=True)
        text.append(safe(f"Enter {what}"), self.look.style(bold=True))
        keys = safe(" · Space takes or leaves one · a all · n none · Esc back to the question")
        text.append(keys, self.look.style("dim"))
        self.query_one("#keys", Bar).show(text)

    def action_step(self, by: int) -> None:
        """Another hunk."""
        self._list.step(by)

    def action_move(self, by: int) -> None:
        """Scroll."""
        self._list.move(by)

    def action_turn(self) -> None:
        """Take or leave the marked hunk."""
        self._chosen ^= {self._list.at}
        self._list.draw_again()
        self._tell()

    def action_every(self, wanted: bool) -> None:
        """Take all, or none."""
        self._chosen = set(range(len(self._parts))) if wanted else set()
        self._list.draw_again()
        self._tell()

    def action_allow(self) -> None:
        """Allow what is chosen."""
        if self._chosen:
            leave(self, tuple(sorted(self._chosen)))

    def action_leave(self) -> None:
        """Back to the question."""
        leave(self, None)
