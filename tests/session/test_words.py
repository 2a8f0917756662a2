"""What a search with the index finds is what reading every record finds, and the index is never more than help."""

from __future__ import annotations

import os
import random
import signal
import socket
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_writer import Writer

from wisp.host.client import OpenRequest
from wisp.host.configure import configure
from wisp.host.scrubbing import scrub_session
from wisp.host.store import TRASH_DAYS, SessionStore
from wisp.messages.content import Text, ToolCall
from wisp.messages.ids import FixedClock, SystemClock
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage
from wisp.session.catalog import session_path
from wisp.session.codec import encode
from wisp.session.find import matches
from wisp.session.journal import read_only
from wisp.session.records import LabelRecord, MessageRecord, TitleRecord
from wisp.session.words import spans, words_path

LETTERS = 'abAB  \n\0"\\%_*?^-()[]äÄßſKkİıΣσςéのはΩ漢字🙂\x01\x7f\ud800'
words = st.text(st.sampled_from(LETTERS), max_size=12)


def said_by(path: Path) -> list[str]:
    """Everything that was said in a session, told by its records alone."""
    said = []
    for record in read_only(str(path)).records:
        body = record.body
        if isinstance(body, MessageRecord):
            message = body.message
            said.append(message.text)
            if isinstance(message, AssistantMessage):
                said[-1] = "\n".join([message.text, *(f"{c.name} {c.arguments}" for c in message.calls)])
        elif isinstance(body, TitleRecord):
            said.append(body.name)
        elif isinstance(body, LabelRecord):
            said.append(body.label)
    return said


def holding(paths: list[Path], text: str) -> dict[str, int]:
    """How often `text` was said in which session, three at most: the second implementation."""
    counts = {p.stem: sum(text.casefold() in s.casefold() for s in said_by(p)) for p in paths}
    return {name: min(count, 3) for name, count in counts.items() if count}


def found_by(store: SessionStore, text: str) -> dict[str, int]:
    return {shown.info.id: len(shown.matches) for shown in store.find(text)}


def write(base: Path, name: str, texts: list[str]) -> Path:
    writer = Writer()
    for number, text in enumerate(texts):
        kind = number % 4
        if kind == 0:
            writer.say(UserMessage((Text(text),), f"u{number}"))
        elif kind == 1:
            call = ToolCall(f"c{number}", "edit", text)
            writer.say(AssistantMessage((Text(text[::-1]), call), f"a{number}", "tool_calls"))
        elif kind == 2:
            writer.say(ToolResult(f"c{number - 1}", "edit", (Text(text * 3),), id=f"t{number}"))
        else:
            writer.add(LabelRecord("u0", text) if number % 8 == 3 else TitleRecord(text))
    return writer.write(Path(session_path(str(base), "/w", name)))


@settings(deadline=None, max_examples=60)
@given(
    sessions=st.lists(st.lists(words, max_size=9), min_size=1, max_size=4),
    asked=st.lists(words, min_size=1, max_size=4),
    taken=st.data(),
)
def test_a_search_finds_what_reading_every_record_finds(
    tmp_path_factory: pytest.TempPathFactory,
    sessions: list[list[str]],
    asked: list[str],
    taken: st.DataObject,
) -> None:
    """Of any letters, in any case, one, two or more of them, also such as mean something to a search engine."""
    base = tmp_path_factory.mktemp("sessions")
    paths = [write(base, f"01{number:04}", texts) for number, texts in enumerate(sessions)]
    store = SessionStore(str(base), SystemClock())
    parts = [text for texts in sessions for text in texts if text]
    if parts:
        whole = taken.draw(st.sampled_from(parts))
        start = taken.draw(st.integers(0, len(whole) - 1))
        piece = whole[start : taken.draw(st.integers(start + 1, len(whole)))]
        asked = [*asked, piece, piece.upper(), piece.lower(), piece.casefold()]
    for text in asked:
        assert found_by(store, text) == holding(paths, text), repr(text)
        assert all(
            len(matches(str(path), text)) == holding(paths, text).get(path.stem, 0) for path in paths
        ), f"read without an index: {text!r}"


