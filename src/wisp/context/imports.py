"""`@path` in a CLAUDE.md: the named file's text in its place.  Pure; reading is the caller's.

Not inside code, relative to the file that says it, at most five deep, each file once.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

DEEPEST = 5
_IMPORT = re.compile(r"(?:^|(?<=[\s(]))@(?P<path>[^\s`@]*[^\s`@.,;:!?)\]])")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")


def with_imports(text: str, path: str, load: Callable[[str], str | None]) -> tuple[str, tuple[str, ...]]:
    """`text` of the file at `path` with what it imports, and the paths of what was taken in.

    Args:
        path: of the file, from the folder that may not be left, with `/`.
        load: the text of a file by its path from that folder; None leaves the words as they stand.
    """
    taken: dict[str, None] = {path: None}
    whole = _expanded(text, path, load, taken, 0)
    return whole, tuple(taken)[1:]


def _expanded(
    text: str, path: str, load: Callable[[str], str | None], taken: dict[str, None], depth: int
) -> str:
    if depth >= DEEPEST or "@" not in text:
        return text
    folder = posixpath.dirname(path)

    def one(match: re.Match[str]) -> str:
        named = match["path"]
        target = posixpath.normpath(posixpath.join(folder, named))
        if named.startswith(("/", "~")) or target.startswith("..") or target in taken:
            return match[0]
        found = load(target)
        if found is None:
            return match[0]
        taken[target] = None
        return _expanded(found.strip(), target, load, taken, depth + 1)

    return "".join(line if code else _outside_code(line, one) for line, code in _lines(text))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to a block of code."""
    inside = False
    for line in text.splitlines(keepends=True):
        fence = _FENCE.match(line) is not None
        yield line, inside or fence
        inside = inside != fence


def _outside_code(line: str, one: Callable[[re.Match[str]], str]) -> str:
    parts, place = [], 0
    for code in _CODE.finditer(line):
        parts += [_IMPORT.sub(one, line[place : code.start()]), code[0]]
        place = code.end()
    return "".join([*parts, _IMPORT.sub(one, line[place:])])
