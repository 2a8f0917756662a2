"""Finding sessions by what was said in them.  Reads files, remembers nothing (`session.words` does)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from wisp.messages.message import AssistantMessage, Message
from wisp.session.branches import kind_of
from wisp.session.codec import BadLine, decode
from wisp.session.records import LabelRecord, MessageRecord, TitleRecord

_CHUNK = 1 << 20


class Match(msgspec.Struct, frozen=True):
    """One place where the words stand."""

    entry: str
    """Id of the message; empty for the session's name."""
    kind: str
    text: str
    """The line they stand in, cut around them."""


def matches(
    path: str, text: str, most: int = 3, spans: Iterable[tuple[int, int]] | None = None
) -> list[Match]:
    """Where `text` stands in what was said, called and answered, case aside; the first `most` places.

    Args:
        spans: where to look, in bytes from and to; None for everywhere.

    Raises:
        OSError: the file cannot be read.
    """
    wanted = text.casefold()
    found: list[Match] = []
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        for line in _within(descriptor, spans if spans is not None else [(0, None)]):
            record = said_in(line)
            if record is not None and wanted in record[0].casefold():
                said, entry, kind = record
                found.append(Match(entry, kind, _around(said, wanted)))
                if len(found) >= most:
                    break
    finally:
        os.close(descriptor)
    return found


def said_in(line: bytes) -> tuple[str, str, str] | None:
    """The words of a record's line, the message they belong to, and its kind; None where there are none."""
    try:
        record = decode(line)
    except BadLine:
        return None
    body = record.body
    if isinstance(body, MessageRecord):
        return text_of(body.message), record.id, kind_of(body.message)
    if isinstance(body, TitleRecord):
        return body.name, "", "name"
    if isinstance(body, LabelRecord):
        return body.label, body.target, "label"
    return None


def text_of(message: Message) -> str:
    """Everything in a message that is words."""
    if isinstance(message, AssistantMessage):
        return "\n".join([message.text, *(f"{call.name} {call.arguments}" for call in message.calls)])
    return message.text


def whole_lines(descriptor: int, start: int, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """The lines from byte `start` on that end with LF before `end`; with their places."""
    parts: list[bytes] = []
    position = start
    while chunk := os.pread(descriptor, _CHUNK if end is None else min(_CHUNK, end - position), position):
        position += len(chunk)
        pieces = chunk.split(b"\n")
        for piece in pieces[:-1]:
            line = b"".join([*parts, piece, b"\n"])
            yield start, line
            start, parts = start + len(line), []
        parts.append(pieces[-1])


def _within(descriptor: int, spans: Iterable[tuple[int, int | None]]) -> Iterator[bytes]:
    for start, end in spans:
        for _, line in whole_lines(descriptor, start, end):
            yield line


def _around(text: str, wanted: str) -> str:
    place = max(0, text.casefold().find(wanted))
    begin = text.rfind("\n", 0, place) + 1
    line = text[begin:].split("\n", 1)[0]
    at = place - begin
    if len(line) <= 160:
        return line
    return ("..." if at > 60 else "") + line[max(0, at - 60) : at + 100] + "..."