def test_sessions_that_grow_move_and_are_rewritten_are_found_as_they_are(tmp_path: Path) -> None:
    """Many rounds of what happens to sessions; the index answers for every one of them as it stands then."""
    base, chance = tmp_path / "sessions", random.Random(5)
    store = SessionStore(str(base), SystemClock())
    alphabet = ["alpha ", "Beta", "γάμμα", "delta\n", "x", "日本", "zz "]

    def text(length: int) -> str:
        return "".join(chance.choice(alphabet) for _ in range(length))

    paths: list[Path] = []
    for turn in range(60):
        deed = chance.randrange(5)
        if deed == 0 or len(paths) < 3:
            size = chance.choice([5, 5, 20_000])
            paths.append(write(base, f"01{turn:04}", [text(size) for _ in range(chance.randrange(1, 9))]))
        elif deed == 1:
            path = chance.choice(paths)
            last = read_only(str(path)).records[-1]
            record = MessageRecord(UserMessage((Text(text(6)),), f"n{turn}"))
            with path.open("ab") as file:
                file.write(encode(type(last)(last.seq + 1, f"n{turn}", "", last.at, record)))
        elif deed == 2:
            chance.choice(paths).unlink()
            paths = [path for path in paths if path.exists()]
        elif deed == 3:
            path = chance.choice(paths)
            path.unlink()
            write(base, path.stem, [text(7) for _ in range(8)])
        asked = [text(chance.randrange(1, 4)), chance.choice(["a", "al", "ΓΆ", "本日", "%", "*", "q"])]
        for words in asked:
            assert found_by(store, words) == holding(paths, words), (turn, words)


def test_later_searches_read_a_small_part_of_the_sessions(tmp_path: Path) -> None:
    """What is not there is told without opening a session; a rare word by one block of it."""
    lines = [f"def f{number}(x): return x + {number}\n" * 40 for number in range(2000)]
    lines[1200] = "here stands the Xylophone"
    path = write(tmp_path, "01aa", lines)
    clock = SystemClock().monotonic

    def asked(text: str) -> list[tuple[int, int]] | None:
        return spans(str(tmp_path), [str(path)], text, clock, 600.0)[str(path)]

    assert asked("nobody said this") == []
    blocks = asked("xylophone")
    assert blocks is not None
    assert len(blocks) == 1
    assert sum(stop - start for start, stop in blocks) < path.stat().st_size / 20
    assert os.stat(words_path(str(tmp_path))).st_size < path.stat().st_size / 2


def test_without_time_for_the_index_the_files_are_read_and_the_next_search_goes_on(tmp_path: Path) -> None:
    paths = [write(tmp_path, f"01a{number}", ["needle " * 30_000] * 8) for number in range(3)]
    names = [str(path) for path in paths]
    ticks = iter(range(10_000))
    seen = []
    for _ in range(50):
        answer = spans(str(tmp_path), names, "needle", lambda: float(next(ticks)), 4.0)
        seen.append(sum(found is not None for found in answer.values()))
        if seen[-1] == 3:
            break
    assert (seen[0], seen[-1]) == (0, 3)
    assert seen == sorted(seen)


@pytest.mark.parametrize(
    "kind", ["junk", "empty", "folder", "link", "pipe", "name", "socket", "newer", "locked", "damaged"]
)
def test_an_index_that_cannot_be_used_never_costs_a_result(tmp_path: Path, kind: str) -> None:
    texts = ["the needle in it", "and more"]
    path = write(tmp_path, "01aa", texts)
    store, place = SessionStore(str(tmp_path), SystemClock()), Path(words_path(str(tmp_path)))
    victim = tmp_path / "victim"
    victim.write_text("kept")
    held = None
    if kind == "junk":
        place.write_bytes(b"SQLite format 3\0" + os.urandom(5000))
    elif kind == "empty":
        place.touch()
    elif kind == "folder":
        place.mkdir()
    elif kind == "link":
        place.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "name":
        os.link(victim, place)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(place))
    elif kind == "newer":
        with sqlite3.connect(place) as newer:
            newer.execute("CREATE TABLE files (other TEXT)")
            newer.execute("PRAGMA user_version = 99")
    elif kind == "locked":
        held = sqlite3.connect(place, isolation_level=None)
        held.execute("BEGIN EXCLUSIVE")
    else:
        assert found_by(store, "needle") == {"01aa": 1}
        data = bytearray(place.read_bytes())
        data[4096:] = os.urandom(len(data) - 4096)
        place.write_bytes(data)
        write(tmp_path, "01bb", texts)
    expected = {"01aa": 1, "01bb": 1} if kind == "damaged" else {"01aa": 1}
    for _ in range(2):
        assert found_by(store, "needle") == expected
    assert victim.read_text() == "kept"
    if held is not None:
        held.close()
    assert path.exists()
    if kind in ("link", "pipe", "name", "socket"):
        assert stat.S_ISREG(place.lstat().st_mode)
        with closing(sqlite3.connect(place)) as again:
            assert again.execute("SELECT count(*) FROM blocks").fetchone() == (1,), "an index again"
        assert os.lstat(victim).st_nlink == 1


