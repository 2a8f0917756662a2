"""Where what a person takes for one character begins and ends.  Pure.

Follows UAX #29 as far as a terminal shows it: combining marks, joined emoji, variation selectors, skin tones
and flags stay whole.
"""

from __future__ import annotations

from rich.cells import split_graphemes

_TONES = range(0x1F3FB, 0x1F400)
_FLAGS = range(0x1F1E6, 0x1F200)


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
        if code in _TONES and out:
            continue
        out.append(start)
    return [*out, len(text)]


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
