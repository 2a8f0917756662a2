"""Unified diffs that `git apply` and GNU patch accept and that give the same bytes.

Edits know what they changed, so nothing is searched for; comparing is kept to what is small.
"""

from __future__ import annotations

from typing import NamedTuple

CONTEXT = 3
MAX_SHOWN = 2_000_000
"""Longest diff given whole, in characters; beyond, both ends and the counts."""
_COMPARE = 1_000_000
"""Most pairs of lines compared one with another."""


class Span(NamedTuple):
    """Characters `start` to `end` of the old text become `new`."""

    start: int
    end: int
    new: str


class Diff(NamedTuple):
    """A change as text and in figures."""

    text: str
    added: int
    removed: int


class _Change(NamedTuple):
    """Whole lines replaced: where, and by what."""

    start: int
    end: int
    line: int
    old: list[str]
    new: list[str]


def parts(old: str, spans: list[Span]) -> list[list[Span]]:
    """The hunks of `unified(old, spans)`, each as the replacements of whole lines that make it up."""
    changes = [part for region in _regions(old, spans) for part in _refine(old, region)]
    return [
        [Span(change.start, change.end, "".join(change.new)) for change in group]
        for group in _groups(old, changes)
    ]


def _groups(old: str, changes: list[_Change]) -> list[list[_Change]]:
    """Changes whose contexts touch stand in one hunk."""
    groups: list[list[_Change]] = []
    for change in changes:
        if groups and _close(old, groups[-1][-1].end, change.start):
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def unified(old: str, spans: list[Span], path: str, *, created: bool = False, deleted: bool = False) -> Diff:
    """The diff of replacing `spans` (in order, apart) in `old`.

    Args:
        path: as it shall stand in the header, relative.
        created: the file did not exist.
        deleted: it does not exist any more; the spans take all of it away.
    """
    changes = [part for region in _regions(old, spans) for part in _refine(old, region)]
    body, delta = [], 0
    for group in _groups(old, changes):
        body.append(_hunk(old, group, delta))
        delta += sum(len(change.new) - len(change.old) for change in group)
    added = sum(len(change.new) for change in changes)
    removed = sum(len(change.old) for change in changes)
    return Diff(_shorten(_header(path, created, deleted, not body) + "".join(body)), added, removed)


def whole(old: str, new: str, path: str, *, created: bool = False, deleted: bool = False) -> Diff:
    """The diff between two texts of which nothing more is known."""
    if old == new and not created and not deleted:
        return Diff("", 0, 0)
    return unified(old, span_of(old, new), path, created=created, deleted=deleted)


def span_of(old: str, new: str) -> list[Span]:
    """The one replacement that makes `new` of `old`; none where they are the same."""
    start = _same_start(old, new)
    end = _same_end(old, new, start)
    return [Span(start, len(old) - end, new[start : len(new) - end])] if old != new else []


def _regions(old: str, spans: list[Span]) -> list[_Change]:
    """Spans widened to whole lines; those that share a line become one."""
    found: list[_Change] = []
    at = 0
    line, counted = 0, 0
    while at < len(spans):
        start = old.rfind("\n", 0, spans[at].start) + 1
        end = done = start
        pieces: list[str] = []
        while at < len(spans) and (not pieces or spans[at].start < end):
            span = spans[at]
            pieces += [old[done : span.start], span.new]
            done = span.end
            whole_lines = (
                span.end > start
                and old[span.end - 1 : span.end] == "\n"
                and (
                    span.new.endswith("\n")
                    or (not span.new and (span.start == 0 or old[span.start - 1] == "\n"))
                )
            )
            end = span.end if whole_lines else _line_end(old, span.end)
            at += 1
        pieces.append(old[done:end])
        line += old.count("\n", counted, start)
        counted = start
        found.append(_Change(start, end, line, _lines(old[start:end]), _lines("".join(pieces))))
    return found


