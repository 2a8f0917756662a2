"""Several paths change as one: all, or each is what it was, also after a fault or a kill at any step."""

from __future__ import annotations

import functools
import os
import random
import signal
import stat
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from workspace.test_snapshots import shape
from workspace.users import as_user

from wisp.workspace.changelog import recover
from wisp.workspace.changeset import Base, FileChange, New, RollbackFailed, Step, apply, change_files
from wisp.workspace.errors import Refused
from wisp.workspace.files import ABSENT, digest
from wisp.workspace.root import Workspace

SOAK = os.environ.get("WISP_SOAK") == "1"
State = dict[str, tuple[int, int, int, int, bytes]]


class World:
    """A folder with files of every kind, and a change that does everything to them."""

    def __init__(self, top: Path, journal: Path) -> None:
        top.mkdir(mode=0o755)
        self.top, self.journal = top, str(journal)
        (top / "a.py").write_bytes(b"a = 1\r\n\xff")
        (top / "a.py").chmod(0o640)
        (top / "tool.sh").write_text("#!/bin/sh\n")
        (top / "tool.sh").chmod(0o755)
        (top / "gone.txt").write_text("going\n")
        (top / "sub").mkdir(mode=0o700)
        (top / "sub" / "deep").mkdir()
        (top / "sub" / "deep" / "b").write_bytes(bytes(range(256)))
        (top / "link").symlink_to("a.py")
        (top / "was-file").write_text("file\n")
        (top / "was-folder").mkdir(mode=0o750)
        (top / "was-folder" / "c").write_text("c\n")
        (top / "open").mkdir(mode=0o755)
        self.base = Base(os.open(top, os.O_RDONLY | os.O_DIRECTORY), str(top))

    def steps(self) -> list[Step]:
        def put(path: str, data: bytes, mode: int) -> Step:
            return Step(self.base, path, New("file", mode, lambda fd: os.write(fd, data)))

        return [
            put("a.py", b"a = 2\n", 0o600),
            put("tool.sh", b"new\n", 0o755),
            put("new/deep/file", b"made\n", 0o644),
            put("was-file/in", b"x\n", 0o644),
            put("was-folder", b"now a file\n", 0o644),
            Step(self.base, "new", New("folder", 0o755)),
            Step(self.base, "new/deep", New("folder", 0o700)),
            Step(self.base, "was-file", New("folder", 0o755)),
            Step(self.base, "was-folder/c", None),
            Step(self.base, "gone.txt", None),
            Step(self.base, "sub/deep/b", None),
            Step(self.base, "sub/deep", None),
            Step(self.base, "sub", None),
            Step(self.base, "link", New("link", target="tool.sh")),
            Step(self.base, "open", New("folder", 0o711)),
        ]

    def exact(self) -> State:
        """Everything that tells one file from another: also identity, owner and times."""
        found: State = {}
        for path in sorted(self.top.rglob("*")):
            status = path.lstat()
            data = os.readlink(path).encode() if path.is_symlink() else b""
            data = path.read_bytes() if stat.S_ISREG(status.st_mode) else data
            size = 0 if path.is_dir() else status.st_mtime_ns
            found[str(path.relative_to(self.top))] = (
                status.st_mode,
                status.st_ino,
                status.st_uid,
                size,
                data,
            )
        return found

    def after(self) -> dict[str, tuple[str, int, bytes]]:
        return {
            "a.py": ("file", 0o600, b"a = 2\n"),
            "tool.sh": ("file", 0o755, b"new\n"),
            "new": ("folder", 0o755, b""),
            "new/deep": ("folder", 0o700, b""),
            "new/deep/file": ("file", 0o644, b"made\n"),
            "was-file": ("folder", 0o755, b""),
            "was-file/in": ("file", 0o644, b"x\n"),
            "was-folder": ("file", 0o644, b"now a file\n"),
            "link": ("link", 0, b"tool.sh"),
            "open": ("folder", 0o711, b""),
        }


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "work", tmp_path / "journal")


def _moments(world: World) -> list[str]:
    heard: list[str] = []
    apply(world.steps(), world.journal, heard.append)
    return heard


def _at(number: int, act: Callable[[], None]) -> Callable[[str], None]:
    left = [number]

    def told(_: str) -> None:
        if left[0] == 0:
            act()
        left[0] -= 1

    return told


def _full() -> None:
    raise OSError(28, "No space left on device")


def test_everything_happens_and_nothing_is_left_beside_it(world: World) -> None:
    """Files, links, folders; one for the other; modes."""
    _moments(world)

    assert shape(world.top) == world.after()
    assert os.listdir(world.journal) == []


