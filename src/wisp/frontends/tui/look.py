"""Colours: the themes, and the styles that the transcript is drawn with.  Knows no widget.

Every foreground stands at 4.5:1 or more on the background it is used on (WCAG 2.2, 1.4.3);
`tests/tui/test_look.py` counts it.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.style import Style
from textual.theme import Theme


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
    code="friendly",
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
