"""Finding sessions: a folder name stands for one folder, a prefix for one session, newest first."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.messages.message import user
from wisp.session.catalog import (
    NoSuchSession,
    describe,
    folder_name,
    latest,
    resolve,
    session_path,
    sessions,
)
from wisp.session.codec import encode
from wisp.session.records import MessageRecord, Record, SessionHeader

FOLDER = st.lists(
    st.text(st.characters(exclude_characters="/\x00", codec="utf-8"), min_size=1, max_size=12)
    | st.sampled_from(["-", "%", "%2D", "a-b", "a", "b", "2D", "-a", "..."])
    | st.text("x-%", min_size=60, max_size=90),
    max_size=5,
).map(lambda parts: "/" + "/".join(parts))


@given(FOLDER, FOLDER)
def test_two_folders_never_share_a_name(a: str, b: str) -> None:
    assert (folder_name(a) == folder_name(b)) == (a == b)


@given(FOLDER)
def test_a_folder_name_is_one_harmless_path_component(folder: str) -> None:
    name = folder_name(folder)
    assert "/" not in name
    assert name not in ("", ".", "..")
    assert len(os.fsencode(name)) <= 200


def test_neighbours_that_others_have_confused_differ() -> None:
    assert (
        len({folder_name(f) for f in ("/a/b-c", "/a-b/c", "/a/b/c", "/a-b-c", "/a%2Db/c", "/a\udc80")}) == 6
    )


def store(base: Path, cwd: str, name: str, *texts: str, at: float = 1.0) -> Path:
    path = Path(session_path(str(base), cwd, name))
    path.parent.mkdir(parents=True, exist_ok=True)
    bodies = [SessionHeader(name, cwd), *[MessageRecord(user(text)) for text in texts]]
    path.write_bytes(b"".join(encode(Record(n, f"i{n}", "", "t", body)) for n, body in enumerate(bodies, 1)))
    os.utime(path, (at, at))
    return path


def test_listing_is_newest_first_with_title_and_folder(tmp_path: Path) -> None:
    store(tmp_path, "/w/a", "01aa", "first prompt\nmore", "second", at=10)
    store(tmp_path, "/w/b", "01bb", "other", at=30)
    store(tmp_path, "/w/a", "01cc", at=20)
    listed = sessions(str(tmp_path))
    assert [(s.id, s.cwd, s.title, s.modified) for s in listed] == [
        ("01bb", "/w/b", "other", 30.0),
        ("01cc", "/w/a", "", 20.0),
        ("01aa", "/w/a", "first prompt", 10.0),
    ]
    assert [s.id for s in sessions(str(tmp_path), "/w/a")] == ["01cc", "01aa"]
    assert latest(str(tmp_path), "/w/a") == listed[1].path
    assert latest(str(tmp_path), "/w/none") is None
    assert sessions(str(tmp_path / "missing")) == []


def test_a_prefix_finds_its_one_session(tmp_path: Path) -> None:
    path = store(tmp_path, "/w/a", "01aab")
    store(tmp_path, "/w/b", "01abc")
    store(tmp_path, "/w/b", "01abcd")
    assert resolve(str(tmp_path), "01AA") == str(path)
    assert resolve(str(tmp_path), "01abc").endswith("01abc.jsonl")
    for prefix, word in (
        ("01ab", "2 sessions"),
        ("0", "3 sessions"),
        ("zz", "no session"),
        ("", "no session"),
    ):
        with pytest.raises(NoSuchSession, match=word):
            resolve(str(tmp_path), prefix)
    with pytest.raises(NoSuchSession):
        resolve(str(tmp_path), "../")


def test_links_pipes_folders_and_damage_do_not_disturb_the_list(tmp_path: Path) -> None:
    good = store(tmp_path, "/w", "01aa", "x")
    (good.parent / "02.jsonl").symlink_to(good)
    os.mkfifo(good.parent / "03.jsonl")
    (good.parent / "04.jsonl").mkdir()
    (good.parent / "05.jsonl").write_bytes(b"\x00" * 100 + b"\n{}\n")
    (good.parent / "06.jsonl.lock").write_text("")
    (tmp_path / "stray").write_text("")
    assert {s.id for s in sessions(str(tmp_path))} == {"01aa", "05"}
    os.remove(good.parent / "05.jsonl")
    assert latest(str(tmp_path), "/w") == str(good)
    (good.parent / "05.jsonl").write_bytes(b"\x00" * 100 + b"\n{}\n")
    assert next(s for s in sessions(str(tmp_path)) if s.id == "05").title == ""


def test_a_listing_reads_the_head_only(tmp_path: Path) -> None:
    path = store(tmp_path, "/w", "01aa", "title")
    with open(path, "ab") as file:
        file.truncate(10 << 30)
    info = describe(str(path))
    assert info is not None
    assert (info.title, info.size) == ("title", 10 << 30)