def test_a_fault_at_any_step_leaves_every_file_the_very_one_it_was(world: World, tmp_path: Path) -> None:
    """Bytes, mode, owner, inode and time; no temporary, no journal."""
    total = len(_moments(World(tmp_path / "other", tmp_path / "other-journal")))
    before = world.exact()
    failed = 0
    for number in range(total):
        try:
            apply(world.steps(), world.journal, _at(number, _full))
        except OSError as exc:
            assert exc.errno == 28
            failed += 1
            assert world.exact() == before, f"step {number}"
            assert os.listdir(world.journal) == []
        else:
            assert shape(world.top).items() >= world.after().items(), "the change had been committed"
            break
    assert failed > total // 2


def _killed(work: Callable[[], object]) -> bool:
    """Run `work` in a child; whether SIGKILL ended it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_a_kill_at_any_step_leaves_whole_files_and_the_next_start_rolls_back_or_finishes(
    tmp_path: Path,
) -> None:
    """After `recover` the folder is what it was before, or after: never a mixture; a second one is idle."""
    seen, number = set(), 0
    while True:
        world = World(tmp_path / f"work{number}", tmp_path / f"journal{number}")
        before, old, new = world.exact(), shape(world.top), world.after()
        kill = _at(number, lambda: os.kill(os.getpid(), signal.SIGKILL))
        if not _killed(functools.partial(apply, world.steps(), world.journal, kill)):
            break
        for path, entry in shape(world.top).items():
            if not os.path.basename(path).startswith((".wisp-tmp-", ".wisp-old-")) and entry[0] == "file":
                assert entry[2] in (old.get(path, entry)[2], new.get(path, entry)[2]), f"{path} is cut"
        said = recover(world.journal)
        for path in world.top.rglob(".wisp-tmp-*"):
            assert not os.listdir(world.journal), "only before the journal are temporaries left to the sweep"
            path.unlink() if path.is_symlink() or path.is_file() else path.rmdir()
        if shape(world.top) == new:
            seen.add("after")
        else:
            assert world.exact() == before, f"step {number}: {said}"
            seen.add("before")
        assert recover(world.journal) == [] == os.listdir(world.journal)
        number += 1
    assert seen == {"before", "after"}


def test_a_change_that_is_being_made_is_not_rolled_back_by_another_start(world: World) -> None:
    """The journal is locked while its owner lives."""
    heard: list[list[str]] = []
    apply(world.steps(), world.journal, lambda _: heard.append(recover(world.journal)))

    assert not any(heard)
    assert shape(world.top) == world.after()


def test_what_somebody_else_put_there_meanwhile_is_left_and_the_old_content_named(world: World) -> None:
    """The rollback says what it could not do; the rest is back."""

    def meddle(moment: str) -> None:
        if moment == "commit":
            (world.top / "a.py").unlink()
            (world.top / "a.py").write_text("theirs\n")
            _full()

    with pytest.raises(RollbackFailed) as failed:
        apply(world.steps(), world.journal, meddle)

    (sentence,) = failed.value.left
    assert str(world.top / "a.py") in sentence
    kept = Path(sentence.rpartition(" is ")[2])
    assert kept.read_bytes() == b"a = 1\r\n\xff"
    assert (world.top / "a.py").read_text() == "theirs\n"
    assert (world.top / "gone.txt").read_text() == "going\n"
    assert recover(world.journal) == [sentence], "the next start says so too"
    kept.rename(world.top / "a.py")
    recover(world.journal)
    assert os.listdir(world.journal) == []


def test_a_file_changed_between_the_check_and_the_change_is_stale(world: World) -> None:
    """And nothing else is changed either."""
    old = shape(world.top)

    def meddle(moment: str) -> None:
        if moment == "journal":
            (world.top / "a.py").write_text("theirs, longer\n")

    with pytest.raises(Refused) as refused:
        apply(world.steps(), world.journal, meddle)

    assert refused.value.code == "stale_input"
    assert (world.top / "a.py").read_text() == "theirs, longer\n"
    now = shape(world.top)
    assert {path: now[path] for path in now if path != "a.py"} == {p: old[p] for p in old if p != "a.py"}


def test_files_by_place_are_checked_first_and_named(tmp_path: Path) -> None:
    """Wrong digests, links, hard links, two names for one file."""
    (tmp_path / "w").mkdir()
    workspace = Workspace(str(tmp_path / "w"))
    (tmp_path / "w" / "a").write_text("a")
    (tmp_path / "w" / "b").write_text("b")
    (tmp_path / "w" / "soft").symlink_to("a")
    os.link(tmp_path / "w" / "b", tmp_path / "w" / "hard")

    def code(*changes: tuple[str, bytes | None, str]) -> str:
        whole = [FileChange(workspace.place(path), data, expected) for path, data, expected in changes]
        with pytest.raises(Refused) as refused:
            change_files(workspace, whole, str(tmp_path / "j"))
        assert (tmp_path / "w" / "a").read_text() == "a"
        return refused.value.code

    good = ("a", b"new", digest(b"a"))
    assert code(good, ("new", b"x", digest(b"other"))) == "stale_input"
    assert code(("a", b"new", digest(b"other"))) == "stale_input"
    assert code(good, ("soft", b"x", digest(b"a"))) == "is_link"
    assert code(good, ("hard", b"x", digest(b"b"))) == "hard_linked"
    assert code(good, good) == "invalid_path"
    change_files(
        workspace,
        [
            FileChange(workspace.place("a"), None, digest(b"a")),
            FileChange(workspace.place("x/y/z"), b"n", ABSENT),
        ],
        str(tmp_path / "j"),
    )
    assert not (tmp_path / "w" / "a").exists()
    assert (tmp_path / "w" / "x/y/z").read_bytes() == b"n"
    workspace.close()


def test_a_new_file_whose_name_was_taken_meanwhile_is_stale_and_the_other_file_is_kept(
    tmp_path: Path,
) -> None:
    """Nobody's file is written over."""
    (tmp_path / "w").mkdir()
    workspace = Workspace(str(tmp_path / "w"))

    def meddle(moment: str) -> None:
        if moment == "put x":
            (tmp_path / "w" / "x").write_text("theirs")

    with pytest.raises(Refused) as refused:
        change_files(
            workspace, [FileChange(workspace.place("x"), b"ours", ABSENT)], str(tmp_path / "j"), meddle
        )

    assert refused.value.code == "stale_input"
    assert shape(tmp_path / "w") == {"x": ("file", 0o644, b"theirs")}
    workspace.close()


