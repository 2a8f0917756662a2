"""Colours: the themes, and the styles that the transcript is drawn with.  Knows no widget.

Every foreground stands at 4.5:1 or more on the background it is used on (WCAG 2.2, 1.4.3);
`tests/tui/test_look.py` counts it.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from rich.style import Style
from textual.theme import Theme

from wisp.host.showing import Shown, safe

MARKS = {
    "waiting": ("○", "waiting:"),
    "asking": ("?", "asks:"),
    "running": ("◐", "running:"),
    "done": ("●", "done:"),
    "failed": ("✗", "failed:"),
    "refused": ("⊘", "refused:"),
    "bad": ("✗", "error:"),
    "warn": ("!", "warning:"),
    "good": ("✓", "good:"),
    "dim": ("·", "note:"),
    "said": ("❯", "you:"),
    "thought": ("∴", "model"),
    "picture": ("▣", "picture:"),
    "chosen": ("❯", ">"),
}
"""Each mark and the word for it."""
TONES = {
    "waiting": "dim",
    "asking": "warn",
    "running": "accent",
    "done": "good",
    "failed": "bad",
    "refused": "warn",
}
"""The colour of a call in each state."""


class Look(NamedTuple):
    """Colours of one theme, as `#rrggbb`."""

    name: str
    dark: bool
    background: str
    text: str
    dim: str
    accent: str
    good: str
    bad: str
    warn: str
    panel: str
    """Behind what a person said, and behind code."""
    added: str
    removed: str
    """Behind changed lines."""
    added_word: str
    removed_word: str
    code: str
    """Name of the highlighting style for code."""
    spoken: bool = False
    """Whether it is read aloud: words in the place of marks, and nothing drawn with lines."""

    def mark(self, name: str) -> Shown:
        """The mark of something by its name in `MARKS`; where it is read aloud, the word for it."""
        sign, word = MARKS[name]
        return safe(word if self.spoken else sign)

    def pointer(self, marked: bool) -> Shown:
        """What stands before a row of a list, marked or not."""
        return safe(f"{self.mark('chosen')} " if marked else "  ")

    def style(self, colour: str = "", *, on: str = "", bold: bool = False, italic: bool = False) -> Style:
        """A style with a colour of this look by its name; the text's colour on the background without."""
        return Style(
            color=getattr(self, colour or "text"),
            bgcolor=getattr(self, on or "background"),
            bold=bold or None,
            italic=italic or None,
        )


DARK = Look(
    "wisp-dark",
    True,
    background="#14161b",
    text="#d7dae0",
    dim="#8b93a1",
    accent="#8ab4f8",
    good="#7fd18a",
    bad="#f28b82",
    warn="#f2c265",
    panel="#20242c",
    added="#16301f",
    removed="#3a1c1e",
    added_word="#22603a",
    removed_word="#752d31",
    code="monokai",
)
LIGHT = Look(
    "wisp-light",
    False,
    background="#fbfbf9",
    text="#24272d",
    dim="#5f6672",
    accent="#1a5fb4",
    good="#1c6b30",
    bad="#b3261e",
    warn="#7a5200",
    panel="#eeefeb",
    added="#dcf3e0",
    removed="#fbe1df",
    added_word="#a9dfb4",
    removed_word="#f5b5b0",
    code="xcode",
)
GREY = Look(
    "wisp-grey",
    True,
    background="#121212",
    text="#e0e0e0",
    dim="#989898",
    accent="#ffffff",
    good="#d0d0d0",
    bad="#ffffff",
    warn="#f0f0f0",
    panel="#262626",
    added="#303030",
    removed="#1c1c1c",
    added_word="#5a5a5a",
    removed_word="#444444",
    code="bw",
)

LOOKS = {look.name: look for look in (DARK, LIGHT, GREY)}


LEAST = 4.5
"""The contrast of text with its ground, by WCAG 2.2, 1.4.3."""


@cache
def readable(colour: str, ground: str, towards: str) -> str:
    """`colour`, moved towards another as far as it takes to stand out from `ground`; all `#rrggbb`."""
    wanted, end = _parts(colour), _parts(towards)
    for step in range(11):
        mixed = tuple(round(a + (b - a) * step / 10) for a, b in zip(wanted, end, strict=True))
        found = "#" + "".join(f"{part:02x}" for part in mixed)
        if contrast(found, ground) >= LEAST:
            return found
    return towards


def contrast(one: str, other: str) -> float:
    """How far two colours stand apart, from 1 to 21 (WCAG 2.2)."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    shares = [part / 255 for part in _parts(colour)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def theme_of(look: Look) -> Theme:
    """The theme by which widgets are styled as the transcript is."""
    return Theme(
        look.name,
        primary=look.accent,
        secondary=look.accent,
        accent=look.accent,
        foreground=look.text,
        background=look.background,
        surface=look.background,
        panel=look.panel,
        success=look.good,
        warning=look.warn,
        error=look.bad,
        dark=look.dark,
        variables={"dim": look.dim, "border": look.dim},
    )
