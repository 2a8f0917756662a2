"""A record as one line of a file, and back.

    {"v":1,"seq":7,"id":"...","parent":"...","at":"...","type":"message",...,"sum":"9a3f01c2"}\\n

ASCII-escaped JSON, so that no line break, no encoding and no terminal can come between.  `sum` is the
CRC-32 (ISO-HDLC, as in zlib) of all bytes of the line before `,"sum"`, in eight hexadecimal digits: it
finds every damaged byte.  Lines are separated by LF alone.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec

from wisp.messages.codec import ascii_json
from wisp.session.migrate import STEPS, Step, migrated
from wisp.session.records import VERSION, Known, Record, UnknownRecord

MAX_LINE = 64 * 1024 * 1024
"""Longest line accepted, in bytes."""

_TAIL = len(b',"sum":"00000000"}')
_START = b'{"v":'
_ENDS = re.compile(rb',"sum":"[0-9a-f]{8}"\}')
_TRIES = 50


class BadLine(ValueError):
    """The line is not an undamaged record; the message says why."""


class _Head(msgspec.Struct, frozen=True):
    v: int
    seq: int
    id: str
    parent: str
    at: str
    type: str


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_body = msgspec.json.Decoder(Known).decode


def encode(record: Record) -> bytes:
    """`record` as a line, LF included."""
    assert not isinstance(record.body, UnknownRecord), "only records of known types are written"
    head = ascii_json(
        {"v": record.v, "seq": record.seq, "id": record.id, "parent": record.parent, "at": record.at}
    )
    return _sealed(head[:-1] + b"," + ascii_json(record.body)[1:-1]) + b"\n"


def seal(record: dict[str, Any]) -> bytes:
    """A record as the mapping that its line holds, as a line without LF."""
    return _sealed(ascii_json(record)[:-1])


def unsealed(line: bytes) -> bytes:
    """The JSON of an undamaged line without its checksum."""
    return line[:-_TAIL] + b"}"


def _sealed(line: bytes) -> bytes:
    return b'%s,"sum":"%08x"}' % (line, zlib.crc32(line))


def decode(line: bytes, steps: Mapping[int, Step] = STEPS, version: int = VERSION) -> Record:
    """Read one line, with or without its line end; a record of an older format becomes one of this.

    Args:
        steps: from each older format to the next.
        version: this format.

    Raises:
        BadLine: it is damaged, too long, or no record at all.
    """
    line = line.rstrip(b"\r\n")
    if len(line) > MAX_LINE:
        raise BadLine(f"longer than {MAX_LINE} bytes")
    covered, tail = line[:-_TAIL], line[-_TAIL:]
    if not (tail.startswith(b',"sum":"') and tail.endswith(b'"}')):
        raise BadLine("it does not end with a checksum")
    if tail[8:16] != b"%08x" % zlib.crc32(covered):
        raise BadLine("the checksum does not match")
    text = covered + b"}"
    try:
        head = _decode_head(text)
        if head.v < version:
            return _older(head, text, steps, version)
        try:
            body: Known | UnknownRecord = _decode_body(text)
        except msgspec.ValidationError:
            body = UnknownRecord(head.type)
    except (msgspec.MsgspecError, RecursionError) as exc:
        raise BadLine(str(exc)) from None
    return Record(head.seq, head.id, head.parent, head.at, body, head.v)


def _older(head: _Head, text: bytes, steps: Mapping[int, Step], version: int) -> Record:
    """A record of an older format; unknown, and passed over, where no way leads to this one."""
    made = migrated(msgspec.json.decode(text), head.v, steps, version)
    try:
        if made is not None:
            head = msgspec.convert(made, _Head)
            return Record(head.seq, head.id, head.parent, head.at, msgspec.convert(made, Known), version)
    except msgspec.ValidationError:
        pass
    return Record(head.seq, head.id, head.parent, head.at, UnknownRecord(head.type), head.v)


class Salvaged(msgspec.Struct, frozen=True):
    """An undamaged record inside a damaged line."""

    start: int
    end: int
    record: Record


def salvage(line: bytes) -> list[Salvaged]:
    """Find undamaged records in a damaged line, in order.

    A process that died while writing leaves half a line; a careless one then continued on it.  Tries at
    most `_TRIES` places, so that a hostile line costs no more than a long one.
    """
    found: list[Salvaged] = []
    position = tries = 0
    for mark in _ENDS.finditer(line):
        end = mark.end()
        start = line.find(_START, position, end)
        while start >= 0 and tries < _TRIES:
            tries += 1
            try:
                found.append(Salvaged(start, end, decode(line[start:end])))
            except BadLine:
                start = line.find(_START, start + 1, end)
            else:
                position = end
                break
    return found
