"""The lines around the composer: what happens now, what waits, where one is.  Pure drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.widget import Widget

from wisp.frontends.tui.entries import took_text
from wisp.frontends.tui.lines import Line, Text, clipped
from wisp.frontends.tui.look import Look
from wisp.host.showing import Shown, named, one_line, safe

if TYPE_CHECKING:
    from wisp.host.events import ContextEstimated
    from wisp.host.snapshot import Snapshot

TONES = {"ask": "good", "read-only": "good", "plan": "accent", "auto": "warn", "full": "bad"}
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Bar(Widget):
    """Some lines of text."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; padding: 0 1; } Bar.hidden { display: none; }"

    def __init__(self, look: Look, id_: str) -> None:
        super().__init__(id=id_)
        self.look = look
        self._text = Text()

    def show(self, text: Text) -> None:
        """Show `text`, if it is not what is shown."""
        if text != self._text or text.spans != self._text.spans:
            self._text = text
            self.refresh()

    def render(self) -> Line:
        """The text; one line is cut where it does not fit, with a mark."""
        width = self.content_size.width
        if width <= 0 or "\n" in self._text.plain or self._text.cell_len <= width:
            return self._text
        cut = self._text.copy()
        cut.truncate(width, overflow="ellipsis")
        return cut


def activity(
    look: Look, *, waiting: Shown, seconds: float, frame: int, still: bool, hint: Shown, width: int
) -> Text:
    """What is being waited for, since when, and how to stop it."""
    mark = safe("" if look.spoken else "• " if still else f"{SPINNER[frame % len(SPINNER)]} ")
    after = safe(f" {took_text(seconds)}" if seconds >= 1 else "")
    text = Text(no_wrap=True)
    text.append(mark, look.style("accent"))
    text.append(clipped(waiting, max(4, width - cell_len(hint) - len(after) - 6)), look.style())
    text.append(after, look.style("dim"))
    if hint:
        text.append(safe(f"  {hint}"), look.style("dim"))
    return text


def status(
    look: Look,
    now: Snapshot,
    cost: float | None,
    context: ContextEstimated | None,
    width: int,
    wanted: Sequence[str] = ("model", "folder", "context", "cost"),
) -> Text:
    """Where one is on the left, how calls are judged on the right; the left gives way."""
    mode = named(now.permission_mode)
    boxed = safe("no sandbox" if now.sandbox in ("none", "off") else "sandbox")
    right = Text(no_wrap=True)
    right.append(mode, look.style(TONES.get(mode, "dim"), bold=True))
    right.append(safe(" · "), look.style("dim"))
    right.append(boxed, look.style("warn" if boxed != "sandbox" else "dim"))
    folder = one_line(now.cwd.rsplit("/", 1)[-1] or now.cwd, 60)
    told = {
        "model": one_line(now.model, 60),
        "folder": folder + (f" ({one_line(now.branch, 40)})" if now.branch else ""),
        "session": now.session_id[:8],
    }
    if context is not None and context.window:
        told["context"] = f"{100 * context.total / context.window:.0f}% of context"
    if cost != 0:
        told["cost"] = "cost unknown" if cost is None else f"${cost:.2f}" if cost >= 0.01 else f"${cost:.4f}"
    parts = [told[name] for name in wanted if told.get(name)]
    room = width - right.cell_len - 2
    left = safe("")
    for part in parts:
        longer = safe(f"{left} · {part}" if left else part)
        if cell_len(longer) <= room:
            left = longer
    if not left and room > 6 and parts:
        left = clipped(safe(parts[0]), room)
    text = Text(left, look.style("dim"), no_wrap=True)
    text.append(safe(" " * max(1, width - cell_len(left) - right.cell_len)), look.style())
    return text.append(right)
