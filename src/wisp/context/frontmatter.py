"""The few lines of YAML at the head of a skill: mappings, lists and texts, nothing that has a type.

The subset that StrictYAML takes, which the reference library of Agent Skills reads with: no flow style, no
anchors, no tags, no key twice.  A YAML library would cost more at start than all skills together; a test
compares this one with it.  Knows nothing of what the fields mean.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

FENCE = "---"

_KEY = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#'"\[\]{}>|*&!%@`,?-](?:[^#:]|:(?=\S)|(?<=\S)\#)*?"""
    r"""|[?-](?=\S)(?:[^#:]|:(?=\S)|(?<=\S)\#)*?)[ ]*:(?:[ ]+(?P<value>.*)|[ ]*)$"""
)
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


class BadFrontmatter(ValueError):
    """The text is no front matter; the message names the line where there is one."""


class _Line(NamedTuple):
    number: int
    indent: int
    text: str
    """Without its indentation; empty for a blank line."""


def split(text: str) -> tuple[str, str]:
    """`(front matter, body)` of a whole file; the body is without blank lines around it.

    Fences are lines of their own.

    Raises:
        BadFrontmatter: the file does not begin with a fence, or no second one follows.
    """
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    if not lines or lines[0].rstrip() != FENCE:
        raise BadFrontmatter("it must begin with a line '---'")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == FENCE:
            return "".join(lines[1:number]), "".join(lines[number + 1 :]).strip()
    raise BadFrontmatter("the front matter has no closing line '---'")


def parse(text: str, *, lenient: bool = False) -> dict[str, Any]:
    """The mapping that `text` holds: texts, mappings of texts and lists, nested.

    Args:
        lenient: a value that is not quoted is taken as it stands, colons and brackets included, as many
            hand-written files have it.

    Raises:
        BadFrontmatter: it is no such mapping; names the line.
    """
    lines = [_line(number, raw) for number, raw in enumerate(text.splitlines(), 1)]
    reader = _Reader(lines, lenient)
    reader.skip()
    if reader.done():
        raise BadFrontmatter("the front matter is empty")
    value = reader.block(reader.here.indent)
    reader.skip()
    if not reader.done():
        raise BadFrontmatter(f"line {reader.here.number}: it is not indented as the lines before it")
    if not isinstance(value, dict):
        raise BadFrontmatter("the front matter is not a mapping of names to values")
    return value


def _line(number: int, raw: str) -> _Line:
    text = raw.lstrip(" ")
    return _Line(number, len(raw) - len(text), text.rstrip())


