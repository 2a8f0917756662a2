"""Bytes to words and back: encoding, byte order mark and newline style, kept or refused.

Never guesses silently: whatever is decoded here encodes back to the same bytes.  Knows nothing of files.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from wisp.workspace.errors import Refused

DEFAULT_FALLBACKS = ("cp1252", "latin-1")
"""Tried in order for bytes that are neither marked nor UTF-8."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BREAK = re.compile("\r\n|\n|\r")


class Form(NamedTuple):
    """How a text is written down."""

    encoding: str
    mark: bytes = b""
    """The byte order mark it begins with, not part of the text."""


UTF8 = Form("utf-8")


class Decoded(NamedTuple):
    """A text and how it was written down."""

    text: str
    form: Form

    def offset(self, index: int) -> int:
        """Where the character at `index` begins in the original bytes."""
        if self.form.encoding == "utf-8" and self.text.isascii():
            return len(self.form.mark) + index
        return len(self.form.mark) + len(self.text[:index].encode(self.form.encoding))


def decode(data: bytes, fallbacks: tuple[str, ...] = DEFAULT_FALLBACKS) -> Decoded:
    """By byte order mark, else UTF-8, else the first of `fallbacks` that gives the same bytes back.

    Raises:
        Refused: `binary` when it holds NUL and is not marked, `undecodable` when nothing fits.
    """
    form = form_of(data)
    try:
        text = data[len(form.mark) :].decode(form.encoding)
    except UnicodeDecodeError:
        if form.mark:
            raise Refused("undecodable", f"marked as {form.encoding} but not valid") from None
    else:
        if not form.mark and "\0" in text:
            raise Refused("binary", "it holds NUL bytes, so it is not text")
        return Decoded(text, form)
    if b"\0" in data:
        raise Refused("binary", "it holds NUL bytes, so it is not text")
    for name in fallbacks:
        try:
            text = data.decode(name)
            if text.encode(name) == data:
                return Decoded(text, Form(codecs.lookup(name).name))
        except (UnicodeError, LookupError):
            continue
    raise Refused("undecodable", f"it is not UTF-8 and not {' or '.join(fallbacks) or 'anything configured'}")


def decode_line(data: bytes, fallbacks: tuple[str, ...]) -> tuple[str, str]:
    """One line for showing, and what it was taken for: UTF-8 where it is, else the first that fits."""
    for name in ("utf-8", *fallbacks):
        try:
            return data.decode(name), name
        except (UnicodeError, LookupError):
            continue
    return data.decode("utf-8", "replace"), "utf-8"


def form_of(data: bytes) -> Form:
    """The form that the first bytes announce; UTF-8 without a mark when they announce nothing."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return Form(name, mark)
    return UTF8


def lead(form: Form) -> str:
    """A UTF-8 mark as the character that stands in the first line to git and GNU patch; empty for others."""
    return "\ufeff" if form.mark == codecs.BOM_UTF8 else ""


def encode(text: str, form: Form) -> bytes:
    """`text` in `form`, without the mark.

    Raises:
        Refused: `unencodable`, naming the first character the encoding does not have.
    """
    try:
        return text.encode(form.encoding)
    except UnicodeEncodeError as exc:
        what = ascii(text[exc.start])
        raise Refused(
            "unencodable", f"the file is {form.encoding} and cannot hold {what}; nothing was written"
        ) from None


def newline_of(text: str) -> str:
    r"""The most frequent of `\n`, `\r\n` and, only where there is nothing else, `\r`; empty without any."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    if crlf or lf:
        return "\r\n" if crlf > lf else "\n"
    return "\r" if "\r" in text else ""


def newlines_in(text: str) -> set[str]:
    """Which line breaks occur."""
    return {match[0] for match in _BREAK.finditer(text)}


def is_binary(data: bytes) -> bool:
    """Whether the beginning of something, `data`, looks like anything but text."""
    if form_of(data).mark:
        return False
    return b"\0" in data


def decode_output(data: bytes, fallback: str = "") -> str:
    """What a program printed, as text, whatever it is.

    UTF-8; only where that does not fit, the code page `fallback` if this Python knows it; never raises.
    A character cut at either end is left out.
    """
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    try:
        text, _ = codecs.utf_8_decode(data[start:], "strict", False)
        return text
    except UnicodeDecodeError:
        pass
    if fallback:
        try:
            return data.decode(fallback)
        except (UnicodeDecodeError, LookupError):
            pass
    return data[start:].decode("utf-8", "replace")
