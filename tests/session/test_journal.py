"""A session file: nothing acknowledged is lost, damage is isolated and told, a torn tail is moved aside."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from session_world import records

from wisp.messages.message import user
from wisp.session.codec import MAX_LINE, encode
from wisp.session.journal import FileJournal, read_only
from wisp.session.records import AuditRecord, MessageRecord, Record
from wisp.session.storage import Loaded, StorageFailed
from wisp.session.whole import create_private_folder


def record(seq: int, text: str = "") -> Record:
    return Record(seq, f"id{seq}", "", "2026-01-01T00:00:00.000Z", MessageRecord(user(text or f"text {seq}")))


THREE = [record(1), record(2), record(3)]


def load(path: Path) -> Loaded:
    journal = FileJournal(str(path))
    try:
        return journal.load()
    finally:
        journal.close()


def append(path: Path, *more: Record) -> Loaded:
    journal = FileJournal(str(path))
    try:
        loaded = journal.load()
        journal.append(more, sync=True)
        return loaded
    finally:
        journal.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    create_private_folder(str(folder))
    return folder / "s.jsonl"


@given(made=records())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_appended_is_loaded(tmp_path_factory: pytest.TempPathFactory, made: list[Record]) -> None:
    path = tmp_path_factory.mktemp("s") / "s.jsonl"
    for one in made:
        append(path, one)
    assert list(load(path).records) == made
    assert path.read_bytes() == b"".join(map(encode, made))
    assert load(path) == read_only(str(path)) == Loaded(tuple(made), (), 1)


@pytest.mark.parametrize("torn", range(len(encode(THREE[2]))))
def test_torn_tail_at_every_byte_is_moved_aside_and_appending_goes_on(path: Path, torn: int) -> None:
    whole = encode(THREE[0]) + encode(THREE[1])
    tail = encode(THREE[2])[:torn]
    path.write_bytes(whole + tail)
    assert len(read_only(str(path)).records) == (3 if torn == len(encode(THREE[2])) - 1 else 2)
    assert path.read_bytes() == whole + tail, "reading changed the file"
    loaded = append(path, record(9))
    complete = torn == len(encode(THREE[2])) - 1
    assert list(loaded.records) == (THREE if complete else THREE[:2])
    after = load(path)
    assert list(after.records) == [*loaded.records, record(9)]
    if torn and not complete:
        assert loaded.damage[0].offset == len(whole)
        assert f"{torn} bytes" in loaded.damage[0].message
        assert Path(loaded.damage[0].kept_in).read_bytes() == tail
        assert stat.S_IMODE(os.stat(loaded.damage[0].kept_in).st_mode) == 0o600
    else:
        assert loaded.damage == ()


def test_300_good_lines_and_a_stub_load_whole_with_one_warning(path: Path) -> None:
    many = [record(n) for n in range(1, 301)]
    path.write_bytes(b"".join(map(encode, many)) + b'{"type":"mess')
    loaded = load(path)
    assert list(loaded.records) == many
    assert len(loaded.damage) == 1
    assert loaded.damage[0].offset == len(b"".join(map(encode, many)))


def test_two_torn_tails_at_one_place_are_both_kept(path: Path) -> None:
    kept = []
    for tail in (b"first", b"second"):
        path.write_bytes(encode(THREE[0]) + tail)
        kept.append(load(path).damage[0].kept_in)
    assert [Path(name).read_bytes() for name in kept] == [b"first", b"second"]


def test_every_flipped_byte_costs_at_most_its_own_record_and_is_told(path: Path) -> None:
    data = b"".join(map(encode, THREE))
    bounds = [0]
    for one in THREE:
        bounds.append(bounds[-1] + len(encode(one)))
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 0x20
        path.write_bytes(damaged)
        loaded = read_only(str(path))
        hit = next(n for n in range(3) if place < bounds[n + 1])
        whole = [one for n, one in enumerate(THREE) if n != hit]
        found = list(loaded.records)
        assert found in (whole, THREE), place
        assert found == THREE or loaded.damage, place


def test_glued_line_gives_the_record_after_the_stub_and_names_the_gap(path: Path) -> None:
    path.write_bytes(encode(record(1)) + encode(record(2))[:20] + encode(record(3)))
    loaded = load(path)
    assert [r.seq for r in loaded.records] == [1, 3]
    assert "20 bytes are lost" in loaded.damage[0].message
    assert "records 2 to 2 are missing" in loaded.damage[1].message
    assert append(path, record(4)).records == loaded.records


def test_two_records_on_one_line_are_both_found(path: Path) -> None:
    path.write_bytes(encode(record(1)).rstrip() + encode(record(2)) + encode(record(3)))
    assert list(load(path).records) == THREE


def test_a_good_record_before_a_torn_one_without_a_line_end_is_kept(path: Path) -> None:
    path.write_bytes(encode(record(1)).rstrip() + encode(record(2))[:30])
    assert list(append(path, record(2)).records) == THREE[:1]
    assert list(load(path).records) == THREE[:2]
    assert load(path).damage == ()


@pytest.mark.parametrize("tail", [b"\x00" * 4096, b"\x00", b" ", b"\r", b"\xff\xfe", b"{", b'{"v":1', b"}"])
def test_junk_after_the_last_record_is_moved_aside(path: Path, tail: bytes) -> None:
    path.write_bytes(b"".join(map(encode, THREE)) + tail)
    assert list(append(path, record(4)).records) == THREE
    after = load(path)
    assert list(after.records) == [*THREE, record(4)]
    assert after.damage == ()


@pytest.mark.parametrize("junk", [b"\x00" * 4096 + b"\n", b"not json\n", b"\n", b"\r\n", b"{}\n"])
def test_junk_between_records_hides_none_of_them(path: Path, junk: bytes) -> None:
    path.write_bytes(encode(THREE[0]) + junk + encode(THREE[1]) + encode(THREE[2]))
    assert list(load(path).records) == THREE


def test_bom_and_crlf_are_read_and_appending_goes_on(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + b"".join(encode(r).replace(b"\n", b"\r\n") for r in THREE))
    assert append(path, record(4)) == Loaded(tuple(THREE), (), 1)
    assert len(load(path).records) == 4


def test_gaps_and_repeats_are_told_and_nothing_is_renumbered(path: Path) -> None:
    path.write_bytes(b"".join(map(encode, [record(1), record(2), record(4)])))
    loaded = load(path)
    assert [r.seq for r in loaded.records] == [1, 2, 4]
    assert "records 3 to 3 are missing" in loaded.damage[0].message
    path.write_bytes(b"".join(map(encode, [record(1), record(2), record(2, "other")])))
    loaded = load(path)
    assert [r.seq for r in loaded.records] == [1, 2, 2]
    assert "record 2 comes again" in loaded.damage[0].message
    path.write_bytes(encode(record(3)))
    assert "records 1 to 2 are missing" in load(path).damage[0].message


def test_a_file_of_a_newer_format_is_read_and_not_touched(path: Path) -> None:
    newer = Record(4, "n", "", "t", AuditRecord("k", {}), 999)
    data = b"".join(map(encode, [*THREE, newer])) + b"torn"
    path.write_bytes(data)
    loaded = load(path)
    assert loaded.newest_version == 999
    assert len(loaded.records) == 4
    assert path.read_bytes() == data
    assert sorted(p.name for p in path.parent.iterdir()) == ["s.jsonl", "s.jsonl.lock"]


def test_an_empty_file_and_no_file_are_empty_sessions(path: Path) -> None:
    assert load(path) == Loaded((), (), 0)
    assert load(path) == Loaded((), (), 0)
    assert path.read_bytes() == b""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_line_beyond_the_limit_is_skipped_in_bounded_memory(path: Path) -> None:
    import tracemalloc

    with open(path, "wb") as file:
        file.write(encode(THREE[0]))
        file.writelines(b"x" * (1 << 20) for _ in range(MAX_LINE // (1 << 20) * 2 + 3))
        file.write(b"\n" + encode(THREE[1]) + encode(THREE[2]))
    tracemalloc.start()
    loaded = load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert loaded.state is not None
    assert [m.text for m in loaded.state.messages] == ["text 1", "text 2", "text 3"]  # type: ignore[union-attr]
    assert "longer than" in loaded.damage[0].message
    assert peak < 4 * MAX_LINE


@pytest.mark.slow
def test_a_record_that_could_not_be_read_again_is_refused_not_acknowledged(path: Path) -> None:
    journal = FileJournal(str(path))
    journal.load()
    with pytest.raises(StorageFailed, match="too large"):
        journal.append([record(1), record(2, "x" * MAX_LINE)], sync=True)
    journal.append([record(1)], sync=True)
    journal.close()
    assert list(load(path).records) == THREE[:1]


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_files_are_for_this_user_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        folder = tmp_path / "state" / "wisp" / "sessions" / "-w"
        create_private_folder(str(folder))
        append(folder / "s.jsonl", record(1))
    finally:
        os.umask(old)
    for made in (folder, *[folder.parents[n] for n in range(3)]):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700, made
    for name in folder.iterdir():
        assert stat.S_IMODE(name.stat().st_mode) == 0o600, name


def test_a_session_file_that_others_could_read_is_made_private(path: Path) -> None:
    path.write_bytes(encode(THREE[0]))
    path.chmod(0o666)
    assert len(load(path).records) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_existing_folder_is_left_alone_and_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    create_private_folder(str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        create_private_folder(str(tmp_path / "file" / "x"))


def test_closing_twice_does_nothing(path: Path) -> None:
    journal = FileJournal(str(path))
    journal.close()
    journal.close()


def _replaced(path: Path) -> None:
    other = path.with_suffix(".other")
    other.write_bytes(b"")
    other.replace(path)


@pytest.mark.parametrize(
    ("meddle", "said"),
    [
        (lambda path: path.unlink(), "was removed"),
        (_replaced, "was removed"),
        (lambda path: os.truncate(path, 10), "instead of"),
        (lambda path: path.write_bytes(b""), "instead of"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "instead of"),
    ],
)
@pytest.mark.parametrize("sync", [False, True])
def test_what_is_written_after_somebody_removed_or_changed_the_file_is_never_acknowledged(
    path: Path, meddle: Callable[[Path], object], said: str, sync: bool
) -> None:
    """Written to a file without a name, or behind a lost beginning, it would be kept nowhere."""
    journal = FileJournal(str(path))
    journal.load()
    journal.append(THREE[:2], sync=True)
    meddle(path)
    left = path.read_bytes() if path.exists() else b""
    with pytest.raises(StorageFailed, match=said):
        journal.append(THREE[2:], sync=sync)
    journal.close()
    assert (path.read_bytes() if path.exists() else b"") == left


def test_a_file_that_was_moved_is_written_on(path: Path) -> None:
    """It is all there, under its new name."""
    journal = FileJournal(str(path))
    journal.load()
    journal.append(THREE[:2], sync=True)
    path.rename(path.with_name("moved.jsonl"))
    journal.append(THREE[2:], sync=True)
    journal.close()
    assert list(load(path.with_name("moved.jsonl")).records) == THREE
