"""Text that cannot be shown truly: what a person would read is not what would run.  Refused in every mode."""

from __future__ import annotations

import re
import unicodedata

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
_HIDDEN = re.compile(
    "[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_OPERATORS = ";|&<>`$()\"'\\"


def unshowable(command: str) -> str:
    """Why `command` must not run as it stands; empty when it can be shown truly.

    Control characters, characters that hide or reorder text, and, outside quotes, look-alikes of shell
    operators and letters of other scripts in a program's name.
    """
    if command.isascii() and not _CONTROL.search(command):
        return ""
    found = _CONTROL.search(command)
    if found:
        return f"it holds the control character U+{ord(found[0]):04X}"
    found = _HIDDEN.search(command)
    if found:
        return f"it holds U+{ord(found[0]):04X}, which hides or reorders text"
    bare = _QUOTED.sub(" ", command)
    for char in bare:
        if not char.isascii() and unicodedata.normalize("NFKC", char) in (*_OPERATORS, ";", "|"):
            return f"it holds U+{ord(char):04X}, which looks like a shell operator and is none"
    for piece in re.split(r"[;&|\n(){}]+", bare):
        words = piece.split()
        if words and not words[0].isascii():
            return f"the program's name {words[0]!r} holds letters that look like others"
    return ""
