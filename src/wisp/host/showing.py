"""Making untrusted text safe to show, for every front end.

Text from models, tools, files and servers may hold bytes that drive a terminal: move the cursor, set
titles, write the clipboard, hide what follows.  Everything shown passes through `safe`, what a person is
asked to approve through `shown`, names on a line through `named`; what they return has a type of its own,
`Shown`, and screens, titles, the clipboard and logs take nothing else.  Knows no terminal and no screen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import NewType

Shown = NewType("Shown", str)
"""Text that a terminal may be given.  Only the functions of this module make it: joining two of them with
`+` or an f-string gives a `str`, which goes through `safe` again (what is safe stays as it is).  At run time
it is a `str`."""

_SEQUENCE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # control sequences
    "|\x1b[\\]PX^_].*?(?:\x07|\x1b\\\\|$)"  # strings: titles, clipboard, device control
    "|\x1b[ -/]*[0-~]?",  # everything else that begins with escape
    re.DOTALL,
)
_STYLE = re.compile("(\x1b\\[[0-9;]*m)")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HIDDEN = re.compile(
    "[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f\ud800-\udfff]"
)
_JOINERS = ("\u200c", "\u200d")
"""Persian, Hindi and others are written with them, and emoji put together."""
_EMPTY = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
"""Letters and marks that look like a space or like nothing."""
_HIDING = re.compile(f"\U0001f3f4[\U000e0030-\U000e007a]{{1,7}}\U000e007f|{_HIDDEN.pattern}")
"""The first is the flag of a region, whole."""
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_PILED = re.compile(f"([{_MARKS}]{{8}})[{_MARKS}]+")
"""More marks over one letter than any script has; they would cover the lines around it."""
_DANGLING = re.compile("[\u200c\u200d\U000e0000-\U000e007f]+$")
"""What a cut leaves of an emoji that is put together."""


def safe(text: str) -> Shown:
    """`text` without terminal sequences and control characters; line feeds and tabs stay.

    Characters that reorder or hide text are shown as escapes, and so are bytes of names that are no text; of
    marks piled on a letter eight stay.
    """
    if text.isprintable():  # which nothing is that drives or hides
        return Shown(text if text.isascii() else _PILED.sub(r"\1", text))
    if text.isascii():
        return inert(text)
    return Shown(_HIDING.sub(_escaped, _PILED.sub(r"\1", inert(text))))


def _escaped(match: re.Match[str]) -> str:
    """What hides or reorders, as an escape; what a script or an emoji is written with stays."""
    found, text = match[0], match.string
    if len(found) > 1:
        return found
    if (
        found in _JOINERS
        and _joins(text[match.start() - 1 : match.start()])
        and _joins(text[match.end() : match.end() + 1])
    ):
        return found
    code = ord(found)
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{{{code:x}}}"


def _joins(neighbour: str) -> bool:
    """Whether a joiner may stand beside this: a letter or mark beyond ASCII, an emoji, or nothing yet."""
    return not neighbour or (not neighbour.isascii() and unicodedata.category(neighbour)[0] in "LMS")


def inert(text: str) -> Shown:
    """`text` without what drives a terminal, all else kept: for pipes, which often end in one.

    What would be written over an earlier part of its line stands on the next one.
    """
    if _CONTROL.search(text) is None:
        return Shown(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return Shown(_CONTROL.sub("", _SEQUENCE.sub("", lines)))


def shown(text: str) -> Shown:
    """`text` with every control character made visible: for what a person is asked to approve."""
    out = []
    for char in _PILED.sub(_counted, text):
        if char in "\n\t" or (char.isprintable() and not _HIDDEN.match(char)):
            out.append(char)
        elif unicodedata.category(char) == "Zs":
            out.append(f"\\u{{{ord(char):x}}}")
        else:
            out.append(f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{{{ord(char):x}}}")
    return Shown(_EMPTY.sub(_seen, "".join(out)))


def _counted(match: re.Match[str]) -> str:
    """The marks that fit over a letter, and the others as escapes beside it."""
    return match[1] + "".join(f"\\u{{{ord(mark):x}}}" for mark in match[0][8:])


def named(text: str) -> Shown:
    """The whole of a name on one line: files, branches and servers may be called anything."""
    return Shown(shown(text).replace("\n", "\\x0a").replace("\t", "\\x09"))


def nearest(wanted: str, known: Iterable[str]) -> str:
    """` (did you mean 'X'?)` for the known name that `wanted` resembles; empty where none does."""
    import difflib  # 3 ms that only a mistake pays

    by_form = {name.casefold().replace("_", "-"): name for name in known}
    found = difflib.get_close_matches(wanted.casefold().replace("_", "-"), by_form, 1, 0.7)
    return f" (did you mean {by_form[found[0]]!r}?)" if found else ""


def one_line(text: str, width: int = 100) -> Shown:
    """The beginning of `text` on one line of at most `width` characters."""
    whole = flat(text)
    return whole if len(whole) <= width else Shown(_cut(whole, width - 3) + "...")


def flat(text: str) -> Shown:
    """All of `text` on one line, for a sentence that names things: no name makes a second one."""
    return Shown(" ".join(safe(text).split()))


def cut_off(text: str, mark: str = "…") -> Shown:
    """What is left of a text that was `Shown` and is cut at its end, with a mark there."""
    return safe(_DANGLING.sub("", text.rstrip()) + mark)


def cells(text: str) -> Shown:
    """`text` with a sign for each character that drives, hides or reorders: as many characters as before."""
    if text.isascii() and text.isprintable():
        return Shown(text)
    return Shown(_HIDING.sub(_signed, _PILED.sub(_signed, _CONTROL.sub("\ufffd", text))))


def _signed(match: re.Match[str]) -> str:
    found = match[0]
    if match.re is _PILED:
        return match[1] + "\ufffd" * (len(found) - len(match[1]))
    return found if found == _escaped(match) else "\ufffd" * len(found)


def beginning(text: Shown, most: int) -> Shown:
    """The first `most` characters of `text`, or one emoji less."""
    return Shown(_cut(text, most))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else _DANGLING.sub("", text[:most])


def lines(text: Shown) -> list[Shown]:
    """The lines of `text`, empty ones at its end left out."""
    return [Shown(line) for line in text.rstrip("\n").split("\n")]


def trimmed(text: Shown) -> Shown:
    """`text` without space at its end."""
    return Shown(text.rstrip())


def coloured(text: str) -> Shown:
    """What is `Shown`, with styles of our own in it (SGR of ECMA-48), which stay.

    Nothing else that drives a terminal does; but of text that was not made safe before, its own styles would.
    """
    parts = _STYLE.split(text)
    return Shown("".join(part if at % 2 else safe(part) for at, part in enumerate(parts)))


def _seen(match: re.Match[str]) -> str:
    """What looks like nothing as an escape; the sign that makes an emoji of a symbol stays behind one."""
    before = match.string[match.start() - 1 : match.start()]
    if match[0] == "\ufe0f" and before and unicodedata.category(before) in ("So", "Sm"):
        return match[0]
    return f"\\u{{{ord(match[0]):x}}}"
