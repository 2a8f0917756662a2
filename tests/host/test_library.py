"""Trust decisions are kept privately and bound to the folder; a stored session is shown without a change."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from wisp.host.library import TrustBook, list_sessions, show_session
from wisp.messages.ids import FixedClock
from wisp.session.catalog import NoSuchSession, folder_name

GOLDEN = Path(__file__).parents[1] / "golden" / "session-v1.jsonl"


@pytest.fixture
def book(tmp_path: Path) -> TrustBook:
    return TrustBook(str(tmp_path / "state" / "wisp" / "trust.json"), FixedClock())


def test_decisions_are_remembered_replaced_and_forgotten(book: TrustBook, tmp_path: Path) -> None:
    folder, other = tmp_path / "app", tmp_path / "app-evil"
    folder.mkdir()
    other.mkdir()
    assert book.state(str(folder)) == "undecided"
    book.decide(str(folder), True)
    assert book.state(str(folder)) == "trusted"
    assert book.state(str(other)) == "undecided"
    book.decide(str(folder), False)
    assert (book.state(str(folder)), len(book.records())) == ("revoked", 1)
    book.forget(str(folder))
    assert book.records() == ()


def test_a_folder_that_was_replaced_or_lies_below_is_undecided(book: TrustBook, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    (folder / "sub").mkdir(parents=True)
    book.decide(str(folder), True)
    assert book.state(str(folder / "sub")) == "undecided"
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert book.state(str(link)) == "trusted"
    folder.rename(tmp_path / "old")
    folder.mkdir()
    assert book.state(str(folder)) == "undecided"
    shutil.rmtree(folder)
    assert book.state(str(folder)) == "undecided"
    with pytest.raises(OSError):
        book.decide(str(folder), True)


def test_the_file_is_private_and_a_broken_one_trusts_nothing_and_is_kept(
    book: TrustBook, tmp_path: Path
) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    book.decide(str(folder), True)
    path = tmp_path / "state" / "wisp" / "trust.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.write_text('[{"trusted": true,]')
    assert book.state(str(folder)) == "undecided"
    book.decide(str(folder), True)
    assert book.state(str(folder)) == "trusted"
    assert Path(f"{path}.broken").read_text() == '[{"trusted": true,]'


def test_a_stored_session_is_listed_and_shown_without_a_change(tmp_path: Path) -> None:
    path = tmp_path / folder_name("/w") / "01kbsession.jsonl"
    path.parent.mkdir()
    shutil.copy(GOLDEN, path)
    with open(path, "ab") as file:
        file.write(b'{"v":1,"torn')
    before = path.read_bytes()
    assert [info.id for info in list_sessions(str(tmp_path))] == ["01kbsession"]
    content = show_session(str(tmp_path), "01k")
    assert (content.session_id, content.cwd, len(list(content.messages))) == (
        "01kbsession",
        "/home/u/café",
        2,
    )
    assert "cut off" in content.notes[0]
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
    with pytest.raises(NoSuchSession):
        show_session(str(tmp_path), "02")
