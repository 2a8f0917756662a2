"""What edits make of a file's bytes: every place found in the original, everything outside them untouched.

Reads and writes no file.  Loaded by the first edit, not at start.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from wisp.messages.tool import ToolFailure, ToolOutcome, plain
from wisp.tools.diff import Diff, Span, unified
from wisp.tools.match import MAX_PLACES, Found, Place, line_of, locate, nearest
from wisp.tools.parts import kept
from wisp.tools.render import plural
from wisp.workspace import files, text
from wisp.workspace.errors import Refused

if TYPE_CHECKING:
    from wisp.tools.edit import Change

_BREAK = re.compile("\r\n|\n")


class Plan(NamedTuple):
    """What a file will become."""

    pieces: files.Pieces
    """The new bytes: slices of `before`, and the replacements between them."""
    diff: Diff
    spans: int
    how: set[str]
    before: bytes
    decoded: text.Decoded
    made: list[Span]
    label: str
    """The file's path in the header of `diff`."""

    @property
    def data(self) -> bytes:
        """The new bytes in one."""
        return b"".join(self.pieces)

    def only(self, chosen: frozenset[int]) -> Plan:
        """What the file becomes with these hunks of `diff` alone, counted from 0."""
        made = kept(self.decoded.text, self.made, chosen)
        pieces = _pieces(self.before, self.decoded, made)
        diff = _diff(self.decoded, made, self.label)
        return self._replace(pieces=pieces, diff=diff, spans=len(made), made=made)


def plan_edits(
    data: bytes, edits: list[Change], name: str, fallbacks: tuple[str, ...], label: str = ""
) -> Plan:
    """What `edits` make of a file's bytes.

    Args:
        name: as it shall stand in sentences.
        label: as it shall stand in the diff; `name` unless given.

    Raises:
        ToolFailure: `not_found`, `not_unique`, `overlapping`, `no_change`, `binary`, `unencodable`,
            `invalid_arguments`.
    """
    if not edits:
        raise ToolFailure("invalid_arguments", "edit: edits is empty")
    try:
        decoded = text.decode(data, fallbacks)
    except Refused as exc:
        raise ToolFailure(exc.code, f"{name} cannot be edited: {exc.message}; use bash") from None
    spans: list[tuple[Span, int]] = []
    how: set[str] = set()
    for number, edit in enumerate(edits, 1):
        found = _find(decoded.text, edit, number, name)
        how.add(found.how)
        for place in found.places:
            spans.append((_span(decoded.text, place, edit, found.how, number, name), number))
    spans.sort(key=lambda item: (item[0].start, item[0].end))
    for (one, a), (other, b) in pairwise(spans):
        if other.start < one.end:
            raise ToolFailure(
                "overlapping",
                f"edits {a} and {b} overlap in {name} (line {line_of(decoded.text, other.start)}); "
                "merge them into one edit",
            )
    ordered = [span for span, _ in spans]
    pieces = _pieces(data, decoded, ordered)
    if all(span.new == decoded.text[span.start : span.end] for span in ordered) or (
        len(ordered) > 1 and sum(map(len, pieces)) == len(data) and b"".join(pieces) == data
    ):
        raise ToolFailure("no_change", f"the edits would leave {name} as it is; nothing was written")
    label = label or name
    diff = _diff(decoded, ordered, label)
    return Plan(pieces, diff, len(ordered), how, data, decoded, ordered, label)


def _diff(decoded: text.Decoded, spans: list[Span], label: str) -> Diff:
    lead = text.lead(decoded.form)
    moved = [Span(one.start + len(lead), one.end + len(lead), one.new) for one in spans]
    return unified(lead + decoded.text, moved, label)


