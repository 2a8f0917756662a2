"""Reading a shell line conservatively, for rules.  What is not plainly simple is not understood.

For an allow rule only a single program with plain words counts.  For a deny rule the line is taken
apart generously, so that hiding a denied program takes more than quotes or a wrapper; a deny rule is a
reminder to an honest model, not a boundary.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@%+-]+(?: +[A-Za-z0-9_./:=,@%+-]+)*")
_SPLIT = re.compile(r"[;&|\n\r(){}`<>!]|\$\(")
_NOISE = re.compile(r"[\"'\\]")

_RUNNERS = (
    "bash sh zsh fish dash ksh env sudo doas su xargs nohup setsid nice timeout time command exec eval "
    "source python python3 perl ruby node lua awk gawk ssh find tee"
)
_NEVER_BY_RULE = frozenset(_RUNNERS.split())
"""Programs that run other programs, or any code in their arguments: a rule for them must name every word."""


def plain_words(command: str) -> list[str] | None:
    """The words of a line that is one program with plain arguments; None for anything else.

    An assignment before the program is not plain: it changes what the program does.
    """
    text = command.strip(" ")
    if not _PLAIN.fullmatch(text):
        return None
    words = text.split()
    return None if "=" in words[0] else words


def allowed_by(pattern: str, command: str) -> bool:
    """Whether an allow rule's `pattern` covers the whole of `command`.

    `*` stands for one word, a final `**` for any further words.  A program that can run others must be
    spelled out word by word.
    """
    words, wanted = plain_words(command), pattern.split()
    if words is None or not wanted:
        return False
    if wanted[0].rsplit("/", 1)[-1] in _NEVER_BY_RULE and any("*" in word for word in wanted):
        return False
    return _matches(wanted, words)


def denied_by(pattern: str, command: str) -> bool:
    """Whether a deny rule's `pattern` is found anywhere in `command`, quotes, paths and wrappers aside."""
    wanted = pattern.split()
    if not wanted:
        return False
    open_ended = wanted if wanted[-1] == "**" else [*wanted, "**"]
    for piece in _SPLIT.split(_NOISE.sub("", command)):
        words = piece.split()
        for start in range(len(words)):
            rest = words[start:]
            if _matches(open_ended, [rest[0].rsplit("/", 1)[-1], *rest[1:]]) or _matches(open_ended, rest):
                return True
    return False


def _matches(wanted: list[str], words: list[str]) -> bool:
    if wanted[-1] == "**":
        head = wanted[:-1]
        return len(words) >= len(head) and all(map(_word, head, words))
    return len(words) == len(wanted) and all(map(_word, wanted, words))


def _word(pattern: str, word: str) -> bool:
    return pattern in ("*", "**") or pattern == word
