"""An answer in Markdown as it arrives, made readable for a terminal: what was printed never changes.

Headings, emphasis, code, links and tables become styles; a piece is held back only until it is known what it
is: a mark until it is closed or its line ends, a table until its last row.  Each piece leaves the terminal's
style as it found it.  Knows no stream.
"""

from __future__ import annotations

import re
import unicodedata

from wisp.host.showing import Shown, coloured

BOLD, DIM, ITALIC, UNDERLINE, STRUCK, CODE = "1", "2", "3", "4", "9", "36"
HOLD = 400
"""Characters that an open mark may hold back before it is taken for itself."""

_UNDECIDED = re.compile(r"[ \t]*(?:[-*_+][-*_+ \t]*|\d{1,9}[.)]?|`{1,}|~{1,}|#{1,6}|>?)[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(?P<info>.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_DIVIDER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_LINK = re.compile(
    r"!?\[([^\[\]\n]*)\]\(<?([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?(?:[ \t]+\"[^\"\n]*\")?\)"
)
_LINK_BEGUN = re.compile(r"!|!?\[[^\[\]\n]*(?:\](?:\([^)\n]*(?:\([^)\n]*\)[^)\n]*)*)?)?")
_PLAIN = re.compile(r"[^\\`*_~\[!]+")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_MARKS = {
    "*": (ITALIC,), "**": (BOLD,), "***": (BOLD, ITALIC), "_": (ITALIC,), "__": (BOLD,),
    "___": (BOLD, ITALIC), "~~": (STRUCK,),
}  # fmt: skip


class Flow:
    """One message.

    Args:
        width: columns of the terminal; a table that is wider stays as it was written.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._line = ""
        """The line that is not whole yet."""
        self._done = 0
        """Characters of it that are printed."""
        self._base: tuple[str, ...] | None = None
        """The styles of that line; None while its kind is not known."""
        self._fence = ""
        self._table: list[str] = []

    def feed(self, text: Shown) -> Shown:
        """Take the next piece; what can be printed now."""
        out: list[str] = []
        *whole, rest = (self._line + text).split("\n")
        for line in whole:
            out.append(self._whole(line))
            self._line, self._done, self._base = "", 0, None
        self._line = rest
        out.append(self._part(rest, whole=False))
        return coloured("".join(out))

    def close(self) -> Shown:
        """The message is over; what was held back."""
        out = self._whole(self._line, end="") if self._line else self._flush_table()
        if self._table:
            out += self._flush_table()
        self._line, self._done, self._base, self._fence = "", 0, None, ""
        return coloured(out)

    # -- lines --------------------------------------------------------------------------------------------

    def _whole(self, line: str, end: str = "\n") -> str:
        if not self._fence and not self._done and line.lstrip().startswith("|"):
            self._table.append(line)
            return ""
        return self._part(line, whole=True) + end

    def _part(self, line: str, *, whole: bool) -> str:
        """What of the current line can be printed now."""
        out = ""
        if self._base is None:
            if not whole and (_UNDECIDED.fullmatch(line) or self._may_hold(line)):
                return ""
            out = self._flush_table()
            begin, self._base = self._kind(line, whole)
            self._done = len(line) if self._base == () and begin else self._done
            out += begin
        if self._fence and self._done < len(line):
            out += _styled(line[self._done :], (CODE,))
            self._done = len(line)
        elif self._done < len(line):
            shown, taken = _inline(line[self._done :], self._base, line[: self._done][-1:], whole=whole)
            out += shown
            self._done += taken
        return out

    def _may_hold(self, line: str) -> bool:
        """Whether the line's kind shows only at its end: fences and rows of tables."""
        begun = line.lstrip()
        if self._fence:
            return begun.startswith(self._fence[:1]) and not begun.strip(self._fence[0] + " \t")
        return begun.startswith(("|", "```", "~~~"))

    def _kind(self, line: str, whole: bool) -> tuple[str, tuple[str, ...]]:
        """What to print in the place of the line's mark, and its styles.  A mark that is all is `()`."""
        fence = _FENCE.fullmatch(line) if whole else None
        if self._fence:
            if fence and fence[1].startswith(self._fence) and not fence["info"].strip():
                self._fence = ""
                return _styled(line, (DIM,)), ()
            return "", (CODE,)
        if fence and not (fence[1][0] == "`" and "`" in fence["info"]):
            self._fence = fence[1]
            return _styled(line, (DIM,)), ()
        if whole and _RULE.fullmatch(line):
            return _styled(line, (DIM,)), ()
        if found := _HEADING.match(line):
            self._done = found.end()
            return "", (BOLD, UNDERLINE) if len(found[1]) < 3 else (BOLD,)
        if (found := _ITEM.match(line)) or (found := _QUOTE.match(line)):
            self._done = found.end()
            return _styled(found[0], (DIM,)), (DIM,) if ">" in found[0] else ("",)
        return "", ("",)

    # -- tables -------------------------------------------------------------------------------------------

    def _flush_table(self) -> str:
        rows, self._table = self._table, []
        if not rows:
            return ""
        raw = "".join(_inline(row, ("",), "", whole=True)[0] + "\n" for row in rows)
        if len(rows) < 2 or not _DIVIDER.fullmatch(rows[1]):
            return raw
        cells = [_cells(row) for number, row in enumerate(rows) if number != 1]
        count = max(map(len, cells))
        cells = [[*row, *[""] * (count - len(row))] for row in cells]
        shown = [
            [_inline(cell, (BOLD,) if n == 0 else ("",), "", whole=True)[0] for cell in row]
            for n, row in enumerate(cells)
        ]
        widths = [max(_columns(row[place]) for row in shown) for place in range(count)]
        if sum(widths) + 3 * (count - 1) > self._width:
            return raw
        between, lines = _styled(" │ ", (DIM,)), []
        for row in shown:
            padded = [text + " " * (widths[place] - _columns(text)) for place, text in enumerate(row)]
            lines.append(between.join(padded).rstrip() + "\n")
        lines.insert(1, _styled("─┼─".join("─" * width for width in widths), (DIM,)) + "\n")
        return "".join(lines)


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


