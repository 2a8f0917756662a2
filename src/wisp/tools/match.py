"""Finding the text an edit means: exactly, else tolerantly, always as a span of the original.

Tolerance is used to locate only.  Each step is tried only when the one before found nothing at all.
"""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

MAX_TOLERANT = 4_000_000
"""Characters beyond which only exact text and line breaks are looked for."""
MAX_PLACES = 10_000
"""Beyond so many places only one more is looked for, to tell that there are more."""

_NEWLINE = re.compile("\r\n")
_LOOSE = re.compile(
    "[ \t\u00a0]+(?=\r?\n|\\Z)|\r\n"
    "|[\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u2010-\u2015\u2212\u00a0\u2000-\u200a\u202f\u205f\u3000\u2026]"
    "|[^\\s\u0300-\u036f][\u0300-\u036f\u0653-\u0655\u3099\u309a]+|[\u1100-\u11ff]+|[\u212a\u212b\u2126\u0340-\u0344\u0374\u037e\u0387]"
)
_TYPOGRAPHY = {
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys(
        "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
    ),
    "\u2026": "...",
}
_LINE = re.compile("([^\r\n]*)(\r\n|\n|\r|\\Z)")


class Place(NamedTuple):
    """One span of the original that an old text means."""

    start: int
    end: int
    fit: Callable[[str], str | None] | None = None
    """Where the indentation differs: turns the new text's indentation into that of this place."""


class Found(NamedTuple):
    """All places, and by which tolerance they were found."""

    places: list[Place]
    how: str
    """`exact`, `newlines`, `typography` or `indentation`."""


def locate(text: str, old: str) -> Found:
    """Every place `old` may mean in `text`, by the first tolerance that finds any; overlapping ones too."""
    places = list(islice(_exact(text, old), MAX_PLACES + 1))
    if places or not old.strip():
        return Found(places, "exact")
    if "\r" in text or "\r" in old:
        places = _folded(text, old, _NEWLINE)
        if places:
            return Found(places, "newlines")
    if len(text) > MAX_TOLERANT:
        return Found([], "exact")
    places = _folded(text, old, _LOOSE)
    if places:
        return Found(places, "typography")
    return Found(_indented(text, old), "indentation")


def line_of(text: str, index: int) -> int:
    """The number, from 1, of the line that holds `index`."""
    return text.count("\n", 0, index) + 1


