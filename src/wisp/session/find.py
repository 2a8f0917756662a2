"""Finding sessions by what was said in them.  Reads files, remembers nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

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


def matches(path: str, text: str, most: int = 3) -> list[Match]:
    """Where `text` stands in what was said, called and answered, case aside; the first `most` places.

    Raises:
        OSError: the file cannot be read.
    """
    wanted = text.casefold()
    found: list[Match] = []
    for line in _candidates(path, text):
        try:
            record = decode(line)
        except BadLine:
            continue
        body = record.body
        if isinstance(body, MessageRecord):
            said, entry, kind = text_of(body.message), record.id, kind_of(body.message)
        elif isinstance(body, TitleRecord):
            said, entry, kind = body.name, "", "name"
        elif isinstance(body, LabelRecord):
            said, entry, kind = body.label, body.target, "label"
        else:
            continue
        if wanted in said.casefold():
            found.append(Match(entry, kind, _around(said, wanted)))
            if len(found) >= most:
                break
    return found


def text_of(message: Message) -> str:
    """Everything in a message that is words."""
    if isinstance(message, AssistantMessage):
        return "\n".join([message.text, *(f"{call.name} {call.arguments}" for call in message.calls)])
    return message.text


def _candidates(path: str, text: str) -> Iterator[bytes]:
    """Lines that may hold `text`, told by the bytes that it has in a file."""
    needles = {json.dumps(form)[1:-1].encode().lower() for form in (text, text.lower(), text.upper())}
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        rest = b""
        while chunk := file.read(_CHUNK):
            chunk = rest + chunk
            end = chunk.rfind(b"\n") + 1
            block, rest = chunk[:end], chunk[end:]
            lowered = block.lower()
            if any(needle in lowered for needle in needles):
                yield from _hits(block, lowered, needles)


def _hits(block: bytes, lowered: bytes, needles: set[bytes]) -> Iterator[bytes]:
    start = 0
    while start < len(block):
        places = [place for needle in needles if (place := lowered.find(needle, start)) >= 0]
        if not places:
            return
        begin = block.rfind(b"\n", 0, min(places)) + 1
        end = block.find(b"\n", min(places))
        end = len(block) if end < 0 else end
        yield block[begin:end]
        start = end + 1


def _around(text: str, wanted: str) -> str:
    place = max(0, text.casefold().find(wanted))
    begin = text.rfind("\n", 0, place) + 1
    line = text[begin:].split("\n", 1)[0]
    at = place - begin
    if len(line) <= 160:
        return line
    return ("..." if at > 60 else "") + line[max(0, at - 60) : at + 100] + "..."
