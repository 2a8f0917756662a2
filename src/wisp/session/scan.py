"""Reading a session file from its first byte to its last: records with their places, and what is damaged.

Knows nothing of writing, locks or what records mean.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from wisp.session.codec import MAX_LINE, BadLine, Salvaged, decode, salvage
from wisp.session.records import Record
from wisp.session.storage import Damage

_CHUNK = 1 << 20
_BOM = b"\xef\xbb\xbf"


class Placed(NamedTuple):
    """A record and where it stands."""

    record: Record
    place: int
    """Byte in the file."""
    size: int
    """Bytes, without the line's end."""


class Scan:
    """One reading of an open file; iterate once, then look at what was found.

    Args:
        descriptor: stays the caller's.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.damage: list[Damage] = []
        self.keep = 0
        """Where what may stay ends: after the last whole record or line."""
        self.ended = True
        """Whether it ends with LF there."""
        self.newest = 0
        """Newest format version met."""
        self.gaps: list[tuple[int, int]] = []
        """First and last sequence number of records that are missing."""
        self._last = 0

    def __iter__(self) -> Iterator[Placed]:
        for offset, end, line, complete in _lines(self._descriptor):
            good = self._line(offset, line, complete)
            for item in good:
                self._check_order(item.record, offset + item.start)
                yield Placed(item.record, offset + item.start, item.end - item.start)
            if complete:
                self.keep = end
            elif good:
                self.keep, self.ended = offset + good[-1].end, False

    def _line(self, offset: int, line: bytes, complete: bool) -> list[Salvaged]:
        start = len(_BOM) if offset == 0 and line.startswith(_BOM) else 0
        if not line[start:].strip():
            return []
        try:
            return [Salvaged(start, len(line.rstrip(b"\r")), decode(line[start:]))]
        except BadLine as exc:
            good = salvage(line)
            last = len(line.rstrip(b"\r")) if complete else (good[-1].end if good else 0)
            if lost := last - sum(item.end - item.start for item in good):
                said = f"a record is damaged ({exc}); {lost} bytes are lost"
                self.damage.append(Damage(offset, said))
            return good

    def _check_order(self, record: Record, offset: int) -> None:
        expected = self._last + 1
        if record.seq > expected:
            self.damage.append(Damage(offset, f"records {expected} to {record.seq - 1} are missing"))
            self.gaps.append((expected, record.seq - 1))
        elif record.seq < expected:
            said = f"record {record.seq} comes again: two programs wrote this session"
            self.damage.append(Damage(offset, said))
        self._last = record.seq
        self.newest = max(self.newest, record.v)


def record_at(descriptor: int, place: int) -> Record:
    """The record that begins at byte `place`.

    Raises:
        BadLine: there is none, or it is damaged.
    """
    line = line_at(descriptor, place)
    try:
        return decode(line)
    except BadLine:
        found = salvage(line)  # another one may be glued to its end
        if not found or found[0].start:
            raise
        return found[0].record


def line_at(descriptor: int, place: int) -> bytes:
    """The bytes from `place` to the end of its record or line."""
    parts: list[bytes] = []
    step, size = 1 << 14, 0
    while size <= MAX_LINE and (piece := os.pread(descriptor, step, place + size)):
        end = piece.find(b"\n")
        if end >= 0:
            parts.append(piece[:end])
            break
        parts.append(piece)
        size += len(piece)
        step = 1 << 20
    return b"".join(parts)


def _lines(descriptor: int) -> Iterator[tuple[int, int, bytes, bool]]:
    """`(offset, end, line without LF, whether its LF is there)`.

    Holds one line in memory; of a line beyond `MAX_LINE` only the beginning, cut to be no record.
    """
    offset = position = 0
    parts: list[bytes] = []
    held = 0
    while chunk := os.pread(descriptor, _CHUNK, position):
        pieces = chunk.split(b"\n")
        for number, piece in enumerate(pieces):
            if held <= MAX_LINE:
                parts.append(piece)
                held += len(piece)
            position += len(piece)
            if number < len(pieces) - 1:
                position += 1
                yield offset, position, b"".join(parts), True
                offset, parts, held = position, [], 0
    if position > offset:
        yield offset, position, b"".join(parts), False
