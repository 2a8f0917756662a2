"""Making untrusted text safe to show, for every front end.

Text from models, tools, files and servers may hold bytes that drive a terminal: move the cursor, set
titles, write the clipboard, hide what follows.  Everything shown passes through `safe`, what a person is
asked to approve through `shown`.  Knows no terminal and no screen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_SEQUENCE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # control sequences
    "|\x1b[\\]PX^_].*?(?:\x07|\x1b\\\\|$)"  # strings: titles, clipboard, device control
    "|\x1b[ -/]*[0-~]?",  # everything else that begins with escape
    re.DOTALL,
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HIDDEN = re.compile(
    "[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)

_PICTURED = re.compile("[\u00a9\u00ae\u2122\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
_JOINING = re.compile("[\u0600-\u07ff\u0860-\u0dff\u1800-\u18af\ufb50-\ufdff\ufe70-\ufefc]")


def safe(text: str) -> str:
    """`text` without terminal sequences and control characters; line feeds and tabs stay.

    Characters that reorder or hide text are shown as escapes; joiners stay where writing needs them.
    """
    return _HIDDEN.sub(_visible, inert(text))


def _visible(match: re.Match[str]) -> str:
    return match[0] if _joins(match.string, match.start()) else f"\\u{{{ord(match[0]):x}}}"


def _joins(text: str, at: int) -> bool:
    """Whether a joiner does what it is for: between two emoji, or between letters of a script that joins.

    As IDNA has it for names (RFC 5892, A.1 and A.2), with all letters of those scripts for its tables.
    """
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if text[at] not in "\u200c\u200d" or not before or not after:
        return False
    if text[at] == "\u200d" and (before == "\ufe0f" or _PICTURED.match(before)):
        return _PICTURED.match(after) is not None
    return unicodedata.combining(before) == 9 or all(_JOINING.match(char) for char in (before, after))


def inert(text: str) -> str:
    """`text` without what drives a terminal, all else kept: for pipes, which often end in one."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROL.sub("", _SEQUENCE.sub("", text.replace("\r\n", "\n")))


def shown(text: str) -> str:
    """`text` with every control character made visible: for what a person is asked to approve."""
    out = []
    for char in text:
        if char in "\n\t" or (char.isprintable() and not _HIDDEN.match(char)):
            out.append(char)
        elif unicodedata.category(char) == "Zs":
            out.append(f"\\u{{{ord(char):x}}}")
        else:
            out.append(f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{{{ord(char):x}}}")
    return "".join(out)


def nearest(wanted: str, known: Iterable[str]) -> str:
    """` (did you mean 'X'?)` for the known name that `wanted` resembles; empty where none does."""
    import difflib  # 3 ms that only a mistake pays

    by_form = {name.casefold().replace("_", "-"): name for name in known}
    found = difflib.get_close_matches(wanted.casefold().replace("_", "-"), by_form, 1, 0.7)
    return f" (did you mean {by_form[found[0]]!r}?)" if found else ""


def one_line(text: str, width: int = 100) -> str:
    """The beginning of `text` on one line of at most `width` characters."""
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= width else flat[: width - 3] + "..."
