"""What a command would touch on the disk without saying so: links that leave, files that hold secrets.

A hint for the policy, taken before the command runs; only a box holds against what changes meanwhile.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from wisp.tools.gitsettings import runs_by_itself
from wisp.workspace.handles import small_file
from wisp.workspace.protected import why_protected
from wisp.workspace.root import Workspace

_WORD = re.compile(r"[^\s'\";|&<>()`$]+")
_JOINED = re.compile(r"^-[A-Za-z](?!-)|[=:,]")
"""What may stand before a path in one word: `-Cfolder`, `html:folder`, `NAME=folder`."""
_CHANGES_FOLDER = re.compile(r"(^|[;&|\n(]|\s)cd\s")
_GREP = re.compile(r"\b[ef]?grep\b.*\s(-[A-Za-z]*r|-[A-Za-z]*d|--recursive|--directories)", re.DOTALL)
_RIPGREP = re.compile(r"\brg\s")
_UNHIDDEN = re.compile(r"\s(--hidden|--no-ignore|-[A-Za-z]*u)")
_DIFF = re.compile(r"(?<!\bgit )\bdiff\s|--no-index\b")
_ADDRESSES = re.compile(r"\bgit\s+(remote|config)\b")
_GIT = re.compile(r"(^|[;&|\n(]|\s)git\s+(?!(--version|version)\s*$)")
_PUTS_BACK = re.compile(r"\bgit\s+(?:--no-pager\s+)?checkout\s+((?:-\S+\s+)*)([^\s;&|<>()-][^\s;&|<>()]*)")
_CREDENTIALS = re.compile(rb"(?i)://[^/\s]*@|extraheader|token|password")
_PUBLISHED = frozenset({"node_modules", "site-packages"})
"""Folders of other people's published files: what looks like a key there is none of the user's."""
_LONGEST = 65_536
"""Longest command looked at, in characters."""
_MOST_WORDS = 200
_MOST_NAMES = 1000
_MOST_STARS = 4
_MOST_FILES = 50_000


class Reached(NamedTuple):
    """What was found."""

    outside: tuple[str, ...]
    """Real paths outside that words lead to through links."""
    hidden: str
    """One of these, a file with secrets, a setting by which git runs something, or why it is not known.

    Empty when the words say all.
    """


def reached(workspace: Workspace, command: str) -> Reached:
    """Look at everything that words of `command` may name, patterns and searched folders included."""
    if len(command) > _LONGEST:
        return Reached((), "it is too long to look at")
    words = _words(command)
    bases = [workspace.cwd]
    outside: dict[str, None] = {}
    hidden = "" if len(words) <= _MOST_WORDS else "it names too much to look at"
    if any(word.count("*") > _MOST_STARS for word in words):
        hidden = "what a very wide pattern names"
        words = [word for word in words if word.count("*") <= _MOST_STARS]
    folders: list[str] = []
    for path in _named(workspace, words, bases, _CHANGES_FOLDER.search(command) is not None):
        if not _beneath(workspace, path):
            continue
        real = os.path.realpath(path)  # of one that could be made: through the folders that are there
        if not os.path.lexists(path) and _beneath(workspace, real):
            continue
        if not _beneath(workspace, real):
            outside[real] = None
        elif why_protected(path, "read") or why_protected(real, "read"):
            hidden = hidden or path
        elif os.path.isdir(real):
            folders.append(real)
    line = " ".join(words)
    hidden = hidden or next(iter(outside), "") or _put_back(re.sub("['\"]", "", command), bases)
    if not hidden and _ADDRESSES.search(line):
        hidden = next((path for path in _configurations(bases) if _secret(path)), "")
    if not hidden and _GIT.search(command):
        hidden = next(filter(None, map(runs_by_itself, bases)), "")
    hidden = hidden or _searched(workspace, line, folders or bases)
    return Reached(tuple(outside), hidden)


def _words(command: str) -> list[str]:
    """Words as the shell sees them where that is easy, and as they stand in any case."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        found = list(lexer)
    except ValueError:
        found = []
    found += _WORD.findall(command)
    found += [part for word in found for part in _JOINED.split(word)[1:] if part]
    return list(dict.fromkeys(found))


def _literal(pattern: str) -> str:
    """The folders of a pattern before its first wildcard."""
    return re.split(r"[*?\[]", pattern, maxsplit=1)[0].rpartition("/")[0]


def _named(workspace: Workspace, words: Iterable[str], bases: list[str], moves: bool) -> Iterator[str]:
    """Absolute paths; a folder becomes a place to begin from where the command changes folders."""
    todo = list(islice(words, _MOST_WORDS))
    for base in bases:  # grows
        for word in todo:
            name = word.partition("=")[2] if word.startswith("-") else word
            if not name:
                continue
            path = os.path.join(base, name)
            found = [path]
            if glob.has_magic(name) and _beneath(workspace, os.path.normpath(_literal(path))):
                found += islice(glob.iglob(path), _MOST_NAMES)
            for one in map(os.path.normpath, found):
                yield one
                if moves and len(bases) < 20 and one not in bases and os.path.isdir(one):
                    bases.append(one)


def _searched(workspace: Workspace, line: str, folders: list[str]) -> str:
    """What a command that reads whole folders would come upon; empty for none.

    Args:
        line: its words without quotes.
    """
    compares, greps = _DIFF.search(line) is not None, _GREP.search(line) is not None
    if not (compares or greps or _RIPGREP.search(line)):
        return ""
    unhidden = bool(compares or greps or _UNHIDDEN.search(line))
    seen = 0
    for folder in folders:
        for top, inner, files in os.walk(folder):
            inner[:] = [name for name in inner if name not in _PUBLISHED and (unhidden or name[0] != ".")]
            seen += len(files) + len(inner)
            if seen > _MOST_FILES:
                return f"more than {_MOST_FILES:,} files"
            for name in (*files, *inner):
                path = os.path.join(top, name)
                if (unhidden or name[0] != ".") and _secret(path):
                    return path
                if compares and os.path.islink(path) and not _beneath(workspace, os.path.realpath(path)):
                    return path
    return ""


def _put_back(line: str, bases: list[str]) -> str:
    """A file or folder whose changes `git checkout NAME` would throw away: NAME is meant to be a branch."""
    for found in _PUTS_BACK.finditer(line):
        for base in bases:
            path = os.path.join(base, found[2])
            if "-b" not in found[1].split() and os.path.lexists(path):
                return path
    return ""


def _configurations(bases: list[str]) -> Iterator[str]:
    """Configurations of the repositories that these folders may be in."""
    for base in bases:
        while base != "/":
            if os.path.lexists(path := os.path.join(base, ".git", "config")):
                yield path
            base = os.path.dirname(base)


def _secret(path: str) -> bool:
    """Protected against reading; a git configuration only where it holds a credential."""
    if not why_protected(path, "read"):
        return False
    if not path.endswith("/.git/config"):
        return True
    data = small_file(path, 1 << 20)
    return data is None or _CREDENTIALS.search(data) is not None


def _beneath(workspace: Workspace, path: str) -> bool:
    return any(path == root.path or path.startswith(root.path.rstrip("/") + "/") for root in workspace.roots)
