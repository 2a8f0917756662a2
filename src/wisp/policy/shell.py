"""A shell line as simple commands of literal words, or nothing: what is not fully understood is not read.

Parsed with tree-sitter's grammar for bash.  Every node kind and every operator must be on a list; an
expansion, a substitution, an assignment of more than a plain word, a function, a background job, a file
redirect or a glob that could turn into an option makes the whole line unreadable.  Knows nothing of what
programs do.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 4096
"""Longest line read, in characters: what nobody reads to its end is asked about."""
MOST_COMMANDS = 50

_BARE = re.compile(r"[A-Za-z0-9_./:=,@%+^-]+|\[|\]|!|=+|!=")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[A-Za-z0-9_.-]*")
_GLOB = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./,@%+-]*[*?\[][A-Za-z0-9_./*?\[\],@%+-]*")
_IN_DOUBLE = re.compile(r"[^$`\\!\"\x00-\x08\x0b-\x1f\x7f]*")
_IN_SINGLE = re.compile(r"[^'\x00-\x08\x0b-\x1f\x7f]*")
_NOWHERE = "/dev/null"
_QUIET = frozenset({("2", ">", _NOWHERE), ("", ">", _NOWHERE), ("1", ">", _NOWHERE), ("2", ">&", "1")})
_QUIET_ALL = ("", "&>", _NOWHERE)
_BETWEEN = frozenset({"&&", "||", ";", "|", "\n"})


class _Unread(Exception):
    """The line holds something that is not on the list."""


class Word(str):
    """One literal word; `glob` says that the shell will replace it by file names.

    `assigns` says that it stands before the program and sets a variable for it.
    """

    __slots__ = ("assigns", "glob")
    glob: bool
    assigns: bool

    def __new__(cls, text: str, glob: bool = False, assigns: bool = False) -> Word:
        """A word."""
        made = super().__new__(cls, text)
        made.glob, made.assigns = glob, assigns
        return made


def simple_commands(line: str) -> list[list[Word]] | None:
    """The commands of `line`, each as its words, in order; None when any part is not fully understood."""
    if len(line) > LONGEST or "\r" in line:
        return None
    source = line.encode("utf-8", "surrogatepass")
    tree = _parser().parse(source)
    root = tree.root_node
    if root.has_error or not line.strip() or not _only_blanks_between(root, source):
        return None
    try:
        found = _statements(root, source)
    except (_Unread, UnicodeDecodeError):
        return None
    return found if 0 < len(found) <= MOST_COMMANDS else None


@cache
def _parser() -> Parser:
    from tree_sitter import Language, Parser
    from tree_sitter_bash import language

    return Parser(Language(language()))


def _only_blanks_between(root: Node, source: bytes) -> bool:
    """Whether the grammar skipped only blanks: an escaped one is blank to it and a word to the shell."""
    end, todo = 0, [root]
    while todo:
        node = todo.pop()
        if node.child_count and node.type not in ("string", "raw_string"):
            todo += reversed(node.children)
            continue
        if source[end : node.start_byte].strip(b" \t\n"):
            return False
        end = max(end, node.end_byte)
    return not source[end:].strip(b" \t\n")


def _statements(node: Node, source: bytes) -> list[list[Word]]:
    kind = node.type
    if kind in ("program", "list", "pipeline"):
        found: list[list[Word]] = []
        for child in node.children:
            if child.is_named:
                found += _statements(child, source)
            elif child.type not in _BETWEEN:
                raise _Unread(child.type)
        return found
    if kind == "comment":
        return []
    if kind == "redirected_statement":
        return _redirected(node, source)
    if kind == "negated_command":
        return [words for child in node.children if child.is_named for words in _statements(child, source)]
    if kind == "command":
        return [_command(node, source)]
    if kind == "declaration_command":
        return [_export(node, source)]
    raise _Unread(kind)


def _redirected(node: Node, source: bytes) -> list[list[Word]]:
    """A command whose output goes nowhere; any other redirect is a file that is written or read."""
    body, *redirects = [child for child in node.children if child.is_named]
    for redirect in redirects:
        if redirect.type != "file_redirect":
            raise _Unread(redirect.type)
        parts = [(child.type, _text(child, source)) for child in redirect.children]
        number = parts.pop(0)[1] if parts and parts[0][0] == "file_descriptor" else ""
        # The grammar puts further words of the command behind the target: then this is no redirect of ours.
        if len(parts) != 2 or parts[1][0] not in ("word", "number"):
            raise _Unread("a redirect")
        found = (number, parts[0][1], parts[1][1])
        if found not in _QUIET and found != _QUIET_ALL:
            raise _Unread("a redirect")
    return _statements(body, source)


def _command(node: Node, source: bytes) -> list[Word]:
    words: list[Word] = []
    for child in node.children:
        if child.type == "command_name":
            name = _word(child.children[0], source)
            if name.glob or "=" in name or not name:
                raise _Unread("the program is not a plain name")
            words.append(name)
        elif child.type == "variable_assignment":
            words.append(_assignment(child, source))
        elif child.is_named:
            words.append(_word(child, source))
        else:
            raise _Unread(child.type)
    if not words or words[-1].assigns:
        raise _Unread("no program")
    return words


def _export(node: Node, source: bytes) -> list[Word]:
    """`export NAME=value ...`, as the words of a program `export`."""
    first, *more = node.children
    if first.type != "export" or any(child.type != "variable_assignment" for child in more):
        raise _Unread(node.type)
    return [Word("export"), *(Word(_assignment(child, source)) for child in more)]


def _assignment(node: Node, source: bytes) -> Word:
    """`NAME=value` before a program, the value literal and without blanks; `+=` and `a[i]=` are not read."""
    text = _text(node, source)
    if not _ASSIGNMENT.fullmatch(text):
        raise _Unread(text)
    return Word(text, assigns=True)


def _word(node: Node, source: bytes) -> Word:
    kind, text = node.type, _text(node, source)
    if kind in ("word", "number"):
        if _BARE.fullmatch(text):
            return Word(text)
        if _GLOB.fullmatch(text):
            return Word(text, glob=True)
        raise _Unread(text)
    if kind == "raw_string":
        if _IN_SINGLE.fullmatch(text[1:-1]):
            return Word(text[1:-1])
        raise _Unread(text)
    if kind == "string":
        inner = text[1:-1]
        if any(child.is_named and child.type != "string_content" for child in node.children):
            raise _Unread(text)
        if _IN_DOUBLE.fullmatch(inner):
            return Word(inner)
        raise _Unread(text)
    if kind == "concatenation":
        pieces = [_word(child, source) for child in node.children]
        if any(piece.glob for piece in pieces):
            raise _Unread(text)
        return Word("".join(pieces))
    raise _Unread(kind)


def _text(node: Any, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode()
