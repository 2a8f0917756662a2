"""Chapter 7: a conversation that is on disk before it is in memory, and comes back lawful after any crash.

Owns the file's format, the order of writing, the reading of damaged files, and the fold from records to rows.
The loop is chapter 6's; only the conversation it talks to has changed.  Not promised: the project's files are
not part of the journal, so a branch brings back a conversation and not the code it was about.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from .core import Message, ToolCall
from .steering import NOT_STARTED, Conversation

CRASHED = "the program ended while this was running: the outcome is unknown, so look before you repeat it"
PRUNED_OVER = 200
Entry = tuple[int, Message]
"""A row, and the id of the record that it came from."""


# region: record format
@dataclass(frozen=True)
class Record:
    """One line of the file.  Records form a tree: each names the one it came after."""

    id: int
    parent: int
    """0 for the first record of a conversation."""
    kind: str
    body: Mapping[str, Any]


def encode_record(record: Record) -> bytes:
    """A line: eight hex digits of CRC-32, a space, JSON, a newline.  JSON holds no raw newline."""
    text = json.dumps(asdict(record), separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode_record(line: bytes) -> Record | None:
    """Read a line without its newline; None when it is not what encode_record writes."""
    digits, _, text = line.partition(b" ")
    if digits != b"%08x" % zlib.crc32(text):
        return None
    try:
        return Record(**json.loads(text))
    except (ValueError, TypeError):
        return None


# endregion: record format


# region: reading
@dataclass
class Loaded:
    """What a file holds, and what is wrong with it."""

    records: list[Record] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    torn: bytes = b""
    """An unfinished last line, which a crash in mid-write leaves behind."""


def load(data: bytes) -> Loaded:
    """Read every record that can be trusted, and say what could not.

    The last line is special: it is allowed to be unfinished, because nobody was told that it was written.  A
    bad line further up was once whole, so its loss is damage, and the lines after it still count.
    """
    *lines, torn = data.split(b"\n")
    loaded = Loaded(torn=torn)
    if torn:
        loaded.damage.append(f"the last line is unfinished ({len(torn)} bytes)")
    for number, line in enumerate(lines, 1):
        record = decode_record(line)
        expected = loaded.records[-1].id if loaded.records else 0
        if record is None or record.id <= expected:
            loaded.damage.append(f"line {number} is damaged")
            continue
        if record.id > expected + 1 and not loaded.damage:
            loaded.damage.append(f"line {number}: records before it are missing")
        loaded.records.append(record)
    return loaded


# endregion: reading


# region: fold
def path_to(records: Sequence[Record], leaf: int) -> list[Record]:
    """The records from the first to the leaf.  Where one is lost, its nearest older survivor stands in."""
    path: list[Record] = []
    wanted = leaf
    for record in reversed(records):
        if record.id <= wanted and wanted > 0:
            path.append(record)
            wanted = record.parent
    return path[::-1]


def fold(records: Sequence[Record], leaf: int) -> list[Entry]:
    """Turn the records of one branch into the rows of the next request, each with the record it came from.

    The same function serves a run that goes on, a run that is resumed, and a replay, so they cannot disagree.
    """
    entries: list[Entry] = []
    started: set[str] = set()
    for record in path_to(records, leaf):
        if record.kind == "intent":
            started.add(record.body["call"])
        elif record.kind == "message":
            entries.append((record.id, decode_message(record.body)))
        elif record.kind == "compaction":
            # Chapter 8: one row stands in for the rows up to this record, behind those that stay in front.
            front, last = record.body["front"], record.body["last"]
            kept = [entry for entry in entries[front:] if entry[0] > last]
            entries[front:] = [(record.id, Message("user", record.body["summary"])), *kept]
        elif record.kind == "pruning":
            entries = [
                (number, prune(row) if number <= record.body["last"] else row) for number, row in entries
            ]
    return mend(entries, started)


def prune(row: Message) -> Message:
    """Chapter 8: the same row without a long result.  The record keeps what the row gives up."""
    if row.role != "tool" or len(row.content) <= PRUNED_OVER:
        return row
    return replace(
        row, content=f"[{len(row.content)} characters of old output left out; call again to see it]"
    )


def mend(entries: Sequence[Entry], started: Collection[str]) -> list[Entry]:
    """Give every call its one result and drop results that answer nothing.

    A call that was begun may have had its effect, and one that was not certainly has not.  The intent, which
    was on disk before the call ran, tells the two apart.
    """
    mended: list[Entry] = []
    waiting = deque(entries)
    while waiting:
        number, row = waiting.popleft()
        if row.role == "tool":
            continue
        mended.append((number, row))
        answers: dict[str | None, Entry] = {}
        while row.tool_calls and waiting and waiting[0][1].role == "tool":
            answer = waiting.popleft()
            answers.setdefault(answer[1].tool_call_id, answer)
        for call in row.tool_calls:
            outcome = CRASHED if call.id in started else NOT_STARTED
            missing = (number, Message("tool", outcome, tool_call_id=call.id))
            mended.append(answers.get(call.id, missing))
    return mended


def decode_message(body: Mapping[str, Any]) -> Message:
    """The inverse of dataclasses.asdict for a message."""
    calls = tuple(ToolCall(**call) for call in body["tool_calls"])
    return Message(body["role"], body["content"], calls, body["tool_call_id"])


# endregion: fold


# region: journal
class Busy(Exception):
    """Another process is writing this journal."""


class Journal:
    """The one writer of a file.  What append has returned for survives the end of the process."""

    def __init__(self, path: Path) -> None:
        """Open or create the file, lock it, and set an unfinished last line aside.

        Raises:
            Busy: The file is locked.  The lock dies with its process, so a crash never leaves one.
        """
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise Busy(f"{path.name} is being written by another process") from error
        data = path.read_bytes()
        loaded = load(data)
        if loaded.torn:
            # Kept, because it may be all there is of an answer; out of the way, so that appending is safe.
            path.with_suffix(".torn").write_bytes(loaded.torn)
            os.truncate(self._file, len(data) - len(loaded.torn))
        self.records = loaded.records
        self.damage = loaded.damage
        self.leaf = self.records[-1].id if self.records else 0

    def append(self, kind: str, body: Mapping[str, Any]) -> Record:
        """Write a record behind the leaf and make sure that it is on the disk."""
        last = self.records[-1].id if self.records else 0
        record = Record(last + 1, self.leaf, kind, body)
        line = encode_record(record)
        while line:
            line = line[os.write(self._file, line) :]
        os.fsync(self._file)
        self.records.append(record)
        self.leaf = record.id
        return record

    def branch(self, leaf: int) -> None:
        """Go on from an older record.  What came after it stays in the file, on its own branch."""
        if leaf not in {record.id for record in self.records}:
            raise ValueError(f"there is no record {leaf}")
        self.leaf = leaf

    def close(self) -> None:
        """Give up the file and its lock."""
        os.close(self._file)


class DurableConversation(Conversation):
    """Chapter 6's conversation, written down first.  The loop cannot tell the difference."""

    def __init__(self, journal: Journal) -> None:
        super().__init__([row for _, row in fold(journal.records, journal.leaf)])
        self.journal = journal

    def add(self, row: Message) -> None:
        """Record a row, then keep it: what memory knows and the disk does not would be lost work."""
        self.journal.append("message", asdict(row))
        super().add(row)

    def begin(self, call: ToolCall) -> None:
        """Record that a call is about to run, before it does."""
        self.journal.append("intent", {"call": call.id, "name": call.name})

    def note(self, kind: str, **body: Any) -> None:
        """Record something for people.  It takes no part in any request."""
        self.journal.append(kind, body)


# endregion: journal
