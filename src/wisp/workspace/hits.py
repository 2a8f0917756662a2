"""What a search of contents found: kept up to a limit, cut around the match, protected files left out.

Knows nothing of how it is searched.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from wisp.workspace.protected import why_protected
from wisp.workspace.ripgrep import Line
from wisp.workspace.text import decode_line


class Query(NamedTuple):
    """What to look for in contents."""

    pattern: str
    glob: str = ""
    ignore_case: bool = False
    literal: bool = False
    context: int = 0
    most: int = 100
    width: int = 500


class Hit(NamedTuple):
    """A line that matches, or a line of context beside one."""

    path: str
    """Relative to the searched directory; the file's name when a file was searched."""
    line: int
    text: str
    is_match: bool


class Answer(NamedTuple):
    """What a search of contents found."""

    hits: list[Hit]
    more: bool
    """The limit was reached; there are or may be more."""
    partial: bool
    """The time was up."""


class Collector:
    """Keeps hits up to the limit."""

    def __init__(self, query: Query, top: str, encodings: tuple[str, ...], *, explicit: bool) -> None:
        self.hits: list[Hit] = []
        self.more = False
        self.partial = False
        self._query, self._encodings, self._explicit = query, encodings, explicit
        self._top = "" if why_protected(top, "read") else top + "/"
        self._count = 0

    def clear(self) -> None:
        """Begin anew."""
        self.hits.clear()
        self.more, self._count = False, 0

    def take(self, lines: list[Line]) -> bool:
        """Keep the lines of one file; False when the limit is reached."""
        path = os.fsdecode(lines[0].path.removeprefix(b"./"))
        if not self._explicit and why_protected(self._top + path, "read"):
            return True
        for line in lines:
            if line.start >= 0:
                if self._count >= self._query.most:
                    self.more = True
                    return False
                self._count += 1
            words = _shorten(line, self._query.width, self._encodings)
            self.hits.append(Hit(path, line.number, words, line.start >= 0))
        return True


def _shorten(line: Line, width: int, encodings: tuple[str, ...]) -> str:
    """The line, or as much of it around the match as fits, saying how much is missing."""
    data = line.data.rstrip(b"\r\n")
    if not line.number:
        return "(the line is too long to be shown)"
    text, encoding = decode_line(data, encodings)
    if len(text) <= width:
        return text
    start = len(data[: max(line.start, 0)].decode(encoding, "replace"))
    end = start + len(data[max(line.start, 0) : line.end].decode(encoding, "replace"))
    room = max(0, width - (end - start))
    left = max(0, min(start - room // 2, len(text) - width))
    piece = text[left : left + width]
    before = f"[{left} more chars]..." if left else ""
    rest = len(text) - left - len(piece)
    return before + piece + (f"...[+{rest} more chars]" if rest else "")
