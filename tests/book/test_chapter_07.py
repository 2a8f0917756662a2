"""Promises of chapter 7: what was acknowledged is there again, and what comes back is lawful."""

import json
import os
import subprocess
import sys
import zlib
from dataclasses import asdict
from pathlib import Path

import pytest
from examples.crafting_agents.core import Message, ToolCall
from examples.crafting_agents.journal import (
    CRASHED,
    Busy,
    DurableConversation,
    Journal,
    Record,
    decode_message,
    decode_record,
    encode_record,
    fold,
    load,
    mend,
)
from examples.crafting_agents.steering import NOT_STARTED, check_lawful
from hypothesis import given
from hypothesis import strategies as st

CHECKOUT = Path(__file__).resolve().parents[2]
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
calls = st.builds(ToolCall, text, text, st.dictionaries(text, text, max_size=2))


def rows_of(entries):
    return [row for _, row in entries]


def ask(*ids):
    return Message("assistant", "Do.", tuple(ToolCall(one, "edit", {}) for one in ids))


def done(one):
    return Message("tool", f"done {one}", tool_call_id=one)


@given(st.integers(1, 10**9), st.integers(0, 10**9), text, st.dictionaries(text, text))
def test_a_record_comes_back_as_it_was_written(number, parent, kind, body):
    record = Record(number, parent, kind, body)
    line = encode_record(record)

    assert line.count(b"\n") == 1
    assert decode_record(line[:-1]) == record


def test_a_line_can_be_checked_with_nothing_but_crc_and_json():
    line = encode_record(Record(1, 0, "message", {"a": "ü"}))
    digits, _, rest = line.rstrip(b"\n").partition(b" ")

    assert int(digits, 16) == zlib.crc32(rest)
    assert json.loads(rest) == {"id": 1, "parent": 0, "kind": "message", "body": {"a": "ü"}}


@given(st.builds(Message, st.just("assistant"), text, st.tuples(calls), st.none()))
def test_a_message_survives_json(message):
    assert decode_message(json.loads(json.dumps(asdict(message)))) == message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"00000000",
        b"00000000 {}",
        b"zzzzzzzz {}",
        b"%08x {}" % zlib.crc32(b"{}"),
        b"%08x 5" % zlib.crc32(b"5"),
    ],
)
def test_a_line_that_is_no_record_is_refused_quietly(line):
    assert decode_record(line) is None


def sample(path, kinds=("user", "ask", "intent", "done", "end")):
    journal = Journal(path)
    conversation = DurableConversation(journal)
    steps = {
        "user": lambda: conversation.add(Message("user", "Go.")),
        "ask": lambda: conversation.add(ask("1", "2")),
        "intent": lambda: conversation.begin(ToolCall("1", "edit", {})),
        "done": lambda: (conversation.add(done("1")), conversation.add(done("2"))),
        "end": lambda: conversation.add(Message("assistant", "End.")),
    }
    for kind in kinds:
        steps[kind]()
    journal.close()
    return path.read_bytes()


def test_a_finished_line_is_never_lost_and_an_unfinished_one_is_set_aside(tmp_path):
    data = sample(tmp_path / "j.jsonl")
    whole = load(data).records
    for length in range(len(data) + 1):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(data[:length])
        journal = Journal(path)
        finished = data[:length].count(b"\n")
        assert journal.records == whole[:finished]
        assert path.read_bytes() == b"".join(map(encode_record, whole[:finished]))
        aside = path.with_suffix(".torn")
        assert (aside.read_bytes() if aside.exists() else b"") == data[:length].rpartition(b"\n")[2]
        check_lawful(rows_of(fold(journal.records, journal.leaf)))
        assert journal.append("note", {}).id == finished + 1
        journal.close()
        assert load(path.read_bytes()).damage == []
        aside.unlink(missing_ok=True)


def test_any_changed_byte_is_reported_and_costs_no_more_than_its_neighbours(tmp_path):
    data = sample(tmp_path / "j.jsonl")
    whole = load(data).records
    for place in range(len(data)):
        for flip in (1, 0x80, 0xFF):
            loaded = load(data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :])
            assert loaded.damage
            assert all(record in whole for record in loaded.records)
            assert len(loaded.records) >= len(whole) - 2
            check_lawful(rows_of(fold(loaded.records, len(whole))))


def test_a_missing_line_in_the_middle_is_noticed(tmp_path):
    lines = sample(tmp_path / "j.jsonl").splitlines(keepends=True)

    assert load(b"".join(lines[:2] + lines[3:])).damage == ["line 3: records before it are missing"]


@pytest.mark.parametrize(
    ("kinds", "results"),
    [
        (("user", "ask"), [NOT_STARTED, NOT_STARTED]),
        (("user", "ask", "intent"), [CRASHED, NOT_STARTED]),
        (("user", "ask", "intent", "done"), ["done 1", "done 2"]),
    ],
)
def test_an_intent_tells_a_call_that_may_have_acted_from_one_that_has_not(tmp_path, kinds, results):
    sample(tmp_path / "j.jsonl", kinds)
    journal = Journal(tmp_path / "j.jsonl")

    assert [row.content for row in DurableConversation(journal).rows if row.role == "tool"] == results
    journal.close()


messages = st.one_of(
    st.builds(lambda ids: ask(*ids), st.lists(st.sampled_from("abcd"), max_size=3, unique=True)),
    st.builds(done, st.sampled_from("abcd")),
    st.just(Message("user", "Go on.")),
)


@given(st.lists(messages, max_size=12), st.sets(st.sampled_from("abcd")))
def test_mending_makes_anything_lawful_and_changes_nothing_lawful(rows, started):
    mended = mend(list(enumerate(rows)), started)

    check_lawful(rows_of(mended))
    assert mend(mended, started) == mended
    kept = [row for row in rows if row.role != "tool"]
    assert [row for row in rows_of(mended) if row.role != "tool"] == kept


def test_two_branches_share_their_beginning_and_nothing_else(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    conversation = DurableConversation(journal)
    conversation.add(Message("user", "Go."))
    conversation.add(Message("assistant", "Left."))
    left = journal.leaf
    journal.branch(1)
    journal.append("message", asdict(Message("assistant", "Right.")))

    assert [row.content for row in rows_of(fold(journal.records, left))] == ["Go.", "Left."]
    assert [row.content for row in rows_of(fold(journal.records, journal.leaf))] == ["Go.", "Right."]
    with pytest.raises(ValueError, match="no record 9"):
        journal.branch(9)
    journal.close()


def test_audit_records_never_enter_a_request(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    conversation = DurableConversation(journal)
    conversation.add(Message("user", "Go."))
    conversation.note("approval", tool="edit", allowed=False)

    assert rows_of(fold(journal.records, journal.leaf)) == [Message("user", "Go.")]
    journal.close()


def test_one_process_writes_at_a_time_and_a_dead_one_holds_nothing(tmp_path):
    path = tmp_path / "j.jsonl"
    code = (
        "import pathlib, sys, time\n"
        "from examples.crafting_agents.journal import Journal\n"
        "journal = Journal(pathlib.Path(sys.argv[1]))\n"
        "print('open', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=CHECKOUT, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"open\n"
        with pytest.raises(Busy, match="another process"):
            Journal(path)
        process.kill()
    Journal(path).close()


def test_the_file_is_private(tmp_path):
    old = os.umask(0)
    try:
        Journal(tmp_path / "j.jsonl").close()
    finally:
        os.umask(old)

    assert (tmp_path / "j.jsonl").stat().st_mode & 0o777 == 0o600
