"""Which of many names a few typed letters mean: the letters in order, best places first.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def ranked(query: str, names: Sequence[str], most: int = 30) -> list[str]:
    """Names that hold the letters of `query` in order, the likeliest first.

    Case counts once `query` has a capital letter.  Letters that stand together, at the beginning of a word
    or in the last part of a path count more; of equals the earlier one in `names` comes first.
    """
    if not query:
        return list(names[:most])
    flags = 0 if any(char.isupper() for char in query) else re.IGNORECASE
    pattern = re.compile(".*?".join(map(re.escape, query)), flags | re.DOTALL)
    scored = [(-score(query, name, flags), at, name) for at, name in enumerate(names) if pattern.search(name)]
    return [name for _, _, name in sorted(scored)[:most]]


def score(query: str, name: str, flags: int = re.IGNORECASE) -> float:
    """How well `query` fits `name`, whose letters it has in order."""
    last = name.rstrip("/").rfind("/") + 1
    whole = re.compile(re.escape(query), flags)
    if found := whole.search(name, last):
        begins = found.start() == last
        return 100 + 40 * begins + 20 * (begins and found.end() == len(name)) - len(name) / 50
    if found := whole.search(name):
        return 80 + 10 * _boundary(name, found.start()) - len(name) / 50
    return max(_letters(query, name, last, flags), _letters(query, name, 0, flags)) - len(name) / 50


def _letters(query: str, name: str, start: int, flags: int) -> float:
    at, total, before = start, 0.0, -2
    letters, text = (query.lower(), name.lower()) if flags else (query, name)
    for letter in letters:
        found = text.find(letter, at)
        if found < 0:
            return -1000.0
        total += 4 if found == before + 1 else 3 if _boundary(name, found) else 0
        before, at = found, found + 1
    return total + (3 if start else 0)


def _boundary(name: str, at: int) -> bool:
    return at == 0 or name[at - 1] in "/_-. " or (name[at].isupper() and name[at - 1].islower())


def matching(query: str, texts: Iterable[tuple[int, str]]) -> list[int]:
    """Numbers of the texts that hold every word of `query`, in their order; case does not count."""
    words = query.lower().split()
    return [number for number, text in texts if all(word in text.lower() for word in words)]
