"""A unified diff as coloured lines with line numbers and the changed words marked.  Pure."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from rich.style import Style
from textual.strip import Strip

from wisp.frontends.tui.lines import Line, Segment, Text, console, fitted, restyled, space, wrapped
from wisp.frontends.tui.look import Look
from wisp.host.showing import Shown, safe
from wisp.host.showing import lines as shown_lines

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
LONGEST_COMPARED = 400
"""Characters of a line whose words are still compared with those of the line it replaces."""


def is_diff(text: str) -> bool:
    """Whether `text` is a unified diff."""
    return _HUNK.search(text) is not None and ("--- " in text or "+++ " in text)


def diff_lines(text: Shown, width: int, look: Look, *, most: int = 0, indent: int = 0) -> list[Strip]:
    """The lines of a diff, the header left out where it names one file.

    Args:
        most: lines shown at most, both ends; 0 for all.
        indent: empty cells on the left.
    """
    rows = list(_rows(text, look))
    if most and len(rows) > most:
        head = most * 2 // 3
        left_out = safe(f"… {len(rows) - most} more lines")
        note = (" ", Text(left_out, look.style("dim")), look.style())
        rows = [*rows[:head], note, *rows[len(rows) - (most - head) :]]
    digits = max((len(number) for number, _, _ in rows), default=1)
    base, strips = look.style(), []
    for number, line, style in rows:
        lead = Segment(safe(f"{' ' * indent}{number:>{digits}} "), look.style("dim"))
        for at, part in enumerate(wrapped(line, max(1, width - indent - digits - 1))):
            front = lead if at == 0 else space(indent + digits + 1, base)
            strips.append(_filled([front], part, style, width))
    return strips


def _filled(front: list[Segment], part: Line, style: Style, width: int) -> Strip:
    """A line whose ground reaches the right edge."""
    body = [restyled(s, style + s.style if s.style else style) for s in part.render(console(), end="")]
    strip = fitted([*front, *body], sum(s.cell_length for s in [*front, *body]), style)
    return strip.adjust_cell_length(width, style)


def _rows(text: Shown, look: Look) -> list[tuple[str, Text, Style]]:
    """Number, words and ground of each row.  A hunk's own counts say where it ends."""
    rows: list[tuple[str, Text, Style]] = []
    lines = shown_lines(text)
    files = sum(bool(_HUNK.match(line)) and lines[at - 1].startswith("+++ ") for at, line in enumerate(lines))
    old = new = left = right = at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if left <= 0 and right <= 0:
            if hunk := _HUNK.match(line):
                if rows and not lines[at - 2].startswith("+++ "):
                    rows.append(("", Text(safe("⋯"), look.style("dim")), look.style()))
                old, new = int(hunk[1]), int(hunk[3])
                left, right = int(hunk[2] or 1), int(hunk[4] or 1)
            elif files > 1 and line.startswith("+++ "):
                rows.append(("", Text(safe(line[4:]), look.style("accent", bold=True)), look.style()))
            elif line.startswith("\\"):
                rows.append(("", Text(line, look.style("dim")), look.style()))
        elif line.startswith(("-", "+")):
            gone = _run(lines, at - 1, "-", left)
            come = _run(lines, at - 1 + len(gone), "+", right)
            rows += _changed(gone, come, old, new, look)
            old, left = old + len(gone), left - len(gone)
            new, right, at = new + len(come), right - len(come), at - 1 + len(gone) + len(come)
            if not gone and not come:  # more of a kind than the hunk's head says
                left = right = 0
        elif line.startswith("\\"):
            rows.append(("", Text(line, look.style("dim")), look.style()))
        else:
            rows.append((str(new), Text(safe("  " + line[1:])), look.style("dim")))
            old, new, left, right = old + 1, new + 1, left - 1, right - 1
    return rows


def _run(lines: list[Shown], at: int, mark: str, most: int) -> list[Shown]:
    end = at
    while end < min(len(lines), at + max(0, most)) and lines[end].startswith(mark):
        end += 1
    return [safe(line[1:]) for line in lines[at:end]]


def _changed(
    gone: list[Shown], come: list[Shown], old: int, new: int, look: Look
) -> list[tuple[str, Text, Style]]:
    removed, added = look.style(on="removed"), look.style(on="added")
    left = [Text(safe("- " + line)) for line in gone]
    right = [Text(safe("+ " + line)) for line in come]
    if len(gone) == len(come):
        for a, b, before, after in zip(left, right, gone, come, strict=True):
            _mark_words(a, b, before, after, look)
    return [
        *((str(old + n), line, removed) for n, line in enumerate(left)),
        *((str(new + n), line, added) for n, line in enumerate(right)),
    ]


def _mark_words(left: Text, right: Text, before: str, after: str, look: Look) -> None:
    """Mark what differs between a line and the one that replaces it, where most stayed."""
    if max(len(before), len(after)) > LONGEST_COMPARED:
        return
    a, b = _WORDS.findall(before), _WORDS.findall(after)
    match = SequenceMatcher(None, a, b, autojunk=False)
    if match.ratio() < 0.4:
        return
    for what, i1, i2, j1, j2 in match.get_opcodes():
        if what == "equal":
            continue
        start, end = len("".join(a[:i1])), len("".join(a[:i2]))
        left.stylize(Style(bgcolor=look.removed_word), 2 + start, 2 + end)
        start, end = len("".join(b[:j1])), len("".join(b[:j2]))
        right.stylize(Style(bgcolor=look.added_word), 2 + start, 2 + end)