def test_without_permission_for_one_none_is_changed(public: Path) -> None:
    """An ordinary user, a folder that may not be written."""
    (public / "locked").mkdir()
    (public / "locked" / "b").write_text("b")
    (public / "a").write_text("a")
    (public / "a").chmod(0o666)
    (public / "locked").chmod(0o555)

    def work() -> None:
        workspace = Workspace(str(public))
        both = [
            FileChange(workspace.place("a"), b"new", digest(b"a")),
            FileChange(workspace.place("locked/b"), b"new", digest(b"b")),
        ]
        with pytest.raises(Refused) as refused:
            change_files(workspace, both, str(public / "j"))
        assert refused.value.code == "permission_denied"

    as_user(work)
    assert ((public / "a").read_text(), (public / "locked" / "b").read_text()) == ("a", "b")


@pytest.mark.parametrize("seed", range(2000 if SOAK else 60))
def test_any_set_of_changes_with_a_fault_anywhere_is_all_or_nothing(seed: int, tmp_path: Path) -> None:
    """Random files and contents, a fault at a random moment."""
    rnd = random.Random(seed)
    top = tmp_path / "w"
    top.mkdir()
    names = ["a", "b", "c", "d/e", "d/f", "g/h/i"]
    expected: dict[str, bytes] = {}
    for name in rnd.sample(names, rnd.randrange(1, 6)):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        expected[name] = rnd.randbytes(rnd.randrange(300))
        (top / name).write_bytes(expected[name])
    workspace = Workspace(str(top))
    changes, wanted = [], dict(expected)
    for name in rnd.sample(names, rnd.randrange(1, 6)):
        known = digest(expected[name]) if name in expected else ABSENT
        data = None if name in expected and rnd.random() < 0.3 else rnd.randbytes(rnd.randrange(300))
        changes.append(FileChange(workspace.place(name), data, known))
        wanted.pop(name, None)
        if data is not None:
            wanted[name] = data
    before = shape(top)
    try:
        change_files(workspace, changes, str(tmp_path / "j"), _at(rnd.randrange(40), _full))
    except Refused as refused:
        assert refused.code == "disk_full"
        assert shape(top) == before
    else:
        recover(str(tmp_path / "j"))
        assert {p: e[2] for p, e in shape(top).items() if e[0] == "file"} == wanted
    assert not [name for name in shape(top) if ".wisp-" in name and not name.startswith("j")]
    workspace.close()
