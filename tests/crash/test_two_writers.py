"""Two processes want the same session a thousand times: one has it, the other is told who; nothing is lost."""

from __future__ import annotations

import os
import time
from pathlib import Path

from wisp.messages.message import user
from wisp.session.fold import Fold
from wisp.session.journal import FileJournal, read_only
from wisp.session.lock import Locked
from wisp.session.records import MessageRecord, Record

ROUNDS = 500
"""Of each writer."""


def write(path: str, name: str, pipe: int) -> None:
    """Try again and again; tell each record that was acknowledged, and each refusal with its delay."""
    for number in range(ROUNDS):
        began = time.monotonic()
        try:
            journal = FileJournal(path)
        except Locked as exc:
            late = time.monotonic() - began
            os.write(pipe, f"refused\t{late:.6f}\t{exc.holder}\t{name}\n".encode())
            time.sleep(0)
            continue
        state = Fold(journal.load().records).state
        record_id = f"{name}{number}"
        body = MessageRecord(user(record_id))
        journal.append([Record(state.next_seq, record_id, state.leaf, "t", body)], sync=False)
        os.write(pipe, f"wrote {record_id}\n".encode())
        journal.close()


def test_two_writers_a_thousand_rounds(tmp_path: Path) -> None:
    """Every acknowledged record is there once, in an unbroken row; every refusal was quick and named the other."""
    path = str(tmp_path / "s.jsonl")
    reading, writing = os.pipe()
    children = []
    for name in "ab":
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                write(path, name, writing)
            finally:
                os._exit(0)
        children.append(child)
    os.close(writing)
    with open(reading) as file:
        said = file.read().splitlines()
    for child in children:
        assert os.waitpid(child, 0)[1] == 0

    wrote = [line.split()[1] for line in said if line.startswith("wrote")]
    refused = [line.split("\t") for line in said if line.startswith("refused")]
    assert len(wrote) + len(refused) == 2 * ROUNDS
    loaded = read_only(path)
    assert loaded.damage == ()
    assert sorted(record.id for record in loaded.records) == sorted(wrote)
    assert [record.seq for record in loaded.records] == list(range(1, len(wrote) + 1))
    assert sum(float(line[1]) > 0.1 for line in refused) == 0
    names = {
        name: f"process {child} on {os.uname().nodename}" for name, child in zip("ab", children, strict=True)
    }
    assert {line[2] for line in refused} <= {*names.values(), "another process"}
    assert all(line[2] != names[line[3]] for line in refused), "a refusal named the one that was refused"
