"""What is wrong with a session file, in words, and a copy of it in which it is not.  Changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from wisp.messages.message import ToolResult
from wisp.session.codec import encode, seal, unsealed
from wisp.session.fold import Fold
from wisp.session.open import fold_scan
from wisp.session.records import AuditRecord, Record, SessionHeader
from wisp.session.recover import plan
from wisp.session.scan import Placed, Scan


class Faults(msgspec.Struct, frozen=True):
    """What reading a session file from end to end found."""

    path: str
    records: int
    """Whole ones."""
    messages: int
    """On the way to where the conversation stands."""
    found: tuple[str, ...]
    """What is wrong, a sentence each; empty when nothing is."""
    open_calls: tuple[str, ...]
    """Calls without a result, and what each gets when the session goes on."""
    newest: int


def examine(path: str, descriptor: int) -> tuple[Faults, Fold, list[tuple[int, int, int]]]:
    """Read the open session file to its end; also its fold, and `(place, size, seq)` of each record, once."""
    scan = Scan(descriptor)
    places: list[tuple[int, int, int]] = []
    count = 0
    met: set[str] = set()

    def noted() -> Iterator[Placed]:
        nonlocal count
        for placed in scan:
            count += 1
            if placed.record.id not in met:
                met.add(placed.record.id)
                places.append((placed.place, placed.size, placed.record.seq))
            yield placed

    fold = fold_scan(noted(), descriptor)
    found = [f"byte {damage.offset}: {damage.message}" for damage in scan.damage]
    size = os.fstat(descriptor).st_size
    if size > scan.keep:
        found.append(f"byte {scan.keep}: {size - scan.keep} bytes at the end are no whole record")
    elif not scan.ended:
        found.append(f"byte {scan.keep}: the last record lacks its line end")
    if fold.state.header is None and places:
        found.append("the first record, which names the session and its folder, is missing")
    if count > len(places):
        found.append(f"{count - len(places)} records stand twice; the first of each counts")
    found += fold.state.notes
    waiting = plan(fold.state, lambda: "")
    opened = tuple(
        f"call {step.call.id} ({step.call.name}): "
        + ("will be run again, as that changes nothing" if step.rerun else _gets(step.result))
        for step in waiting
    )
    faults = Faults(path, count, fold.state.count, tuple(found), opened, scan.newest)
    return faults, fold, places


def _gets(result: ToolResult | None) -> str:
    started = result is None or result.code != "not_started"
    return "its outcome is unknown, and is told so" if started else "never started, and is told so"


def mended_lines(
    descriptor: int,
    places: list[tuple[int, int, int]],
    faults: Faults,
    header: SessionHeader | None,
    stamp: tuple[str, str, str],
) -> Iterator[bytes]:
    """The lines of a session without faults: every whole record in its order, byte for byte where its number
    still fits, and a record that says what was mended.

    Args:
        header: the first record, where the file has none any more.
        stamp: time and id of the record that says so, and the message it follows.
    """
    at, record_id, leaf = stamp
    seq = 0
    if header is not None:
        seq += 1
        yield encode(Record(seq, f"{record_id}-0", "", at, header))
    for place, size, number in places:
        seq += 1
        raw = os.pread(descriptor, size, place)
        if number != seq:
            value: dict[str, Any] = msgspec.json.decode(unsealed(raw))
            value["seq"] = seq
            raw = seal(value)
        yield raw + b"\n"
    facts = {"notes": [*faults.found], "by": "wisp sessions repair"}
    yield encode(Record(seq + 1, record_id, leaf, at, AuditRecord("repair", facts)))
