"""The text of a command with its arguments filled in, once.  Pure.

What is filled in is never looked at again: an argument that says `$1` or holds backquotes stays that text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_PART = re.compile(
    r"!`(?P<shell>[^`\n]+)`|\$(?P<all>ARGUMENTS\b)|\$(?P<value>[A-Z]{2,}\b)|\$(?P<number>[1-9])(?![0-9])"
)
_ARGUMENT = re.compile(r"\$(?:(?P<all>ARGUMENTS\b)|(?P<number>[1-9])(?![0-9]))")


class Words(NamedTuple):
    """Text as it will be said."""

    text: str


class Shell(NamedTuple):
    """A line of shell whose output takes its place; arguments in it are quoted."""

    command: str


def fill(template: str, arguments: str, values: Mapping[str, str] | None = None) -> list[Words | Shell]:
    """`template` in pieces, cut at each `` !`line of shell` ``, with `$ARGUMENTS` and `$1` to `$9` filled in.

    Arguments that the template has no place for follow at its end.

    Args:
        arguments: all that was typed after the command's name.
        values: what stands for further names, as `$ATTRIBUTION`; an unknown name stays as it is.
    """
    words = _words(arguments)
    found: list[Words | Shell] = []
    said = ""
    place, used = 0, False
    for match in _PART.finditer(template):
        said += template[place : match.start()]
        place = match.end()
        line = match["shell"]
        if match["value"]:
            said += (values or {}).get(match["value"], match[0])
        elif line is None:
            said += _value(match, arguments, words)
            used = True
        else:
            found += [Words(said)] if said else []
            said = ""
            used = used or _ARGUMENT.search(line) is not None
            found.append(Shell(_ARGUMENT.sub(lambda m: _quoted(m, arguments, words), line)))
    said += template[place:]
    if arguments and not used:
        said = f"{said.rstrip()}\n\nArguments: {arguments}\n"
    return [*found, Words(said)] if said else found


def _words(arguments: str) -> Sequence[str]:
    """The arguments one by one, as a shell would take them apart; by spaces where quotes do not close."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def _value(match: re.Match[str], arguments: str, words: Sequence[str]) -> str:
    if match["all"]:
        return arguments
    number = int(match["number"])
    return words[number - 1] if number <= len(words) else ""


def _quoted(match: re.Match[str], arguments: str, words: Sequence[str]) -> str:
    if match["all"]:
        return shlex.join(words)
    return shlex.quote(_value(match, arguments, words))
