"""Where what a person takes for one character begins and ends.  Pure.

Follows UAX #29 as far as a terminal shows it: combining marks, joined emoji, variation selectors, skin tones
and flags stay whole.
"""

from __future__ import annotations

import unicodedata

from rich.cells import split_graphemes

_TONES = range(0x1F3FB, 0x1F400)
_FLAGS = range(0x1F1E6, 0x1F200)

_SYLLABLES = frozenset(
    tuple(pair.split())
    for pair in ("L L", "L V", "L LV", "L LVT", "LV V", "LV T", "V V", "V T", "LVT T", "T T")
)


def starts(text: str) -> list[int]:
    """Where each character begins, and the end of the text."""
    out: list[int] = []
    flag_open = False
    for start, _, _ in split_graphemes(text)[0]:
        code = ord(text[start])
        if code in _FLAGS and flag_open:
            flag_open = False
            continue
        flag_open = code in _FLAGS
        if out and (code in _TONES or _continues(text, start)):
            continue
        out.append(start)
    return [*out, len(text)]


def _continues(text: str, at: int) -> bool:
    """Whether a character belongs to the one before it, though it may have a width (GB6 to GB9a)."""
    char = text[at]
    if char in "\u0e33\u0eb3" or unicodedata.category(char) == "Mc":  # spacing marks
        return True
    return (_hangul(text[at - 1]), _hangul(char)) in _SYLLABLES


def _hangul(char: str) -> str:
    """Which part of a Korean syllable a character is; whole ones end in a vowel or not."""
    if "\uac00" <= char <= "\ud7a3":
        return "LVT" if (ord(char) - 0xAC00) % 28 else "LV"
    return (
        ""
        if not "\u1100" <= char <= "\u11ff"
        else "L"
        if char < "\u1160"
        else "V"
        if char < "\u11a8"
        else "T"
    )


def before(text: str, column: int) -> int:
    """Where the character that ends at or holds `column` begins; 0 at the beginning."""
    if text.isascii():
        return max(0, column - 1)
    return max((at for at in starts(text) if at < column), default=0)


def after(text: str, column: int) -> int:
    """Where the character at `column` ends."""
    if text.isascii():
        return min(len(text), column + 1)
    return min((at for at in starts(text) if at > column), default=len(text))