class _Reader:
    """Reads blocks line by line."""

    def __init__(self, lines: list[_Line], lenient: bool) -> None:
        self._lines = lines
        self._next = 0
        self._lenient = lenient

    def done(self) -> bool:
        """Whether nothing follows."""
        return self._next >= len(self._lines)

    @property
    def here(self) -> _Line:
        return self._lines[self._next]

    def skip(self) -> None:
        """Past blank lines and comments."""
        while not self.done() and (not self.here.text or self.here.text.startswith("#")):
            self._next += 1

    def block(self, indent: int) -> Any:
        """A mapping or a list whose entries stand at `indent`."""
        if _is_entry(self.here.text):
            return self._list(indent)
        return self._mapping(indent)

    def _mapping(self, indent: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            self.skip()
            if self.done() or self.here.indent < indent:
                return found
            line = self.here
            if line.indent > indent:
                raise _bad(line, "it is not indented as the lines before it")
            self._plain_start(line)
            matched = _KEY.match(line.text)
            if matched is None or _is_entry(line.text):
                raise _bad(line, "it is no 'name: value'")
            key = _key(matched["key"])
            if key in found:
                raise _bad(line, f"{key!r} stands there twice")
            self._next += 1
            found[key] = self._value(line, (matched["value"] or "").strip(), indent)

    def _list(self, indent: int) -> list[Any]:
        found: list[Any] = []
        while True:
            self.skip()
            if self.done() or self.here.indent < indent or not _is_entry(self.here.text):
                return found
            line = self.here
            if line.indent > indent:
                raise _bad(line, "it is not indented as the lines before it")
            rest = line.text[1:].strip()
            if _KEY.match(rest):
                inner = line.indent + len(line.text) - len(line.text[1:].lstrip())
                self._lines[self._next] = _Line(line.number, inner, rest)
                found.append(self._mapping(inner))
                continue
            self._next += 1
            found.append(self._value(line, rest, indent, entry=True))

    def _value(self, line: _Line, text: str, indent: int, *, entry: bool = False) -> Any:
        if text.startswith("#"):
            text = ""
        if not text:
            return self._below(indent, entry=entry)
        if text[0] in "|>":
            return self._folded(line, text, indent)
        if text[0] in "\"'":
            return self._quoted(line, text, indent)
        return self._plain(line, text, indent)

    def _below(self, indent: int, *, entry: bool) -> Any:
        """What stands below a name (or an `entry` of a list) without a value: a block, or nothing."""
        self.skip()
        if self.done():
            return ""
        line = self.here
        if line.indent > indent or (line.indent == indent and _is_entry(line.text) and not entry):
            if not _is_entry(line.text) and not _KEY.match(line.text):
                self._next += 1
                return self._value(line, line.text, indent)
            return self.block(line.indent)
        return ""

    def _plain_start(self, line: _Line) -> None:
        if line.text[0] == "\t":
            raise _bad(line, "it is indented with a tab")

    def _plain(self, line: _Line, text: str, indent: int) -> str:
        parts = [text]
        blank = 0
        while not self.done() and (not self.here.text or self.here.indent > indent):
            if not self.here.text:
                blank += 1
            elif self.here.text.startswith("#"):
                break
            else:
                parts += [""] * blank + [self.here.text]
                blank = 0
            self._next += 1
        if self._lenient:
            return _fold([_uncommented(part) for part in parts])
        if text[0] in "[{":
            raise _bad(line, "values in brackets are not part of the format; put the value in quotes")
        if text[0] in "&*!%@`]},":
            raise _bad(line, f"a value cannot begin with {text[0]!r} unless it is in quotes")
        if text[0] in "-?:" and (len(text) == 1 or text[1] == " "):
            raise _bad(line, f"a value cannot begin with {text[0] + ' '!r} unless it is in quotes")
        told = []
        for part in parts:
            cut = _uncommented(part)
            if ": " in cut or cut.endswith(":") or ":\t" in cut:
                raise _bad(line, "a value with a colon must be in quotes")
            told.append(cut)
            if cut != part and part is not parts[-1]:
                raise _bad(line, "a comment stands inside a value")
        return _fold(told)

    def _quoted(self, line: _Line, text: str, indent: int) -> str:
        """A text in quotes, which may go on over further lines."""
        quote = text[0]
        parts = [text]
        while (end := _closing(" \n".join(parts), quote)) < 0:
            if self.done() or (self.here.text and self.here.indent <= indent):
                raise _bad(line, f"the closing {quote} is missing")
            parts.append(self.here.text)
            self._next += 1
        whole = " \n".join(parts)
        rest = whole[end + 1 :].strip()
        if rest and not (rest.startswith("#") and whole[end + 1] in " \t"):
            raise _bad(line, f"something follows the closing {quote}")
        inner = _fold(whole[1:end].split(" \n"))
        if quote == "'":
            return inner.replace("''", "'")
        return _unescaped(inner, line)

    def _folded(self, line: _Line, text: str, indent: int) -> str:
        """A block text: `|` keeps line ends, `>` joins lines."""
        head = re.fullmatch(r"[|>]([+-]?)([1-9]?)([+-]?)(?:[ ]+#.*)?", text)
        if head is None or (head[1] and head[3]):
            raise _bad(line, "a value cannot begin like this unless it is in quotes")
        keep = head[1] or head[3]
        lines: list[_Line] = []
        margin = indent + int(head[2]) if head[2] else 0
        while not self.done() and (not self.here.text or self.here.indent > indent):
            margin = margin or (self.here.indent if self.here.text else 0)
            if self.here.indent < margin and self.here.text.startswith("#"):
                break
            lines.append(self.here)
            self._next += 1
        if any(one.text and one.indent < margin for one in lines):
            raise _bad(line, "the block below is not indented evenly")
        shown = [" " * (one.indent - margin) + one.text if one.text else "" for one in lines]
        while shown and not shown[-1]:
            shown.pop()
        body = "\n".join(shown) if text[0] == "|" else _fold_block(shown)
        trailing = len(lines) - len(shown)
        if not body:
            return "\n" * trailing if keep == "+" else ""
        return body + ("" if keep == "-" else "\n" * (1 + trailing) if keep == "+" else "\n")


def _is_entry(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _bad(line: _Line, why: str) -> BadFrontmatter:
    return BadFrontmatter(f"line {line.number}: {why}")


def _key(text: str) -> str:
    if text[0] == '"':
        return _unescaped(text[1:-1], _Line(0, 0, text))
    return text[1:-1].replace("''", "'") if text[0] == "'" else text.rstrip()


def _uncommented(text: str) -> str:
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].rstrip()


def _fold(parts: list[str]) -> str:
    """Lines of one text: joined with spaces, an empty line between them is a line end."""
    said = parts[0].rstrip() if len(parts) > 1 else parts[0]
    blank = 0
    for place, part in enumerate(parts[1:], 1):
        part = part.lstrip() if place == len(parts) - 1 else part.strip()
        if not part and place < len(parts) - 1:
            blank += 1
            continue
        said += ("\n" * blank if blank else " ") + part
        blank = 0
    return said


def _fold_block(lines: list[str]) -> str:
    """Lines of a `>` block: joined with spaces; empty lines, and lines further in, keep their line ends."""
    said, before, blank = "", "", 0
    for line in lines:
        if not line:
            blank += 1
            continue
        if not said:
            said = "\n" * blank
        elif line[0] == " " or before[:1] == " ":
            said += "\n" * (blank + 1)
        else:
            said += "\n" * blank or " "
        said, before, blank = said + line, line, 0
    return said


def _closing(text: str, quote: str) -> int:
    """Where the quote that opened `text` closes; -1 where it does not."""
    place = 1
    while place < len(text):
        if text[place] == "\\" and quote == '"':
            place += 2
        elif text[place] == quote:
            if quote == "'" and text[place + 1 : place + 2] == "'":
                place += 2
            else:
                return place
        else:
            place += 1
    return -1


def _unescaped(text: str, line: _Line) -> str:
    def one(found: re.Match[str]) -> str:
        code = found[0][1:]
        if code[0] in "xuU":
            size = {"x": 2, "u": 4, "U": 8}[code[0]]
            digits = code[1:]
            if len(digits) == size and all(c in "0123456789abcdefABCDEF" for c in digits):
                return chr(min(int(digits, 16), 0x10FFFF))
        elif code in _ESCAPES:
            return _ESCAPES[code]
        raise _bad(line, f"\\{code[0]} is no escape")

    return re.sub(
        r"\\(?:x[0-9a-fA-F]{0,2}|u[0-9a-fA-F]{0,4}|U[0-9a-fA-F]{0,8}|.)", one, text, flags=re.DOTALL
    )