TAMPERED = {
    "a session is said to be known, and is not": "DELETE FROM blocks WHERE name = '01aa.jsonl'",
    "a block is gone": "DELETE FROM blocks WHERE id = (SELECT min(id) FROM blocks)",
    "the last block is gone": "DELETE FROM blocks WHERE id = (SELECT max(id) FROM blocks)",
    "a part is not asked": "DELETE FROM holds",
    "its end is before its end": "DELETE FROM blocks; UPDATE files SET upto = 0",
    "it ends where a block ends": "DELETE FROM blocks WHERE id = (SELECT max(id) FROM blocks);"
    " UPDATE files SET upto = (SELECT coalesce(max(stop), 0) FROM blocks b WHERE b.name = files.name)",
    "a view in the place of a table": "ALTER TABLE files RENAME TO was; CREATE VIEW files AS SELECT * FROM was LIMIT 0",
    "a view that says more": "ALTER TABLE holds RENAME TO was; CREATE VIEW holds AS SELECT 0 AS segment, name FROM files",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON files BEGIN DELETE FROM blocks; END",
    "a table more": "CREATE TABLE more (x)",
    "another table": "DROP TABLE holds; CREATE TABLE holds (segment INT, name TEXT COLLATE NOCASE)",
    "another index of letters": "DROP TABLE grams_0; CREATE VIRTUAL TABLE grams_0 USING fts5(said, tokenize='ascii')",
    "no index of letters": "DROP TABLE grams_0",
    "an older version": "PRAGMA user_version = 1",
}


@pytest.mark.parametrize("name", TAMPERED)
def test_an_index_that_somebody_took_something_out_of_hides_nothing(tmp_path: Path, name: str) -> None:
    """Nor does what was put into it run: the trigger empties what a search relies on."""
    long = ["the needle in it", *(f"{number} " + "straw " * 2000 for number in range(30)), "another needle"]
    write(tmp_path, "01aa", long)
    write(tmp_path, "01bb", ["no such word", "a second needle"])
    store = SessionStore(str(tmp_path), SystemClock())
    expected = found_by(store, "needle")
    assert set(expected) == {"01aa", "01bb"}
    with closing(sqlite3.connect(words_path(str(tmp_path)), isolation_level=None)) as tampered:
        tampered.executescript(TAMPERED[name])
    write(tmp_path, "01cc", ["a third needle"])

    for _ in range(2):
        assert found_by(store, "needle") == {**expected, "01cc": 1}
    with closing(sqlite3.connect(words_path(str(tmp_path)))) as mended:
        odd = mended.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger') OR name = 'more'"
        )
        assert odd.fetchall() == []


@pytest.mark.parametrize(("start", "stop"), [("x", None), (-5, 999), (9, 3), (0.5, 7), (0, b"7")])
def test_a_block_that_is_none_never_costs_a_result(tmp_path: Path, start: object, stop: object) -> None:
    write(tmp_path, "01aa", ["the needle in it"])
    store = SessionStore(str(tmp_path), SystemClock())
    assert found_by(store, "needle") == {"01aa": 1}
    damaged = sqlite3.connect(words_path(str(tmp_path)), isolation_level=None)
    damaged.execute("UPDATE blocks SET start = ?, stop = ?", (start, stop))
    damaged.close()

    for _ in range(2):
        assert found_by(store, "needle") == {"01aa": 1}