def _find(content: str, edit: Change, number: int, name: str) -> Found:
    """The one place (or, with `replace_all`, all places apart) of one edit."""
    if not edit.old_text.strip():
        raise ToolFailure(
            "invalid_arguments",
            f"old_text of edit {number} is {'only white space' if edit.old_text else 'empty'}; "
            "give the text to be replaced",
        )
    if edit.old_text == edit.new_text:
        raise ToolFailure("no_change", f"old_text and new_text of edit {number} are the same")
    found = locate(content, edit.old_text)
    if not found.places:
        raise ToolFailure("not_found", _missing(content, edit, number, name))
    many = len(found.places) > MAX_PLACES
    if edit.replace_all and many:
        raise ToolFailure(
            "too_large",
            f"old_text of edit {number} occurs more than {MAX_PLACES:,} times in {name}; nothing changed; "
            "give more text, or replace it with a command",
        )
    if edit.replace_all:
        apart: list[Place] = []
        for place in found.places:
            if not apart or place.start >= apart[-1].end:
                apart.append(place)
        return Found(apart, found.how)
    if len(found.places) > 1:
        lines = [str(line_of(content, place.start)) for place in found.places[:10]]
        more = ", ..." if len(found.places) > 10 else ""
        count = f"more than {MAX_PLACES:,}" if many else f"{len(found.places)}"
        raise ToolFailure(
            "not_unique",
            f"old_text of edit {number} occurs {count} times in {name} "
            f"(lines {', '.join(lines)}{more}); "
            "add lines around it, or set replace_all",
        )
    return found


def _missing(content: str, edit: Change, number: int, name: str) -> str:
    words = f"old_text of edit {number} is not in {name}; nothing was written"
    near = nearest(content, edit.old_text)
    if not near:
        return words + "; read the file and copy the text exactly"
    return words + ". The nearest lines are:\n" + "\n".join(f"  {line}: {shown}" for line, shown in near)


def _span(content: str, place: Place, edit: Change, how: str, number: int, name: str) -> Span:
    """The replacement for one place: literal, but for line breaks and a shift of indentation."""
    new = edit.new_text
    if place.fit:
        fitted = place.fit(new)
        if fitted is None:
            raise ToolFailure(
                "not_found",
                f"old_text of edit {number} is in {name} only with other indentation, which does not fit "
                f"new_text (line {line_of(content, place.start)}); copy the indentation exactly",
            )
        new = fitted
    same_words = _BREAK.sub("\n", edit.old_text) == _BREAK.sub("\n", edit.new_text)
    if how == "exact" and same_words:
        return Span(place.start, place.end, new)
    style = _style(content, place)
    if style:
        new = _BREAK.sub(style, new)
    return Span(place.start, place.end, new)


def _style(content: str, place: Place) -> str:
    """The line break new text gets here: that of the span, else of its line, else of the file."""
    if "\r" not in content:
        return "\n"
    inside = text.newlines_in(content[place.start : place.end]) - {"\r"}
    if len(inside) == 1:
        return inside.pop()
    after = _BREAK.search(content, place.end)
    if after:
        return after[0]
    return text.newline_of(content)


def _pieces(data: bytes, decoded: text.Decoded, spans: list[Span]) -> files.Pieces:
    """Original bytes outside the spans, the encoded replacements inside."""
    ascii_only = decoded.form.encoding == "utf-8" and decoded.text.isascii()

    def width(start: int, end: int) -> int:
        return end - start if ascii_only else len(decoded.text[start:end].encode(decoded.form.encoding))

    pieces: list[bytes | memoryview] = []
    whole = memoryview(data)  # never copied
    index, done = 0, 0
    offset = decoded.offset(0)
    for span in spans:
        offset += width(index, span.start)
        pieces.append(whole[done:offset])
        try:
            pieces.append(text.encode(span.new, decoded.form))
        except Refused as exc:
            raise ToolFailure(exc.code, exc.message) from None
        offset += width(span.start, span.end)
        index, done = span.end, offset
    pieces.append(whole[done:])
    return pieces


def report(name: str, plan: Plan) -> ToolOutcome:
    """What the model is told of one edited file."""
    tolerant = sorted(plan.how - {"exact", "newlines"})
    note = f" [located in spite of different {' and '.join(tolerant)}]" if tolerant else ""
    changed = (
        f"edited {name}: {plural(plan.spans, 'place')}, +{plan.diff.added} -{plan.diff.removed} lines{note}"
    )
    return plain(
        f"{changed}\n{plan.diff.text}",
        diff=plan.diff.text,
        path=name,
        added=plan.diff.added,
        removed=plan.diff.removed,
    )
