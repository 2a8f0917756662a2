"""Names that look alike: finding the one entry meant by a name that is spelt a little differently.

For reading only.  Knows nothing of what the files hold.
"""

from __future__ import annotations

import os
import re
import unicodedata

from wisp.workspace.errors import Refused
from wisp.workspace.root import Place, Workspace

_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"'})
_MOST = 20_000


def variant(workspace: Workspace, place: Place) -> Place | None:
    """The one existing path that equals `place` but for Unicode form, kinds of spaces and quotes."""
    if place.path.isascii() and "'" not in place.path and " " not in place.path and '"' not in place.path:
        if not _has_odd_names(workspace, place):
            return None
    found: list[str] = []
    for name in place.parts:
        here = Place(place.root, "/".join(found))
        names = _entries(workspace, here)
        if name in names:
            found.append(name)
            continue
        alike = [other for other in names if _same(name, other)]
        if len(alike) != 1:
            return None
        found.append(alike[0])
    return Place(place.root, "/".join(found))


def near(workspace: Workspace, place: Place, most: int = 3) -> list[str]:
    """Names in the same directory that resemble the last part of `place`, best first."""
    if not place.parts:
        return []
    above = Place(place.root, "/".join(place.parts[:-1]))
    wanted = place.parts[-1].casefold()
    import difflib

    names = {name.casefold(): name for name in _entries(workspace, above)[:2000]}
    return [names[name] for name in difflib.get_close_matches(wanted, names, most, 0.6)]


def _has_odd_names(workspace: Workspace, place: Place) -> bool:
    above = Place(place.root, "/".join(place.parts[:-1]))
    return any(not name.isascii() for name in _entries(workspace, above))


def _entries(workspace: Workspace, place: Place) -> list[str]:
    try:
        fd, _ = workspace.open_directory(place)
    except Refused:
        return []
    try:
        with os.scandir(fd) as found:
            return sorted(entry.name for _, entry in zip(range(_MOST), found, strict=False))
    finally:
        os.close(fd)


def _same(one: str, other: str) -> bool:
    return _form(one) == _form(other)


def _form(name: str) -> str:
    return unicodedata.normalize("NFC", _SPACES.sub(" ", name).translate(_QUOTES))
