"""The lines around the composer: what happens now, what waits, where one is.  Pure drawing."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from textual.widget import Widget

from wisp.frontends.tui.entries import took_text
from wisp.frontends.tui.lines import clipped
from wisp.frontends.tui.look import Look

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

    def render(self) -> Text:
        """The text."""
        return self._text


def activity(
    look: Look, *, waiting: str, seconds: float, frame: int, still: bool, hint: str, width: int
) -> Text:
    """What is being waited for, since when, and how to stop it."""
    mark = "•" if still else SPINNER[frame % len(SPINNER)]
    after = f" {took_text(seconds)}" if seconds >= 1 else ""
    text = Text(no_wrap=True)
    text.append(f"{mark} ", look.style("accent"))
    text.append(clipped(waiting, max(4, width - cell_len(hint) - len(after) - 6)), look.style())
    text.append(after, look.style("dim"))
    if hint:
        text.append(f"  {hint}", look.style("dim"))
    return text


def status(
    look: Look, *, folder: str, branch: str, model: str, mode: str, sandbox: str, extra: list[str], width: int
) -> Text:
    """Where one is on the left, how calls are judged on the right; the left gives way."""
    tone = {"ask": "good", "read-only": "good", "plan": "accent", "auto": "warn", "full": "bad"}.get(
        mode, "dim"
    )
    boxed = "no sandbox" if sandbox in ("none", "off") else "sandbox"
    right = Text(no_wrap=True)
    right.append(mode, look.style(tone, bold=True))
    right.append(" · ", look.style("dim"))
    right.append(boxed if width >= 40 else boxed[:10], look.style("warn" if boxed != "sandbox" else "dim"))
    parts = [part for part in (model, folder + (f" ({branch})" if branch else "")) if part]
    room = width - cell_len(right.plain) - 2
    kept: list[str] = []
    for part in [parts[0] if parts else "", *extra, *parts[1:]]:
        if part and sum(cell_len(k) + 3 for k in kept) + cell_len(part) <= room:
            kept.append(part)
    if not kept and parts and room > 6:
        kept = [clipped(parts[0], room)]
    left = " · ".join(kept)
    text = Text(left, look.style("dim"), no_wrap=True)
    text.append(" " * max(1, width - cell_len(left) - cell_len(right.plain)), look.style())
    return text + right
