"""Killed, refused or cut short at every system call on files: nothing acknowledged is lost, all goes on.

Open, append, a whole run with a compaction, fork, move between branches, put away, scrub, mend and search a
session, keep outputs of commands; and undo of files.  After each fault the session is opened again and continued.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from agent_world import lawful
from crash.syscalls import Fault, Outcome, run
from session_world import STEPS, World, opened
from session_world import run as prompt
from session_writer import Writer

from wisp.host.store import SessionStore
from wisp.messages.ids import SystemClock
from wisp.messages.laws import violations
from wisp.messages.message import UserMessage, user
from wisp.session.catalog import session_path, sessions
from wisp.session.find import matches
from wisp.session.fold import Fold
from wisp.session.journal import FileJournal, read_only
from wisp.session.records import MessageRecord, Record
from wisp.session.references import referred
from wisp.session.storage import StorageFailed
from wisp.session.whole import create_private_folder, rewrite
from wisp.workspace.outputs import prune
from wisp.workspace.spool import Spool

pytestmark = pytest.mark.slow

Say = Callable[[str], None]
NAME = "01aa"


class Case(NamedTuple):
    """One thing that is done to a session."""

    name: str
    prepare: Callable[[Path], None]
    work: Callable[[Path, Say], None]
    must_stay: bool = True
    """Whether the session is afterwards still where it was."""


def place(base: Path) -> Path:
    return Path(session_path(str(base), "/w", NAME))


def store(base: Path) -> SessionStore:
    return SessionStore(str(base), SystemClock())


def nothing(base: Path) -> None:
    base.mkdir(mode=0o700, exist_ok=True)


def some(base: Path) -> None:
    writer = Writer(pad=20)
    writer.turn("1")
    writer.turn("2")
    writer.write(place(base))


def torn(base: Path) -> None:
    some(base)
    with open(place(base), "ab") as file:
        file.write(b'{"v":1,"seq":12')


def record(number: int) -> Record:
    text = f"text {number} " + "x" * 50
    return Record(number, f"new{number}", "", "2026-01-01T00:00:00.000Z", MessageRecord(user(text)))


def append(base: Path, say: Say) -> None:
    """Five appends, two of them not synced; what failed is tried again, as when space returns."""
    create_private_folder(str(place(base).parent))
    journal = FileJournal(str(place(base)))
    first = Fold(journal.load().records).state.next_seq
    waiting: list[str] = []
    for number in range(first, first + 5):
        for _ in range(2):
            try:
                journal.append([record(number)], sync=number % 2 == 0)
            except StorageFailed:
                continue
            waiting.append(f"new{number}")
            if number % 2 == 0:
                for name in waiting:
                    say(name)
                waiting = []
            break
    journal.close()


def whole_run(base: Path, say: Say) -> None:
    create_private_folder(str(place(base).parent))
    journal = FileJournal(str(place(base)))
    session, _ = opened(journal, [*STEPS, "account", "again"], World(), SystemClock())

    async def life() -> None:
        for text in ("one", "two"):
            async for _ in session.prompt(user(text)):
                for message in session.state.messages:
                    say(message.id)
            session.window.ask_for("short")

    try:
        asyncio.run(life())
    finally:
        session.close()


def fork(base: Path, say: Say) -> None:
    made = store(base).fork(NAME, "b1")
    say(f"made {made.id}")


def find(base: Path, say: Say) -> None:
    for shown in store(base).find("prompt"):
        say(f"made {shown.info.id}")


def outputs(base: Path, say: Say) -> None:
    """Three long outputs, two of them equal, each named in a synced record; then the unnamed ones are pruned."""
    append(base, lambda said: None)
    folder = str(base / ".output")
    create_private_folder(folder)
    journal = FileJournal(str(place(base)))
    first = Fold(journal.load().records).state.next_seq
    try:
        for number in range(3):
            spool = Spool(folder, f"bash-{number}.log", tail_bytes=10)
            for _ in range(3):
                spool.write(b"line\n" * (10 + number // 2))
            spool.close()
            name = f"out{number}"
            text = f"all of it is in {spool.log}" if not spool.trouble else "it was not kept"
            body = MessageRecord(user(text))
            stamp = "2026-01-01T00:00:00.000Z"
            with suppress(StorageFailed):
                journal.append([Record(first, name, "", stamp, body)], sync=True)
                first += 1
                say(name)
    finally:
        journal.close()
    prune(folder, 2e9, 0, 0, lambda names: referred(str(base), names))


def whole_outputs(base: Path) -> None:
    """Every output that a record names is there, and holds what its name says."""
    for info in sessions(str(base)):
        data = Path(info.path).read_bytes()
        for name in re.findall(rb"output/(sha256-[0-9a-f]{64}\.log)", data):
            held = (base / ".output" / name.decode()).read_bytes()
            assert name.decode() == f"sha256-{hashlib.sha256(held).hexdigest()}.log"


CASES = [
    Case("outputs", nothing, outputs),
    Case("find", some, find),
    Case("open", torn, lambda base, say: FileJournal(str(place(base))).load() and None),
    Case("append to nothing", nothing, append),
    Case("append to some", torn, append),
    Case("a run with a compaction", nothing, whole_run),
    Case("fork", some, fork),
    Case("clone", some, lambda base, say: say(f"made {store(base).clone(NAME).id}")),
    Case("navigate", some, lambda base, say: store(base).go(NAME, "b1") and None),
    Case("name", torn, lambda base, say: store(base).rename(NAME, "a name")),
    Case("scrub", some, lambda base, say: rewrite(str(place(base)), lambda line: line, keep=False)),
    Case("repair", torn, lambda base, say: store(base).repair(NAME, do_it=True) and None),
    Case("archive", some, lambda base, say: store(base).archive(NAME) and None, False),
    Case("trash", torn, lambda base, say: store(base).remove(NAME) and None, False),
]
EXPECTED = ("StorageFailed", "OSError", "OpenFailed", "NotASession", "NoSuchSession", "FileNotFoundError")


def attempt(case: Case, fault: Fault, folder: Path) -> tuple[Outcome, Path, set[str]]:
    """Prepare, do it under `fault`; also where the sessions are now and which messages were there before."""
    base = folder / "base"
    for old in (base, Path(f"{base}.left")):
        shutil.rmtree(old, ignore_errors=True)
    case.prepare(base)
    before = set()
    if place(base).exists():
        before = {r.id for r in read_only(str(place(base))).records if isinstance(r.body, MessageRecord)}
    outcome = run(lambda say: case.work(base, say), fault, base)
    left = Path(f"{base}.left")
    return outcome, left if left.exists() else base, before


def check(case: Case, outcome: Outcome, base: Path, before: set[str], *, killed: bool) -> None:
    """What was there and what was acknowledged is there, whole; every session goes on."""
    if outcome.error and not killed:
        last = outcome.error.strip().splitlines()[-1]
        assert any(name in last for name in EXPECTED) or "StorageFailed" in outcome.error, outcome.error
    infos = [*sessions(str(base)), *sessions(str(base), shelf="archive"), *sessions(str(base), shelf="trash")]
    found = [info for info in infos if info.id == NAME]
    wanted = before | {name for name in outcome.said if not name.startswith("made ")}
    if before:
        if len(found) == 2:  # moved between folders when the power failed: in both, and the same
            assert base.name.endswith(".left")
            assert Path(found[0].path).read_bytes() == Path(found[1].path).read_bytes()
            shelf = found[1].shelf
            store(base).archive(NAME) if shelf == "archive" else store(base).remove(NAME)
            assert not os.path.exists(found[0].path)
            infos = [info for info in infos if info is not found[0]]
            found = found[1:]
        assert len(found) == 1, [info.path for info in infos]
        assert not case.must_stay or not found[0].shelf
    if wanted:
        held = {r.id for r in read_only(found[0].path).records if isinstance(r.body, MessageRecord)}
        assert wanted <= held, wanted - held
    for name in (name[5:] for name in outcome.said if name.startswith("made ")):
        assert name in [info.id for info in infos]
    whole_outputs(base)
    for words in ("prompt 1", "text", "nowhere"):
        told = {shown.info.path: list(shown.matches) for shown in store(base).find(words)}
        there = {info.path: matches(info.path, words) for info in infos if info.shelf != "trash"}
        assert told == {path: found for path, found in there.items() if found}, words
    for info in infos:
        damage = read_only(info.path).damage
        assert all("cut off" in d.message for d in damage), damage
        goes_on(info.path)


def goes_on(path: str) -> None:
    """The session is opened and prompted; its history is lawful; nothing damaged is left."""
    session, provider = opened(FileJournal(path), ["I go on."], World(), SystemClock())
    events = asyncio.run(prompt(session, "go on"))
    assert events[-1].stop_reason == "model_finished"
    assert violations(provider.requests[0].messages) == []
    assert session.harness is not None
    lawful(session.harness.messages)
    assert [m.text for m in session.harness.messages if isinstance(m, UserMessage)][-1] == "go on"
    session.close()
    assert read_only(path).damage == ()


def counted(case: Case, tmp_path: Path, how: str = "") -> int:
    outcome, base, before = attempt(case, Fault(0, how), tmp_path)
    assert outcome.error == "", outcome.error
    check(case, outcome, base, before, killed=False)
    return len(outcome.calls)


@pytest.mark.parametrize("how", ["before", "after", "cut"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_killed_at_every_call_nothing_acknowledged_is_lost(case: Case, how: str, tmp_path: Path) -> None:
    """Before each call and after it; and with what was not synced gone, as when the power fails."""
    for number in range(1, counted(case, tmp_path) + 1):
        outcome, base, before = attempt(case, Fault(number, how), tmp_path)
        assert outcome.killed or outcome.error, (number, how)
        if how != "cut" or base.name.endswith(".left"):
            check(case, outcome, base, before, killed=True)


@pytest.mark.parametrize("how", ["ENOSPC", "EIO", "EROFS", "short"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_error_at_any_call_is_told_and_nothing_is_half_written(
    case: Case, how: str, tmp_path: Path
) -> None:
    """Reading calls fail too with EIO; afterwards the disk is well again."""
    for number in range(1, counted(case, tmp_path, how) + 1):
        outcome, base, before = attempt(case, Fault(number, how), tmp_path)
        assert not outcome.killed
        check(case, outcome, base, before, killed=False)