# -- inside a line ----------------------------------------------------------------------------------------


def _inline(text: str, base: tuple[str, ...], before: str, *, whole: bool) -> tuple[str, int]:
    """`(what to print, how many characters of it were taken)`; the rest waits for its mark to be closed."""
    out: list[str] = []
    place = 0
    while place < len(text):
        if plain := _PLAIN.match(text, place):
            out.append(_styled(plain[0], base))
            place = plain.end()
            continue
        last = text[place - 1] if place else before
        found = _marked(text, place, base, last, whole=whole)
        if found is None and not whole and len(text) - place <= HOLD and _waits(text, place, last):
            break
        if found is None:
            run = _run(text, place)
            found = _styled(run, base), place + len(run)
        out.append(found[0])
        place = found[1]
    return "".join(out), place


def _marked(
    text: str, place: int, base: tuple[str, ...], before: str, *, whole: bool
) -> tuple[str, int] | None:
    """What begins at `place`, printed, and where it ends; None where it is not closed yet or no mark."""
    char = text[place]
    if char == "\\":
        following = text[place + 1 : place + 2]
        return (_styled(following, base), place + 2) if following and following in _PUNCTUATION else None
    if char in "[!":
        link = _LINK.match(text, place)
        if link is None:
            return None
        words = _inline(link[1], (*base, UNDERLINE), "", whole=True)[0]
        where = "" if link[2] in ("", link[1]) else _styled(f" ({link[2]})", (DIM,))
        return words + where, link.end()
    mark = _run(text, place)
    if char != "`" and (mark not in _MARKS or not _opens(text, place, mark, before)):
        return None
    begin = end = place + len(mark)
    while (end := text.find(char, end)) > 0:
        run = _run(text, end)
        after = end + len(run)
        if after == len(text) and not whole:
            return None  # more of the same may follow
        if run == mark and (char == "`" or _closes(text, end, mark, begin)):
            inner = text[begin:end]
            if char == "`":
                stripped = inner[1:-1] if inner[0] == inner[-1] == " " and inner.strip() else inner
                return _styled(stripped, (*base, CODE)), after
            return _inline(inner, (*base, *_MARKS[mark]), mark, whole=True)[0], after
        end = after
    return None


def _run(text: str, place: int) -> str:
    """The same mark as often as it is repeated there."""
    end = place + 1
    if text[place] in "`*_~":
        while end < len(text) and text[end] == text[place]:
            end += 1
    return text[place:end]


def _opens(text: str, place: int, mark: str, before: str) -> bool:
    after = text[place + len(mark) : place + len(mark) + 1]
    return bool(after) and not after.isspace() and not (mark[0] == "_" and before.isalnum())


def _closes(text: str, place: int, mark: str, begin: int) -> bool:
    after = text[place + len(mark) : place + len(mark) + 1]
    before = text[place - 1]
    intraword = mark[0] == "_" and after.isalnum()
    return place > begin and not before.isspace() and before != "\\" and not intraword


def _waits(text: str, place: int, before: str) -> bool:
    """Whether what begins at `place` may yet become a mark."""
    char = text[place]
    if char == "\\":
        return place + 1 == len(text)
    if char in "[!":
        return _LINK_BEGUN.fullmatch(text, place) is not None
    mark = _run(text, place)
    if char == "`" or place + len(mark) == len(text):
        return True
    return mark in _MARKS and _opens(text, place, mark, before)


def _styled(text: str, codes: tuple[str, ...]) -> str:
    named = ";".join(code for code in codes if code)
    return f"\x1b[{named}m{text}\x1b[0m" if named and text else text


def _columns(text: str) -> int:
    """How many columns `text` takes, styles left out."""
    bare = re.sub("\x1b\\[[0-9;]*m", "", text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in bare)