def nearest(text: str, old: str, most: int = 3) -> list[tuple[int, str]]:
    """Lines that share most words with the most telling line of `old`: number and text, best first."""
    probe = max((line.strip() for line in old.split("\n")), key=len, default="")[:300]
    wanted = _words(probe)
    if not wanted or len(text) > MAX_TOLERANT:
        return []
    scored: list[tuple[float, int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = _words(line[:300])
        if words:
            score = len(wanted & words) / len(wanted | words)
            if score >= 0.3:
                scored.append((-score, number, line.strip()))
    return [(number, line[:200]) for _, number, line in sorted(scored)[:most]]


def _exact(text: str, old: str) -> Iterator[Place]:
    at = text.find(old) if old else -1
    while at >= 0:
        yield Place(at, at + len(old))
        at = text.find(old, at + 1)


class _Folded:
    """A text with some pieces replaced, and the way back to the original."""

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        out: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._origins: list[tuple[int, int]] = []
        at = length = 0
        for match in pattern.finditer(text):
            piece = _fold(match[0])
            out += [text[at : match.start()], piece]
            length += match.start() - at
            self._starts.append(length)
            length += len(piece)
            self._ends.append(length)
            self._origins.append(match.span())
            at = match.end()
        out.append(text[at:])
        self.text = "".join(out)

    def start(self, index: int) -> int | None:
        """Where a span that begins at `index` begins in the original; None inside a replaced piece."""
        k = bisect.bisect_right(self._starts, index) - 1
        if k < 0:
            return index
        if index < self._ends[k]:
            return self._origins[k][0] if index == self._starts[k] else None
        return self._origins[k][1] + index - self._ends[k]

    def end(self, index: int) -> int | None:
        """Where a span that ends at `index` ends in the original: as early as possible."""
        k = bisect.bisect_left(self._ends, index)
        if k < len(self._ends) and self._starts[k] < index:
            return self._origins[k][1] if index == self._ends[k] else None
        if k == 0:
            return index
        return self._origins[k - 1][1] + index - self._ends[k - 1]


def _fold(piece: str) -> str:
    if piece == "\r\n":
        return "\n"
    if not piece.strip(" \t\u00a0") and (len(piece) > 1 or piece in " \t"):
        return ""
    return _TYPOGRAPHY.get(piece) or unicodedata.normalize("NFC", piece)


def _folded(text: str, old: str, pattern: re.Pattern[str]) -> list[Place]:
    wanted = pattern.sub(lambda match: _fold(match[0]), old)
    if not wanted.strip():
        return []
    folded = _Folded(text, pattern)
    places = []
    for place in _exact(folded.text, wanted):
        start, end = folded.start(place.start), folded.end(place.end)
        if start is not None and end is not None and start < end:
            places.append(Place(start, end))
            if len(places) > MAX_PLACES:
                break
    return places


class _Row(NamedTuple):
    start: int
    indent: str
    content_end: int
    """Before trailing blanks and the line break."""
    end: int
    key: str


def _rows(text: str) -> list[_Row]:
    found: list[_Row] = []
    for match in _LINE.finditer(text):
        line = match[1]
        if match.start() == len(text) and found and text[-1:] in "\r\n":
            break
        bare = line.strip(" \t\u00a0")
        indent = line[: len(line) - len(line.lstrip(" \t"))] if bare else ""
        key = _LOOSE.sub(lambda piece: _fold(piece[0]), bare)
        found.append(
            _Row(match.start(), indent, match.start() + len(line.rstrip(" \t\u00a0")), match.end(), key)
        )
        if match.end() == len(text):
            break
    return found


def _indented(text: str, old: str) -> list[Place]:
    """Whole lines that are the same but for a shift of all their indentation."""
    wanted, rows = _rows(old), _rows(text)
    keys = [row.key for row in rows]
    first = next((place for place, row in enumerate(wanted) if row.key), None)
    if first is None or len(wanted) > len(rows):
        return []
    ends_line = old.endswith(("\n", "\r"))
    places = []
    for at in range(len(rows) - len(wanted) + 1):
        if keys[at + first] != wanted[first].key:
            continue
        if any(keys[at + k] != row.key for k, row in enumerate(wanted)):
            continue
        here = rows[at : at + len(wanted)]
        pairs = [(row.indent, there.indent) for row, there in zip(wanted, here, strict=True) if row.key]
        shift = _shift(pairs)
        if shift is None:
            continue
        end = here[-1].end if ends_line else here[-1].content_end
        places.append(
            Place(here[0].start, end, _fitter(shift, drop_last=ends_line and end == here[-1].content_end))
        )
    return places


def _fitter(shift: Callable[[str], str | None], *, drop_last: bool) -> Callable[[str], str | None]:
    """Applies an indentation shift to every line of a new text; None when a line cannot be shifted.

    `drop_last`: the place is at the end of a file without a final line break, and stays so.
    """

    def fit(new: str) -> str | None:
        lines = new.replace("\r\n", "\n").split("\n")
        for number, line in enumerate(lines):
            bare = line.lstrip(" \t")
            if bare:
                indent = shift(line[: len(line) - len(bare)])
                if indent is None:
                    return None
                lines[number] = indent + bare
        if drop_last and lines[-1] == "":
            lines.pop()
        return "\n".join(lines)

    return fit


def _shift(pairs: list[tuple[str, str]]) -> Callable[[str], str | None] | None:
    """The one rule that turns every given indentation into the one found, if there is one."""
    given, found = pairs[0]
    if found.endswith(given):
        more = found[: len(found) - len(given)]
        if all(there == more + here for here, there in pairs):
            return lambda indent: more + indent
    if given.endswith(found):
        less = given[: len(given) - len(found)]
        if all(here == less + there for here, there in pairs):
            return lambda indent: indent[len(less) :] if indent.startswith(less) else None
    for unit in (4, 2, 8, 3):
        rule = _tabs_for_blanks(pairs, unit) or _blanks_for_tabs(pairs, unit)
        if rule:
            return rule
    return None


def _tabs_for_blanks(pairs: list[tuple[str, str]], unit: int) -> Callable[[str], str | None] | None:
    """The call has blanks where the file has tabs."""
    if any(here.strip(" ") or there.strip("\t") or len(here) % unit for here, there in pairs):
        return None
    steps = {len(there) - len(here) // unit for here, there in pairs}
    if len(steps) != 1:
        return None
    step = steps.pop()

    def rule(indent: str) -> str | None:
        depth = len(indent) // unit + step
        return None if indent.strip(" ") or depth < 0 else "\t" * depth + " " * (len(indent) % unit)

    return rule


def _blanks_for_tabs(pairs: list[tuple[str, str]], unit: int) -> Callable[[str], str | None] | None:
    """The call has tabs where the file has blanks."""
    if any(here.strip("\t") or there.strip(" ") or len(there) % unit for here, there in pairs):
        return None
    steps = {len(there) // unit - len(here) for here, there in pairs}
    if len(steps) != 1:
        return None
    step = steps.pop()

    def rule(indent: str) -> str | None:
        depth = len(indent) + step
        return None if indent.strip("\t") or depth < 0 else " " * (unit * depth)

    return rule


def _words(line: str) -> set[str]:
    return set(re.findall(r"\w+|[^\w\s]", line.casefold()))