def _refine(old: str, region: _Change) -> list[_Change]:
    """Drop lines that are the same on both sides; compare the rest where that is cheap."""
    before, after = region.old, region.new
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    start = region.start + sum(map(len, region.old[:head]))
    line = region.line + head
    if not before and not after:
        return []
    if not before or not after or len(before) * len(after) > _COMPARE or len(before) == len(after) == 1:
        return [_Change(start, start + sum(map(len, before)), line, before, after)]
    import difflib

    found = []
    offsets = [start]
    for text in before:
        offsets.append(offsets[-1] + len(text))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            found.append(_Change(offsets[a], offsets[b], line + a, before[a:b], after[c:d]))
    return found


def _close(old: str, end: int, start: int) -> bool:
    """Whether the contexts of two changes touch."""
    at = end
    for _ in range(2 * CONTEXT + 1):
        if at >= start:
            return True
        at = _line_end(old, at)
    return False


def _hunk(old: str, group: list[_Change], delta: int) -> str:
    first = group[0]
    before: list[str] = []
    at = first.start
    while len(before) < CONTEXT and at > 0:
        start = old.rfind("\n", 0, at - 1) + 1
        before.insert(0, old[start:at])
        at = start
    rows = [" " + text for text in before]
    count = len(before)
    done = first.start
    for change in group:
        between = _lines(old[done : change.start])
        rows += [" " + text for text in between]
        rows += ["-" + text for text in change.old]
        rows += ["+" + text for text in change.new]
        count += len(between) + len(change.old)
        done = change.end
    for _ in range(CONTEXT):
        end = _line_end(old, done)
        if end == done:
            break
        rows.append(" " + old[done:end])
        count += 1
        done = end
    new_count = count + sum(len(change.new) - len(change.old) for change in group)
    top = first.line - len(before)
    head = f"@@ -{_range(top, count)} +{_range(top + delta, new_count)} @@\n"
    return head + "".join(
        row if row.endswith("\n") else row + "\n\\ No newline at end of file\n" for row in rows
    )


def _range(top: int, count: int) -> str:
    start = top + 1 if count else top
    return str(start) if count == 1 else f"{start},{count}"


def _header(path: str, created: bool, deleted: bool, empty: bool) -> str:
    if empty and (created or deleted):
        names = f"{_name('a/' + path, quote=' ' in path)} {_name('b/' + path, quote=' ' in path)}"
        what, index = ("new", "0000000..e69de29") if created else ("deleted", "e69de29..0000000")
        return f"diff --git {names}\n{what} file mode 100644\nindex {index}\n"
    if empty:
        return ""
    tab = "\t" if " " in path else ""
    old = "/dev/null" if created else _name("a/" + path) + tab
    new = "/dev/null" if deleted else _name("b/" + path) + tab
    return f"--- {old}\n+++ {new}\n"


def _name(path: str, *, quote: bool = False) -> str:
    if not quote and path.isprintable() and '"' not in path and "\\" not in path:
        return path
    quoted = "".join(
        f"\\{chr(byte)}" if byte in b'"\\' else chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"
        for byte in path.encode("utf-8", "surrogateescape")
    )
    return f'"{quoted}"'


def _shorten(text: str) -> str:
    if len(text) <= MAX_SHOWN:
        return text
    half = MAX_SHOWN // 2
    cut = len(text) - 2 * half
    return f"{text[:half]}\n[... {cut:,} characters of this diff are left out ...]\n{text[-half:]}"


def _lines(text: str) -> list[str]:
    found = text.split("\n")
    last = found.pop()
    return [line + "\n" for line in found] + ([last] if last else [])


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _same_start(one: str, other: str) -> int:
    """Length of the common beginning, by halving: comparing slices is fast, single characters are not."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _same_end(one: str, other: str, start: int) -> int:
    """Length of the common end after the first `start` characters."""
    low, high = 0, min(len(one), len(other)) - start
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
