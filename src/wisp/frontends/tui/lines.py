"""From styled text to the lines of a screen, each exactly as wide as it is told.  Pure.

Owns the console that measures and wraps; knows nothing of what the text means.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import cache

from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip


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


def lines_of(content: RenderableType, width: int, base: Style, indent: int = 0) -> list[Strip]:
    """`content` wrapped to `width` cells, `indent` of which stay empty on the left."""
    inner = max(1, width - indent)
    options = console().options.update(width=inner, max_width=inner, height=None)
    lead = [Segment(" " * indent, base)] if indent else []
    return [
        fitted([*lead, *segments], width, base)
        for segments in console().render_lines(content, options, style=base, pad=False)
    ]


def fitted(segments: Iterable[Segment], width: int, base: Style) -> Strip:
    """Segments as one line of exactly `width` cells on `base`."""
    clean = [
        Segment(segment.text, base + segment.style if segment.style else base)
        for segment in segments
        if segment.text and not segment.control
    ]
    return Strip(clean).adjust_cell_length(max(0, width), base).simplify()


def blank(width: int, base: Style) -> Strip:
    """An empty line."""
    return Strip([Segment(" " * width, base)], width)


def wrapped(text: Text, width: int) -> list[Text]:
    """`text` in lines of at most `width` cells; long words are cut, indents stay."""
    if not text.plain:
        return [text]
    out: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        out.extend(line.wrap(console(), max(1, width), overflow="fold", tab_size=4))
    return out


def clipped(text: str, width: int) -> str:
    """The beginning of a line that fits into `width` cells, with a mark where it was cut."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)).rstrip() + "…"
