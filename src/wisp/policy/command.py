"""Reading a shell line conservatively, for rules.  What is not plainly simple is not understood.

For an allow rule only a single program with plain words counts.  For a deny rule the line is taken
apart generously, so that hiding a denied program takes more than quotes or a wrapper; a deny rule is a
reminder to an honest model, not a boundary.
"""

from __future__ import annotations

import re

from wisp.policy.programs import GIT_PLAIN, reaches, runs_others

_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@%+-]+(?: +[A-Za-z0-9_./:=,@%+-]+)*")
_JOIN = re.compile(r"\\\n|\$(?=[\"'])")
_SPLIT = re.compile(r"[;&|\n\r(){}`<>!]|\$\(")
_NOISE = re.compile(r"[\"'\\]")
LONGEST = 4096
"""Longest command, in characters, that an allow rule covers: what nobody reads to its end is asked about."""


def plain_words(command: str) -> list[str] | None:
    """The words of a line that is one program with plain arguments; None for anything else.

    An assignment before the program is not plain: it changes what the program does.
    """
    text = command.strip(" ")
    if not _PLAIN.fullmatch(text):
        return None
    words = text.split()
    return None if "=" in words[0] else words


def storable(words: list[str]) -> bool:
    """Whether a yes to exactly these words may stand for a session.

    Not where they run others, name a configuration, or may be an alias: the same words can come to do
    something else.
    """
    if runs_others(words[0]):
        return False
    program = words[0].rsplit("/", 1)[-1]
    if program == "git" and not (len(words) > 1 and words[1] in GIT_PLAIN):
        return False
    return not any(reaches(program, word) for word in words[1:])


def allowed_by(pattern: str, command: str) -> bool:
    """Whether an allow rule's `pattern` covers the whole of `command`.

    `*` stands for one word, a final `**` for any further words.  A program that can run others must be
    spelled out word by word.
    """
    words, wanted = plain_words(command), pattern.split()
    if words is None or not wanted or len(command) > LONGEST:
        return False
    if any("*" in word for word in wanted) and (runs_others(words[0]) or not _harmless(wanted, words)):
        return False
    return _matches(wanted, words)


def _harmless(wanted: list[str], words: list[str]) -> bool:
    """Whether no wildcard of `wanted` stands for a word that reaches further than the program's name says."""
    program, covered = words[0].rsplit("/", 1)[-1], _covered(wanted, words)
    if program == "uniq":  # its second operand is a file it writes
        return sum(not word.startswith("-") or word in ("-", "--") for word in words[1:]) < 2
    if program == "git":
        if 1 in covered and words[1] not in GIT_PLAIN:
            return False
        if any("::" in words[place] or _elsewhere(words[place]) for place in covered):
            return False
    return not any(reaches(program, words[place]) for place in covered)


def _elsewhere(word: str) -> bool:
    """Whether `word` may name a file outside: `git diff` shows any two files, in a repository or not."""
    return word.startswith(("/", "~")) or ".." in word.split("/")


def _covered(wanted: list[str], words: list[str]) -> list[int]:
    """Places in `words` that a wildcard of `wanted` stands for."""
    fixed = {place for place, word in enumerate(wanted) if word not in ("*", "**")}
    return [place for place in range(len(words)) if place not in fixed]


def denied_by(pattern: str, command: str) -> bool:
    """Whether a deny rule's `pattern` is found anywhere in `command`, quotes, paths and wrappers aside."""
    wanted = pattern.split()
    if not wanted:
        return False
    wanted = wanted[:-1] if wanted[-1] == "**" and len(wanted) > 1 else wanted
    for piece in _SPLIT.split(_NOISE.sub("", _JOIN.sub("", command))):
        words = piece.split()
        if any(_found(wanted, words, place) for place in range(len(words))):
            return True
    return False


def _found(wanted: list[str], words: list[str], start: int) -> bool:
    """Whether `wanted` stands in `words` from `start` on, options (with or without a value) between aside."""
    if not (_word(wanted[0], words[start]) or wanted[0] == words[start].rsplit("/", 1)[-1]):
        return False
    place = start + 1
    for want in wanted[1:]:
        while place < len(words) and not _word(want, words[place]):
            option_before = place > start + 1 and words[place - 1].startswith("-")
            if not (words[place].startswith("-") or option_before):
                return False
            place += 1
        if place >= len(words):
            return False
        place += 1
    return True


def _matches(wanted: list[str], words: list[str]) -> bool:
    if wanted[-1] == "**":
        head = wanted[:-1]
        return len(words) >= len(head) and all(map(_word, head, words))
    return len(words) == len(wanted) and all(map(_word, wanted, words))


def _word(pattern: str, word: str) -> bool:
    return pattern in ("*", "**") or pattern == word
