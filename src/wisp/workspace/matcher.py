"""Line matching without ripgrep: the same patterns, the same lines.

Knows nothing of files or walks.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

from wisp.workspace.errors import Refused
from wisp.workspace.ripgrep import Line
from wisp.workspace.text import form_of

_INVALID = re.compile("[\udc80-\udcff]+")
_UNSUPPORTED = re.compile(r"\(\?(?:[=!]|<[=!])|\(\?P=|(?<!\\)(?:\\\\)*\\[1-9]")
_POSIX = {
    "[:alpha:]": "A-Za-z", "[:digit:]": "0-9", "[:alnum:]": "A-Za-z0-9", "[:upper:]": "A-Z",
    "[:lower:]": "a-z", "[:space:]": r"\s", "[:word:]": r"\w", "[:xdigit:]": "0-9A-Fa-f",
    "[:punct:]": r"!-/:-@\[-`{-~", "[:blank:]": r" \t", "[:cntrl:]": r"\x00-\x1f\x7f",
}  # fmt: skip


class Matcher:
    """One pattern, compiled.

    Raises:
        Refused: `invalid_pattern`.
    """

    def __init__(self, pattern: str, *, ignore_case: bool, literal: bool) -> None:
        flags = re.IGNORECASE if ignore_case else 0
        self._needle = pattern.encode() if literal and not ignore_case else b""
        if literal:
            pattern = re.escape(pattern)
        else:
            if _UNSUPPORTED.search(pattern):
                raise Refused(
                    "invalid_pattern",
                    "look-around and backreferences are not supported; use a plainer pattern",
                )
            for name, items in _POSIX.items():
                pattern = pattern.replace(name, items)
            pattern = pattern.replace("(?<", "(?P<").replace(r"\z", r"\Z")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._pattern = re.compile(pattern, flags)
                explosive = not literal and _explosive(re._parser.parse(pattern, flags))  # type: ignore[attr-defined]
        except (re.error, OverflowError, RecursionError) as exc:
            raise Refused("invalid_pattern", f"the pattern cannot be searched for: {exc}") from None
        if explosive:
            raise Refused(
                "invalid_pattern",
                "without ripgrep, a repetition inside a repetition is refused: it may never end",
            )

    def lines(self, data: bytes, path: bytes, context: int, most: int) -> list[Line]:
        """Matching lines with their context; nothing for binary data; at most `most` matches."""
        data = _as_utf8(data)
        if b"\0" in data or (self._needle and self._needle not in data):
            return []
        rows = data.split(b"\n")
        if rows and not rows[-1]:
            rows.pop()
        spans: dict[int, tuple[int, int]] = {}
        for number, row in enumerate(rows):
            span = self._span(row.removesuffix(b"\r"))
            if span:
                spans[number] = span
                if len(spans) >= most:
                    break
        return [
            Line(path, n + 1, rows[n], *spans.get(n, (-1, 0))) for n in _wanted(spans, context, len(rows))
        ]

    def _span(self, row: bytes) -> tuple[int, int] | None:
        if self._needle:
            at = row.find(self._needle)
            return None if at < 0 else (at, at + len(self._needle))
        text = row.decode("utf-8", "surrogateescape")
        match = self._pattern.search(text)
        if match and _INVALID.search(text):
            match = self._among_invalid(text)
        if not match:
            return None
        start = len(text[: match.start()].encode("utf-8", "surrogateescape"))
        return start, start + len(match[0].encode("utf-8", "surrogateescape"))

    def _among_invalid(self, text: str) -> re.Match[str] | None:
        """In a line with bytes that are no UTF-8: no part of a pattern ever matches such a byte."""
        start = 0
        for bad in [*_INVALID.finditer(text), None]:
            end = bad.start() if bad else len(text)
            match = self._pattern.search(text, start, end) if end > start or not bad else None
            if match and self._pattern.match(text, match.start()):
                return match
            start = bad.end() if bad else end
        return None


def _explosive(parsed: Any, *, repeated: bool = False) -> bool:
    """Whether an unbounded repetition stands inside another: what Python's engine may try for ever."""
    if hasattr(parsed, "getwidth"):
        return any(_explosive(item, repeated=repeated) for item in parsed)
    if not isinstance(parsed, list | tuple):
        return False
    if len(parsed) == 2 and str(parsed[0]) in ("MAX_REPEAT", "MIN_REPEAT"):
        unbounded = int(parsed[1][1]) > 1000
        return (unbounded and repeated) or _explosive(parsed[1], repeated=repeated or unbounded)
    return any(_explosive(item, repeated=repeated) for item in parsed)


def _wanted(spans: dict[int, tuple[int, int]], context: int, rows: int) -> list[int]:
    wanted: set[int] = set()
    for number in spans:
        wanted.update(range(max(0, number - context), min(rows, number + context + 1)))
    return sorted(wanted)


def _as_utf8(data: bytes) -> bytes:
    """Marked texts as ripgrep sees them: without the mark, UTF-16 read as such."""
    form = form_of(data)
    if not form.mark:
        return data
    data = data[len(form.mark) :]
    if form.encoding.startswith("utf-16"):
        return data.decode(form.encoding, "replace").encode()
    return data
