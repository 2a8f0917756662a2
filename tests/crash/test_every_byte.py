"""Twenty sessions, cut at any byte and with any byte changed: what was whole stays, all damage is told.

Every 41st byte in the ordinary run, every byte with WISP_SOAK=1 (about ten minutes).
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from session_writer import Writer

from wisp.messages.content import Text, ToolCall
from wisp.messages.laws import open_calls
from wisp.messages.message import AssistantMessage, UserMessage
from wisp.session.codec import encode
from wisp.session.fold import Fold
from wisp.session.journal import FileJournal
from wisp.session.records import (
    AuditRecord,
    CallIntentRecord,
    CompactionRecord,
    LabelRecord,
    LeafRecord,
    Record,
    RequestIntentRecord,
    RunEndedRecord,
    SnapshotRecord,
    TitleRecord,
)
from wisp.session.recover import plan
from wisp.session.scan import Scan

STEP = 1 if os.environ.get("WISP_SOAK") else 41


def recorded(seed: int) -> list[Record]:
    """A session of up to 20 kB as a program leaves it, with every kind of record somewhere among them."""
    chance = random.Random(seed)
    writer = Writer(pad=chance.choice([0, 40, 400, 2000]))
    size = 0
    number = 0
    while size < 18_000 and number < 12:
        number += 1
        first = writer.turn(f"{number}\N{SNOWMAN}")
        writer.add(RequestIntentRecord(number, f"x{number}"))
        extra = chance.randrange(8)
        if extra == 0:
            writer.add(CompactionRecord("so far", first, (), "threshold"))
        elif extra == 1:
            writer.add(LeafRecord(first, "navigate"))
        elif extra == 2:
            writer.add(SnapshotRecord("abc", "before", 1))
        elif extra == 3:
            writer.add(AuditRecord("approval", {"call": "c", "approved": True}))
        elif extra == 4:
            writer.add(TitleRecord("n\xe4me"))
            writer.add(LabelRecord(first, "here"))
        writer.add(RunEndedRecord("model_finished", 1))
        size = sum(len(encode(record)) for record in writer.records)
    writer.say(UserMessage((Text("and now"),), "last"))
    call = ToolCall("open", "bash", "{}")
    writer.say(AssistantMessage((Text("I run it."), call), "opening", "tool_calls"))
    writer.add(CallIntentRecord(9, call, "reserved", "never", True))
    while sum(len(encode(record)) for record in writer.records) > 20_000:
        del writer.records[-4]
    return [Record(n, r.id, r.parent, r.at, r.body) for n, r in enumerate(writer.records, 1)]


def resumable(fold: Fold) -> None:
    """What is open gets exactly one answer, and what is not gets none."""
    waiting = open_calls(fold.state.messages)
    assert {step.call.id for step in plan(fold.state, lambda: "new")} == set(waiting)


@pytest.mark.parametrize("seed", range(20))
def test_cut_at_any_byte_every_whole_record_is_there(seed: int, tmp_path: Path) -> None:
    """And only the one in flight is lost, which is told; the next record begins on its own line."""
    records = recorded(seed)
    lines = [encode(record) for record in records]
    whole = b"".join(lines)
    assert len(whole) <= 20_000
    ends = [sum(map(len, lines[: n + 1])) for n in range(len(lines))]
    path = tmp_path / "s.jsonl"
    for cut in range(seed % STEP, len(whole), STEP):
        path.write_bytes(whole[:cut])
        kept = sum(1 for end in ends if end - 1 <= cut)  # a record that only lacks its line end is whole
        journal = FileJournal(str(path))
        loaded = journal.load()
        assert list(loaded.records) == records[:kept], cut
        torn = cut not in (0, *ends) and cut + 1 not in ends
        assert [d.offset for d in loaded.damage] == ([ends[kept - 1] if kept else 0] if torn else []), cut
        fold = Fold(loaded.records)
        resumable(fold)
        more = Record(fold.state.next_seq, "more", "", "t", TitleRecord("on"))
        journal.append([more], sync=False)
        journal.close()
        with open(path, "rb") as file:
            scan = Scan(file.fileno())
            assert [placed.record for placed in scan] == [*records[:kept], more]
            assert scan.damage == []
        for side in tmp_path.glob("s.jsonl.torn*"):
            side.unlink()


@pytest.mark.parametrize("seed", range(20))
def test_any_byte_changed_is_reported_and_costs_that_record_alone(seed: int, tmp_path: Path) -> None:
    """A line break becomes two damaged lines at most; a bit in the last line end tears the last record."""
    records = recorded(seed)
    lines = [encode(record) for record in records]
    whole = b"".join(lines)
    path = tmp_path / "s.jsonl"
    path.write_bytes(whole)
    chance = random.Random(seed)
    owner = [number for number, line in enumerate(lines) for _ in line]
    with open(path, "r+b", buffering=0) as file:
        descriptor = file.fileno()
        for place in range(seed % STEP, len(whole), STEP):
            bit = 1 << chance.randrange(8)
            os.pwrite(descriptor, bytes([whole[place] ^ bit]), place)
            scan = Scan(descriptor)
            found = [placed.record for placed in scan]
            told = bool(scan.damage) or scan.keep < len(whole) or not scan.ended
            assert told, (place, bit)
            lost = [record for record in records if record not in found]
            mine = owner[place]
            assert all(abs(records.index(record) - mine) <= 1 for record in lost), (place, bit)
            assert all(record in records for record in found), (place, bit)
            if whole[place] != 10:
                assert len(lost) <= 1
            resumable(Fold(found))
            os.pwrite(descriptor, whole[place : place + 1], place)
