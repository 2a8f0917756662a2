"""Stored sessions can be branched, named, shelved, mended and found, and nothing of them is lost by it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from session_writer import Writer

from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import configure
from wisp.host.store import TRASH_DAYS, SessionStore
from wisp.host.tidying import prune_outputs, tidy
from wisp.messages.content import Text, ToolCall
from wisp.messages.ids import FixedClock
from wisp.messages.message import AssistantMessage, UserMessage
from wisp.session.branches import NoSuchEntry
from wisp.session.catalog import NoSuchSession, session_path
from wisp.session.fold import Fold
from wisp.session.journal import FileJournal, read_only
from wisp.session.records import AuditRecord, CompactionRecord, LabelRecord, LeafRecord
from wisp.session.references import referred


@pytest.fixture
def base(tmp_path: Path) -> str:
    return str(tmp_path / "sessions")


@pytest.fixture
def store(base: str) -> SessionStore:
    return SessionStore(base, FixedClock())


def stored(base: str, writer: Writer, name: str = "01aa") -> Path:
    return writer.write(Path(session_path(base, "/w", name)))


def branched() -> Writer:
    """Turns 1 and 2; back to the end of 1; turn 3, with a compaction in it."""
    writer = Writer()
    writer.turn("1")
    writer.turn("2")
    writer.add(LeafRecord("b1", "undo"))
    writer.turn("3")
    writer.add(CompactionRecord("so far", "u3", (), "manual"))
    writer.turn("4")
    writer.add(LabelRecord("a3", "good place"))
    return writer


def context_of(path: str) -> list[str]:
    return [m.id for m in Fold(read_only(path).records).state.context]


def test_the_tree_shows_every_message_once_with_its_branches(base: str, store: SessionStore) -> None:
    writer = branched()
    stored(base, writer)
    rows = store.tree("01aa")

    assert sorted(row.id for row in rows) == sorted(f"{k}{n}" for n in "1234" for k in "uatb")
    assert [row.id for row in rows if row.current] == [f"{k}{n}" for n in "134" for k in "uatb"]
    assert [row.id for row in rows if row.depth] == ["u2", "a2", "t2", "b2"]
    assert [(row.id, row.label) for row in rows if row.label] == [("a3", "good place")]
    assert [row.id for row in rows if row.leaf] == ["b4"]
    assert rows[-1].leaf


@pytest.mark.parametrize("entry", ["b2", "a3", "good place", "11", "u4", ""])
def test_a_fork_goes_on_from_any_entry_with_the_context_that_was_there(
    base: str, store: SessionStore, entry: str
) -> None:
    """Compared with the source after a move to the same place; the source is byte for byte as it was."""
    path = stored(base, branched())
    before = path.read_bytes()
    made = store.fork("01aa", entry)

    assert path.read_bytes() == before
    assert read_only(made.path).damage == ()
    target = {"good place": "a3", "11": "t3", "": "b4"}.get(entry, entry)
    writer = branched()
    writer.add(LeafRecord(target, "navigate"))
    wanted = Fold(writer.records).state
    got = Fold(read_only(made.path).records).state
    assert (got.context, got.messages, got.leaf) == (wanted.context, wanted.messages, target)
    assert got.header is not None
    assert (got.header.session_id, got.header.cwd) == (made.id, "/w")
    assert got.header.forked_from == f"long@{target}"
    assert made.messages == len(got.messages)


def test_a_fork_of_a_session_in_use_is_made_and_damage_stays_behind(base: str, store: SessionStore) -> None:
    path = stored(base, branched())
    data = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(data) + data[-1][:30])
    holder = FileJournal(str(path))
    made = store.fork("01aa")
    holder.close()

    assert read_only(made.path).damage == ()


def test_a_clone_has_every_branch_byte_for_byte_under_its_own_id(base: str, store: SessionStore) -> None:
    path = stored(base, branched())
    made = store.clone("01aa")

    theirs, ours = path.read_bytes().splitlines(), Path(made.path).read_bytes().splitlines()
    assert ours[1:] == theirs[1:]
    assert [row.id for row in store.tree(made.id)] == [row.id for row in store.tree("01aa")]
    header = Fold(read_only(made.path).records).state.header
    assert header is not None
    assert (header.session_id, header.forked_from) == (made.id, "long@")


def test_moving_between_branches_and_taking_it_back(base: str, store: SessionStore) -> None:
    path = str(stored(base, branched()))
    here = context_of(path)
    assert store.go("01aa", "b2").id == "b2"
    assert context_of(path) == [f"{k}{n}" for n in "12" for k in "uatb"]
    assert store.go("01aa", "good place").id == "a3"
    back = store.back("01aa")
    assert back is not None
    assert back.id == "b2"
    back = store.back("01aa")
    assert back is not None
    assert back.id == "b4"
    assert context_of(path) == here
    with pytest.raises(OpenFailed, match="no move"):
        store.back("01aa")
    for wrong in ("zz", "u", "99", "0"):
        with pytest.raises(NoSuchEntry, match=f"{wrong!r}"):
            store.go("01aa", wrong)


def test_names_and_labels_are_in_the_list_and_can_be_taken_back(base: str, store: SessionStore) -> None:
    stored(base, branched())
    store.rename("01aa", "  the   good\none ")
    assert [info.name for info in store.listed()] == ["the good one"]
    store.rename("01aa", "")
    assert [info.name for info in store.listed()] == [""]
    assert store.label("01aa", "3", "here").label == "here"
    assert store.label("01aa", "here", "").label == ""


def test_the_name_of_a_long_session_is_in_the_list(base: str, store: SessionStore) -> None:
    """With its index and without, as long as it stands near the end."""
    writer = Writer(pad=3000)
    for number in range(500):
        writer.turn(str(number))
    path = stored(base, writer)
    store.rename("01aa", "big one")
    assert [info.name for info in store.listed()] == ["big one"]
    os.unlink(f"{path}.index")
    os.unlink(Path(base) / ".list")
    assert [info.name for info in store.listed()] == ["big one"]


def test_a_session_in_use_is_not_changed_and_its_holder_named(base: str, store: SessionStore) -> None:
    path = stored(base, branched())
    before = path.read_bytes()
    holder = FileJournal(str(path))
    for work in (
        lambda: store.rename("01aa", "x"),
        lambda: store.go("01aa", "b2"),
        lambda: store.archive("01aa"),
        lambda: store.remove("01aa"),
    ):
        with pytest.raises(OpenFailed, match=f"process {os.getpid()}"):
            work()
    holder.close()
    assert path.read_bytes() == before


def test_archive_trash_and_back(base: str, store: SessionStore) -> None:
    """The file is the same; it is in one list at a time; side files come along."""
    path = stored(base, branched())
    before = path.read_bytes()
    Path(f"{path}.torn-7").write_bytes(b"torn")
    for put, shelf in ((store.archive, "archive"), (store.remove, "trash")):
        info = put("01aa")
        assert (info.shelf, Path(info.path).read_bytes()) == (shelf, before)
        assert Path(f"{info.path}.torn-7").read_bytes() == b"torn"
        assert [store.listed(shelf=s) != [] for s in ("", "archive", "trash")] == [
            False,
            shelf == "archive",
            shelf == "trash",
        ]
        with pytest.raises(NoSuchSession):
            store.tree("01aa")
        store.restore("01aa")
    assert path.read_bytes() == before
    with pytest.raises(NoSuchSession):
        store.restore("01aa")


def test_pruning_takes_what_is_old_and_unnamed_and_empties_the_trash_later(base: str) -> None:
    for name, age, title in (("01aa", 100, ""), ("01bb", 100, "kept"), ("01cc", 1, "")):
        path = stored(base, branched(), name)
        if title:
            SessionStore(base, FixedClock()).rename(name, title)
        then = path.stat().st_mtime - age * 86_400
        os.utime(path, (then, then))
    now = Path(base).stat().st_mtime
    store = SessionStore(base, FixedClock(now))
    assert [i.id for i in store.prune(30, do_it=False)] == ["01aa"]
    assert len(store.listed()) == 3
    store.prune(30, do_it=True)
    assert {i.id for i in store.listed()} == {"01bb", "01cc"}
    assert [i.id for i in store.listed(shelf="trash")] == ["01aa"]
    later = SessionStore(base, FixedClock(now + (TRASH_DAYS + 1) * 86_400))
    assert [i.id for i in later.prune(None, do_it=True)] == ["01aa"]
    assert store.listed(shelf="trash") == []
    trash = Path(base) / ".trash"
    assert list(trash.rglob("*.jsonl*")) == []


def test_one_in_use_stays_and_the_others_go(base: str) -> None:
    for name in ("01aa", "01bb"):
        path = stored(base, branched(), name)
        then = path.stat().st_mtime - 100 * 86_400
        os.utime(path, (then, then))
    journal = FileJournal(str(path))
    store = SessionStore(base, FixedClock(Path(base).stat().st_mtime))
    assert [info.id for info in store.prune(30, do_it=True)] == ["01aa"]
    journal.close()
    assert [info.id for info in store.listed()] == ["01bb"]


def test_old_sessions_go_by_themselves_where_the_user_wants_it(tmp_path: Path) -> None:
    """A project cannot ask for it."""
    home, work = tmp_path / "home", tmp_path / "work"
    (work / ".wisp").mkdir(parents=True)
    (work / ".wisp" / "settings.toml").write_text("session_days = 1\n")
    base = home / "state" / "sessions"
    now = tmp_path.stat().st_mtime

    def left(options: dict[str, int]) -> list[str]:
        clock = FixedClock(now)
        request = OpenRequest(cwd=str(work), options=options, trust=True)
        tidy(configure(request, {"WISP_HOME": str(home)}, clock), clock)
        return [info.id for info in SessionStore(str(base), clock).listed()]

    for name, age in (("01aa", 100), ("01bb", 10)):
        path = stored(str(base), branched(), name)
        os.utime(path, (now - age * 86_400, now - age * 86_400))
    assert left({}) == ["01bb", "01aa"]
    assert left({"session_days": 50}) == ["01bb"]
    assert left({"session_days": 5}) == []


def test_kept_outputs_that_no_session_names_go_when_they_are_old_or_too_many(tmp_path: Path) -> None:
    """The oldest first; links and folders are not ours, and what a session names stays while it does."""
    home, base = tmp_path / "home", tmp_path / "home" / "state" / "sessions"
    folder = tmp_path / "home" / "state" / "output"
    request = OpenRequest(cwd=str(tmp_path))
    configured = configure(request, {"WISP_HOME": str(home)}, FixedClock(1e9))
    assert prune_outputs(configured, 1e9) == (0, 0, 0)
    folder.mkdir(parents=True)
    for age in range(1, 6):
        path = folder / f"bash-{age}.log"
        path.write_bytes(b"x" * 100)
        os.utime(path, (1e9 - age * 86_400,) * 2)
    (folder / "elsewhere").symlink_to(tmp_path / "kept")
    (folder / "sub").mkdir()
    os.utime(folder / "elsewhere", (0, 0), follow_symlinks=False)
    os.utime(folder / "sub", (0, 0))
    writer = Writer()
    writer.turn(f"all of it is in {folder}/bash-5.log]")
    session = stored(str(base), writer, "01aa")
    assert prune_outputs(configured, 1e9, days=3.5, most=1 << 20) == (4, 400, 100)
    assert prune_outputs(configured, 1e9, days=30, most=350) == (3, 300, 100)
    left = [name for name in sorted(os.listdir(folder)) if not name.startswith(".")]
    assert left == ["bash-1.log", "bash-2.log", "bash-5.log", "elsewhere", "sub"]

    store = SessionStore(str(base), FixedClock(1e9))
    twin = store.clone("01aa")
    store.remove("01aa")
    os.unlink(twin.path)
    assert prune_outputs(configured, 1e9, days=0, most=0).files == 1, "it can come back from the trash"
    os.unlink(store.listed(shelf="trash")[0].path)
    assert not os.path.exists(session)
    assert prune_outputs(configured, 1e9, days=0, most=0).files == 0


def test_which_outputs_sessions_name_is_remembered_and_never_trusted_too_far(tmp_path: Path) -> None:
    """Only what grew is read again; a file of the same name that is another, and a lost cache, are read whole."""
    folder = tmp_path / "sessions" / "-w"
    folder.mkdir(parents=True)
    path = folder / "01aa.jsonl"
    names = [f"sha256-{letter * 64}.log" for letter in "abcd"]

    def named() -> list[str]:
        return sorted(referred(str(tmp_path / "sessions"), names))

    assert named() == []
    path.write_text(f"in /s/output/{names[0]}]\n")
    assert named() == names[:1]
    with path.open("a") as file:
        file.write("x" * (1 << 20) + f"in /s/.output/{names[1]}; in /s/output/{names[2]}"[:-20])
    assert named() == names[:2], "half a name is none"
    with path.open("a") as file:
        file.write(f"output/{names[2]}"[-20:])
    assert named() == names[:3]
    path.unlink()
    path.write_text(f"output/{names[3]} and then much more than there was" + "." * (2 << 20))
    assert named() == names[3:]
    for spoilt in (b"", b"00000000junk", os.urandom(100)):
        (tmp_path / "sessions" / ".references").write_bytes(spoilt)
        assert named() == names[3:]
    (folder / "01bb.jsonl.torn-7").write_text(f"output/{names[0]}")
    assert named() == [names[0], names[3]]
    (folder / "01cc.jsonl").symlink_to(path)
    with pytest.raises(OSError, match="symbolic"):
        named()


@pytest.mark.parametrize("text", ["PROMPT 2", "f3.py", "Grüße", "GRÜSSE", "the name", "good place"])
def test_words_are_found_wherever_they_were_said(base: str, store: SessionStore, text: str) -> None:
    writer = branched()
    writer.say(UserMessage((Text("schöne Grüße\nan alle grüsse"),), "umlaut"))
    stored(base, writer)
    stored(base, Writer(), "01bb")
    store.rename("01aa", "the name")
    found = list(store.find(text))

    assert [shown.info.id for shown in found] == ["01aa"]
    assert all(match.text for match in found[0].matches)
    store.archive("01aa")
    assert [shown.info.shelf for shown in store.find(text)] == ["archive"]


def test_nothing_is_found_in_what_nobody_said(base: str, store: SessionStore) -> None:
    """Neither field names nor audit records are words of the conversation."""
    writer = branched()
    writer.add(AuditRecord("approval", {"what": "secret plan"}))
    stored(base, writer)
    assert [list(store.find(text)) for text in ("call_id", "secret plan", "nobody said this")] == [[], [], []]


def test_repair_says_what_is_wrong_and_leaves_a_file_without_faults(base: str, store: SessionStore) -> None:
    """A flipped byte, a torn tail and an open call; the old file is kept, every whole record is in the new one."""
    writer = branched()
    writer.say(AssistantMessage((ToolCall("open", "bash", "{}"),), "open", "tool_calls"))
    path = stored(base, writer)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[5] = lines[5].replace(b"u2", b"u9", 1)
    broken = b"".join(lines) + b'{"v":1,"seq":99'
    path.write_bytes(broken)
    faults, _ = store.repair("01aa", do_it=False)
    assert path.read_bytes() == broken
    said = " ".join(faults.found)
    assert "checksum" in said
    assert "missing" in said
    assert "15 bytes at the end" in said
    assert faults.open_calls == ("call open (bash): never started, and is told so",)

    _, kept = store.repair("01aa", do_it=True)
    assert Path(kept).read_bytes() == broken
    again, _ = store.repair("01aa", do_it=False)
    assert (again.found, again.records) == ((), faults.records + 1)
    loaded = read_only(str(path))
    assert loaded.damage == ()
    new = path.read_bytes().splitlines()
    assert new[:5] == [line.rstrip() for line in lines[:5]]
    assert isinstance(loaded.records[-1].body, AuditRecord)
    assert loaded.records[-1].body.facts["notes"] == list(faults.found)


def test_repair_works_on_a_file_from_elsewhere_without_touching_it(
    base: str, store: SessionStore, tmp_path: Path
) -> None:
    """Without its first record, too."""
    source = tmp_path / "theirs.jsonl"
    lines = branched().write(source).read_bytes().splitlines(keepends=True)
    source.write_bytes(b"".join(lines[2:]))
    before = source.read_bytes()
    out = tmp_path / "new" / "mended.jsonl"
    faults, where = store.repair(str(source), do_it=True, output=str(out))

    assert any("first record" in sentence for sentence in faults.found)
    assert (where, source.read_bytes()) == (str(out), before)
    loaded = read_only(str(out))
    assert loaded.damage == ()
    header = Fold(loaded.records).state.header
    assert header is not None
    assert header.session_id == "theirs"
    nonsense = tmp_path / "notes.txt"
    nonsense.write_text("hello\n")
    with pytest.raises(OpenFailed, match="no whole record"):
        store.repair(str(nonsense), do_it=False)


def test_only_the_last_messages_are_read_for_a_screen(base: str, store: SessionStore) -> None:
    writer = Writer(pad=3000)
    for number in range(500):
        first = writer.turn(str(number))
        if number % 100 == 99:
            writer.add(CompactionRecord("so far", first, (), "threshold"))
    stored(base, writer)

    assert [m.id for m in store.last("01aa", 3)] == ["a499", "t499", "b499"]
    assert [m.id for m in store.last("01aa", 30)] == [m.id for m in Fold(writer.records).state.messages[-30:]]


def test_a_file_that_was_written_twice_over_is_mended_to_what_it_was(base: str, store: SessionStore) -> None:
    """As a copy that was appended to itself: every record once, in its order, and nothing left to be told."""
    path = stored(base, branched())
    once = read_only(str(path)).records
    path.write_bytes(path.read_bytes() * 2)
    faults, _ = store.repair("01aa", do_it=False)
    assert f"{len(once)} records stand twice; the first of each counts" in faults.found
    store.repair("01aa", do_it=True)
    mended = read_only(str(path))
    assert mended.records[: len(once)] == once
    assert len(mended.records) == len(once) + 1, "and one that says what was mended"
    assert (mended.damage, Fold(mended.records).state.notes) == ((), [])