def test_the_index_is_private(tmp_path: Path) -> None:
    write(tmp_path, "01aa", ["word"])
    old = os.umask(0)
    try:
        assert found_by(SessionStore(str(tmp_path), SystemClock()), "word")
    finally:
        os.umask(old)
    for name in os.listdir(tmp_path):
        if name.startswith(".words"):
            assert stat.S_IMODE(os.lstat(tmp_path / name).st_mode) == 0o600


def grams_kept(base: Path, gram: str) -> bool:
    """Whether three letters stand anywhere in the bytes of the index."""
    return gram.encode() in Path(words_path(str(base))).read_bytes()


def test_nothing_of_a_deleted_session_stays_in_the_index(tmp_path: Path) -> None:
    home = tmp_path / "sessions"
    path = write(home, "01aa", ["the word qzjx stands here"])
    write(home, "01bb", ["other words"])
    clock = FixedClock(time.time())
    store = SessionStore(str(home), clock)
    assert found_by(store, "qzjx") == {"01aa": 1}
    assert grams_kept(home, "qzj")
    store.remove("01aa")
    assert found_by(store, "qzjx") == {}, "the trash is not searched"
    late = SessionStore(str(home), FixedClock(time.time() + (TRASH_DAYS + 1) * 86_400))
    assert [info.id for info in late.prune(None, do_it=True)] == ["01aa"]
    assert not path.exists()
    assert not grams_kept(home, "qzj")
    assert found_by(store, "other words") == {"01bb": 1}


def test_nothing_of_a_session_that_somebody_deleted_by_hand_stays_after_the_next_search(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "01aa", ["the word qzjx stands here"])
    write(tmp_path, "01bb", ["other words"])
    store = SessionStore(str(tmp_path), SystemClock())
    assert found_by(store, "qzjx") == {"01aa": 1}
    path.unlink()
    assert found_by(store, "other") == {"01bb": 1}
    assert not grams_kept(tmp_path, "qzj")


def test_nothing_of_a_scrubbed_credential_stays_in_the_index(tmp_path: Path) -> None:
    env = {"WISP_HOME": str(tmp_path), "OPENAI_API_KEY": "qzjx-private-0123456789abcdef"}
    configured = configure(OpenRequest(cwd=str(tmp_path)), env, SystemClock())
    base = Path(configured.session_base)
    write(base, "01aa", [f"my key is {env['OPENAI_API_KEY']}, well"])
    store = SessionStore(str(base), SystemClock())
    assert found_by(store, "qzjx-pri") == {"01aa": 1}
    assert grams_kept(base, "qzj")
    scrub_session(configured, env, "01aa", do_it=True)
    assert not grams_kept(base, "qzj")
    assert found_by(store, "qzjx-pri") == {}
    assert found_by(store, "my key is") == {"01aa": 1}


@pytest.mark.slow
def test_searches_killed_at_any_moment_leave_an_index_that_tells_the_truth(tmp_path: Path) -> None:
    """SQLite's own writes are not numbered as ours are: SIGKILL at 60 moments of growing sessions."""
    chance = random.Random(9)
    paths = [write(tmp_path, f"01a{n}", [f"start {n}"]) for n in range(4)]
    store = SessionStore(str(tmp_path), SystemClock())
    killed = 0
    for turn in range(60):
        path = chance.choice(paths)
        text = " ".join(f"word{chance.randrange(400)}" for _ in range(chance.choice([5, 30_000])))
        last = read_only(str(path)).records[-1]
        record = MessageRecord(UserMessage((Text(text),), f"n{turn}"))
        with path.open("ab") as file:
            file.write(encode(type(last)(last.seq + 1, f"n{turn}", "", last.at, record)))
        child = os.fork()
        if child == 0:
            try:
                list(store.find("word7 "))
            finally:
                os._exit(0)
        time.sleep(chance.random() * 0.03)
        os.kill(child, signal.SIGKILL)
        killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        if turn % 5 == 4:
            for words in ("word7 ", "word39", f"start {turn % 4}", "rd", "nowhere"):
                assert found_by(store, words) == holding(paths, words), (turn, words)
    assert killed > 5, "hardly any search was under way when it was killed"
