"""A session of any length is opened from its index in little memory, and means what the whole file means."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_writer import Writer

from wisp.messages.content import Text
from wisp.messages.message import Message, UserMessage
from wisp.session.codec import encode
from wisp.session.compact import pruned, summary_text
from wisp.session.earlier import Earlier
from wisp.session.fold import NAVIGATED, Fold
from wisp.session.index import LARGE, index_path
from wisp.session.journal import FileJournal, read_only
from wisp.session.open import opened_tree, seen
from wisp.session.records import (
    AuditRecord,
    CompactionRecord,
    LabelRecord,
    LeafRecord,
    MessageRecord,
    Record,
    TitleRecord,
)


def long(turns: int = 1200, pad: int = 1000) -> Writer:
    writer = Writer(pad)
    for number in range(turns):
        first = writer.turn(str(number))
        if number % 100 == 50:
            writer.add(CompactionRecord(f"summary {number}", first, (f"t{number}",), "threshold"))
    return writer


def everything(fold: Fold) -> list[Message]:
    return [fold.message(message_id) for message_id in fold.path(fold.state.leaf)]


@given(st.integers(0, 2**32), st.integers(400, 20_000))
@settings(max_examples=120, deadline=None)
def test_folded_in_little_memory_a_session_means_the_same(seed: int, most: int) -> None:
    """Whatever branches and compactions it has: same context, same facts, same totals."""
    chance = random.Random(seed)
    writer = Writer(pad=50)
    ids: list[str] = []
    for number in range(chance.randrange(3, 40)):
        ids.append(writer.turn(str(number)))
        if chance.random() < 0.25:
            context = Fold(writer.records).state.context
            kept = chance.choice([m.id for m in context if isinstance(m, UserMessage)])
            writer.add(CompactionRecord(f"s{number}", kept, (), "threshold"))
        if chance.random() < 0.2:
            writer.leaf = chance.choice(["", *ids])
            writer.add(LeafRecord(writer.leaf, chance.choice(["undo", NAVIGATED])))
    whole = Fold(writer.records)
    lines = [encode(record) for record in writer.records]
    places = [sum(map(len, lines[:n])) for n in range(len(lines))]
    at = dict(zip(places, writer.records, strict=True))

    def read(place: int) -> Message:
        body = at[place].body
        assert isinstance(body, MessageRecord)
        return body.message

    small = Fold(read=read, most=1 << 40)
    for record, place, line in zip(writer.records, places, lines, strict=True):
        small.add(record, place, len(line))

    assert small.state.context == whole.state.context
    assert everything(small) == whole.state.messages
    assert small.state.count == len(whole.state.messages)
    names = ("leaf", "prompt", "follows", "next_seq", "usage", "cost_usd", "turns", "moves", "notes")
    for name in names:
        assert getattr(small.state, name) == getattr(whole.state, name), name
    assert summary_text("", small.state.messages, "", most, small.state.earlier) == summary_text(
        "", whole.state.messages, "", most
    )


@given(st.lists(st.integers(0, 3_000), max_size=200), st.integers(1, 7), st.integers(0, 12_000))
@settings(max_examples=200, deadline=None)
def test_what_the_user_said_is_the_same_taken_in_pieces(sizes: list[int], step: int, most: int) -> None:
    """Forgetting in the middle loses nothing that the summary of the whole would have."""
    history: list[Message] = [
        UserMessage((Text(f"{n} " + "w" * size),), f"u{n}") for n, size in enumerate(sizes)
    ]
    pieces = Earlier()
    for start in range(0, len(history), step):
        pieces.take(history[start : start + step])

    assert summary_text("", (), "", most, pieces) == summary_text("", history, "", most)


def test_a_long_session_opens_from_its_index_as_it_opens_without(tmp_path: Path) -> None:
    """Totals, context and name are equal; the second opening reads next to nothing of the file."""
    writer = long()
    writer.add(TitleRecord("the long one"))
    writer.add(LabelRecord("u7", "here"))
    path = writer.write(tmp_path / "long.jsonl")
    assert path.stat().st_size > LARGE
    whole = Fold(read_only(str(path)).records).state

    first = FileJournal(str(path))
    loaded = first.load()
    first.close()
    assert os.path.exists(index_path(str(path)))
    second = FileJournal(str(path))
    again = second.load()
    second.close()

    assert loaded.state == again.state == seen(str(path)).state
    assert again.state is not None
    assert again.state.context == whole.context
    assert (again.state.title, again.state.labels) == ("the long one", {"u7": "here"})
    assert (again.state.count, again.state.usage, again.state.next_seq) == (
        len(whole.messages),
        whole.usage,
        whole.next_seq,
    )


@pytest.mark.parametrize("how", ["lost", "empty", "flipped", "of another file", "older than the file"])
def test_an_index_that_is_lost_damaged_or_stale_is_made_again(tmp_path: Path, how: str) -> None:
    """It is never the truth."""
    path = long(400, 3000).write(tmp_path / "long.jsonl")
    journal = FileJournal(str(path))
    expected = journal.load().state
    journal.close()
    index = Path(index_path(str(path)))
    data = index.read_bytes()
    if how == "lost":
        index.unlink()
    elif how == "empty":
        index.write_bytes(b"")
    elif how == "flipped":
        index.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])
    elif how == "of another file":
        other = tmp_path / "other.jsonl"
        other.write_bytes(path.read_bytes())
        os.replace(other, path)
        path.chmod(0o600)
    else:
        line = path.read_bytes().splitlines(keepends=True)[-1]
        path.write_bytes(path.read_bytes().replace(line, b""))
        expected = Fold(read_only(str(path)).records).state
    journal = FileJournal(str(path))
    found = journal.load().state
    journal.close()

    assert found is not None
    assert expected is not None
    assert (found.context, found.leaf, found.count) == (expected.context, expected.leaf, expected.count)
    assert index.read_bytes() != b""


def test_a_byte_changed_in_a_file_with_an_index_is_reported(tmp_path: Path) -> None:
    """At its beginning, in the middle and at its end; and at every opening, also from the new index."""
    path = long(400, 3000).write(tmp_path / "long.jsonl")
    whole = path.read_bytes()
    FileJournal(str(path)).close()
    for place in (100, len(whole) // 2, len(whole) - 100):
        journal = FileJournal(str(path))
        journal.load()
        journal.close()
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        for _ in range(2):
            journal = FileJournal(str(path))
            damage = journal.load().damage
            journal.close()
            assert damage, place
        path.write_bytes(whole)


def test_records_added_after_opening_from_the_index_are_in_the_next_one(tmp_path: Path) -> None:
    """Append, remember, open: the new message is there, the old file is not read whole."""
    writer = long(400, 3000)
    path = writer.write(tmp_path / "long.jsonl")
    journal = FileJournal(str(path))
    journal.load()
    journal.close()
    journal = FileJournal(str(path))
    loaded = journal.load()
    fold = Fold(state=loaded.state)
    writer.say(UserMessage((Text("one more"),), "more"))
    writer.add(AuditRecord("repair", {"notes": ["x"]}))
    journal.append(writer.records[-2:], sync=True)
    for record in writer.records[-2:]:
        fold.add(record)
    journal.remember(fold.state)
    journal.close()
    index = Path(index_path(str(path))).read_bytes()

    journal = FileJournal(str(path))
    again = journal.load().state
    journal.close()
    assert again is not None
    assert (again.leaf, again.told, again.count) == ("more", {"x"}, 1601)
    assert Path(index_path(str(path))).read_bytes() == index


def test_opening_a_long_session_takes_little_memory(tmp_path: Path) -> None:
    """With its index and without: far less than the file has bytes."""
    import tracemalloc

    path = long(4000, 8000).write(tmp_path / "long.jsonl")
    size = path.stat().st_size
    assert size > 30_000_000
    for most in (12_000_000, 3_000_000):  # first without an index
        tracemalloc.start()
        journal = FileJournal(str(path))
        state = journal.load().state
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        journal.close()
        assert state is not None
        assert state.count == 16_000
        assert peak < most, peak


def test_a_conversation_no_request_could_hold_keeps_its_end_and_its_facts(tmp_path: Path) -> None:
    """Without any compaction in it: the older part becomes a summary that is still to be recorded."""
    writer = Writer(pad=100_000)
    for number in range(500):
        writer.turn(str(number))
    path = writer.write(tmp_path / "huge.jsonl")
    with opened_tree(str(path)) as tree:
        state = tree.fold.state
        assert everything(tree.fold) == Fold(writer.records).state.messages

    assert state.shortened is not None
    assert sum(len(getattr(m, "text", "")) for m in state.context) < 33 << 20
    assert state.context[1].id == state.shortened.first_kept
    assert "prompt 0" in getattr(state.context[0], "text", "")
    assert "f0.py" not in getattr(state.context[0], "text", ""), "the newest sixty files are named"
    assert "f240.py" in getattr(state.context[0], "text", "")
    recorded = Fold(state=seen(str(path)).state)
    recorded.add(Record(9999, "x", "", "t", state.shortened))
    assert recorded.state.context == pruned(state.context, frozenset())
