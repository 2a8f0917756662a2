"""From styled text to the lines of a screen, each exactly as wide as it is told.  Pure.

The door to the screen: `Text` and `Segment` are rich's, but the type checker lets nothing in that was not
made safe to show, and no other module of the screen gets them elsewhere.  Owns the console that measures and
wraps; knows nothing of what the text means.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import rich.segment
import rich.text
from rich.console import Console, ConsoleRenderable
from rich.style import Style
from textual.strip import Strip

from wisp.host.showing import Shown, cells, cut_off, safe

if TYPE_CHECKING:

    class Text(rich.text.Text):
        """Styled words."""

        def __init__(self, text: Shown = ..., style: Style | str = "", **more: Any) -> None: ...

        def append(  # type: ignore[override]  # less than rich takes: that is what it is for
            self, text: Shown | rich.text.Text, style: Style | None = None
        ) -> Text: ...

        @classmethod
        def assemble(  # type: ignore[override]
            cls, *parts: Shown | rich.text.Text | tuple[Shown, Style]
        ) -> Text: ...

    class Segment(rich.segment.Segment):
        """Words of one style on one line."""

        def __new__(cls, text: Shown, style: Style | None = None) -> Segment: ...

else:  # nothing at all at run time
    Text, Segment = rich.text.Text, rich.segment.Segment

Line = rich.text.Text
"""What became of a `Text`: a part of it, or a copy."""


@cache
def console() -> Console:
    """Measures and wraps; writes nowhere."""
    return Console(
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        width=80,
        _environ={},
    )


def lines_of(content: ConsoleRenderable, width: int, base: Style, indent: int = 0) -> list[Strip]:
    """`content` wrapped to `width` cells, `indent` of which stay empty on the left."""
    inner = max(1, width - indent)
    options = console().options.update(width=inner, max_width=inner, height=None)
    lead = [space(indent, base)] if indent else []
    return [
        fitted([*lead, *segments], width, base)
        for segments in console().render_lines(content, options, style=base, pad=False)
    ]


def space(width: int, style: Style) -> Segment:
    """Empty cells."""
    return Segment(safe(" " * width), style)


def restyled(segment: rich.segment.Segment, style: Style) -> rich.segment.Segment:
    """The words of a segment in another style."""
    return rich.segment.Segment(segment.text, style)


def fitted(segments: Iterable[rich.segment.Segment], width: int, base: Style) -> Strip:
    """Segments as one line of exactly `width` cells on `base`."""
    clean = [
        restyled(segment, base + segment.style if segment.style else base)
        for segment in segments
        if segment.text and not segment.control
    ]
    return Strip(clean).adjust_cell_length(max(0, width), base).simplify()


def blank(width: int, base: Style) -> Strip:
    """An empty line."""
    return Strip([space(width, base)], width)


def wrapped(text: Line, width: int) -> list[Line]:
    """`text` in lines of at most `width` cells; long words are cut, indents stay."""
    if not text.plain:
        return [text]
    out: list[Line] = []
    for line in text.split("\n", allow_blank=True):
        out.extend(line.wrap(console(), max(1, width), overflow="fold", tab_size=4))
    return out


def clipped(text: Shown, width: int) -> Shown:
    """The beginning of a line that fits into `width` cells, with a mark where it was cut."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    return cut_off(set_cell_size(text, max(0, width - 1)))


def written(line: str) -> Text:
    """A line that a person writes, with a sign for each character that no terminal may be given."""
    return Text(cells(line), end="", no_wrap=True)
