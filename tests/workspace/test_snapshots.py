"""A folder put back to a snapshot is the folder that was, byte for byte and mode for mode."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from wisp.workspace.snapshots import Conflict, Snapshots, compare
from wisp.workspace.store import ObjectStore, StoreFull

Shape = dict[str, tuple[str, int, bytes]]


def shape(top: Path, skip: tuple[str, ...] = (".git",)) -> Shape:
    """What a second, plain reading of the folder says: kind, mode, contents."""
    found: Shape = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if name.split("/")[0] in skip:
            continue
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            found[name] = ("link", 0, os.readlink(path).encode())
        elif stat.S_ISDIR(status.st_mode):
            found[name] = ("folder", stat.S_IMODE(status.st_mode), b"")
        else:
            found[name] = ("file", stat.S_IMODE(status.st_mode), path.read_bytes())
    return found


class Folder:
    """A folder with its snapshots."""

    def __init__(self, top: Path, store: Path, cap: int = 1 << 30) -> None:
        top.mkdir(exist_ok=True)
        self.top = top
        self.fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
        self.store = ObjectStore(str(store), cap)
        self.snapshots = Snapshots(self.fd, str(top.resolve()), self.store, str(store.parent / "journals"))

    def undo(self, before: str, after: str) -> list[str]:
        pair = (self.snapshots.load(before), self.snapshots.load(after))
        return [f"{change.what} {change.path}" for change in self.snapshots.restore(pair)]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A small project."""
    found = Folder(tmp_path / "work", tmp_path / "store")
    (found.top / "a.py").write_text("a = 1\n")
    (found.top / "tool.sh").write_text("#!/bin/sh\n")
    (found.top / "tool.sh").chmod(0o755)
    (found.top / "sub").mkdir()
    (found.top / "sub" / "b.txt").write_bytes(bytes(range(256)))
    (found.top / "link").symlink_to("a.py")
    (found.top / "empty").mkdir(mode=0o700)
    return found


def test_what_a_command_changed_made_and_deleted_is_undone_and_redone(folder: Folder) -> None:
    """Files, modes, links, folders; then the undo is undone."""
    before_shape, before = shape(folder.top), folder.snapshots.take()
    subprocess.run(
        "sed -i s/1/2/ a.py; rm -r sub; mkdir -p new/deep; echo x > new/deep/f; chmod 644 tool.sh; "
        "ln -sf tool.sh link; rmdir empty; echo was-a-folder > empty",
        shell=True,
        cwd=folder.top,
        check=True,
    )
    after_shape, after = shape(folder.top), folder.snapshots.take()

    folder.undo(before, after)
    assert before_shape == shape(folder.top)
    folder.undo(after, before)
    assert after_shape == shape(folder.top)


def test_a_change_by_somebody_else_refuses_the_undo_and_touches_nothing(folder: Folder) -> None:
    """The conflict is named; unrelated outside changes are no conflict and stay."""
    before = folder.snapshots.take()
    (folder.top / "a.py").write_text("agent\n")
    (folder.top / "made.txt").write_text("agent\n")
    after = folder.snapshots.take()
    (folder.top / "sub" / "b.txt").write_text("person, elsewhere\n")
    (folder.top / "a.py").write_text("person\n")
    standing = shape(folder.top)

    with pytest.raises(Conflict) as conflict:
        folder.undo(before, after)
    assert conflict.value.paths == ["a.py"]
    assert standing == shape(folder.top)

    (folder.top / "a.py").write_text("agent\n")
    folder.undo(before, after)
    assert (folder.top / "a.py").read_text() == "a = 1\n"
    assert (folder.top / "sub" / "b.txt").read_text() == "person, elsewhere\n"
    assert not (folder.top / "made.txt").exists()


def test_ignored_files_and_the_repository_itself_are_left_alone(folder: Folder) -> None:
    """Index, HEAD, refs and what .gitignore names are as they were."""

    def git(*args: str) -> bytes:
        who = ("-c", "user.name=n", "-c", "user.email=e")
        return subprocess.run(["git", *who, *args], cwd=folder.top, check=True, capture_output=True).stdout

    (folder.top / ".gitignore").write_text("build/\n*.log\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    (folder.top / "a.py").write_text("staged\n")
    git("add", "a.py")
    (folder.top / "build").mkdir()
    (folder.top / "build" / "out.o").write_text("built")
    before = folder.snapshots.take()
    state = (git("ls-files", "-s"), git("rev-parse", "HEAD"), git("for-each-ref"), git("stash", "list"))
    (folder.top / "a.py").write_text("agent\n")
    (folder.top / "build" / "out.o").write_text("rebuilt")
    (folder.top / "x.log").write_text("log")
    after = folder.snapshots.take()

    assert folder.undo(before, after) == ["changed a.py"]
    assert (folder.top / "a.py").read_text() == "staged\n"
    assert (folder.top / "build" / "out.o").read_text() == "rebuilt"
    assert (folder.top / "x.log").exists()
    assert state == (
        git("ls-files", "-s"),
        git("rev-parse", "HEAD"),
        git("for-each-ref"),
        git("stash", "list"),
    )


def test_a_link_put_in_the_way_cannot_lead_the_undo_outside(folder: Folder, tmp_path: Path) -> None:
    """Paths are followed by handles, never through links."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text("precious\n")
    before = folder.snapshots.take()
    (folder.top / "sub" / "b.txt").write_text("agent\n")
    after = folder.snapshots.take()
    shutil.rmtree(folder.top / "sub")
    (folder.top / "sub").symlink_to(outside)

    with pytest.raises(Conflict):
        folder.undo(before, after)
    assert (outside / "b.txt").read_text() == "precious\n"


def test_the_same_content_is_stored_once_and_an_unchanged_folder_costs_nothing_more(folder: Folder) -> None:
    """Objects are named by their digest; two snapshots of the same files have one id."""
    first = folder.snapshots.take()
    objects = sorted(os.listdir(folder.top.parent / "store" / "objects"))

    assert first == folder.snapshots.take()
    assert objects == sorted(os.listdir(folder.top.parent / "store" / "objects"))


def test_a_damaged_or_missing_object_refuses_before_anything_is_touched(folder: Folder) -> None:
    """Nothing is half restored."""
    before = folder.snapshots.take()
    (folder.top / "a.py").write_text("agent\n")
    (folder.top / "tool.sh").write_text("agent\n")
    after = folder.snapshots.take()
    wanted = folder.snapshots.load(before)["tool.sh"].content
    os.unlink(folder.top.parent / "store" / "objects" / wanted)
    standing = shape(folder.top)

    with pytest.raises(KeyError):
        folder.undo(before, after)
    assert standing == shape(folder.top)


@pytest.mark.parametrize(
    "name", ["../../../../../../../../dev/zero", "/dev/zero", "../pipe", "", "..", "a/b"]
)
def test_what_is_no_name_of_a_snapshot_leads_nowhere(folder: Folder, name: str) -> None:
    """It comes from a session file, which somebody else may have written."""
    before = folder.snapshots.take()
    os.mkfifo(folder.top.parent / "store" / "pipe")
    for pair in ((name, before), (before, name)):
        with pytest.raises(KeyError):
            folder.undo(*pair)


def test_the_store_stays_under_its_cap_and_keeps_the_newest(tmp_path: Path) -> None:
    """Old snapshots go first."""
    folder = Folder(tmp_path / "work", tmp_path / "store", cap=300_000)
    kept = []
    for number in range(8):
        (folder.top / "big.bin").write_bytes(random.Random(number).randbytes(100_000))
        kept.append(folder.snapshots.take())
        os.utime(tmp_path / "store" / "trees" / kept[-1], (number, number))
    for path in (tmp_path / "store" / "objects").iterdir():
        os.utime(path, (0, 0))
    folder.store.prune()

    size = sum(path.stat().st_size for path in (tmp_path / "store" / "objects").iterdir())
    assert size <= 300_000
    assert folder.snapshots.load(kept[-1])
    with pytest.raises(KeyError):
        folder.snapshots.load(kept[0])


def test_a_full_disk_is_said_and_leaves_no_half_object(folder: Folder, tmp_path: Path) -> None:
    """A file system of 64 kB."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    small = tmp_path / "small"
    small.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip("no tmpfs here")
    try:
        full = Folder(folder.top, small / "store")
        (folder.top / "big").write_bytes(bytes(200_000))
        with pytest.raises(StoreFull):
            full.snapshots.take()
        assert not [name for name in os.listdir(small / "store" / "objects") if name.startswith("new")]
    finally:
        subprocess.run(["umount", str(small)], check=True)


def _random_writes(top: Path, rnd: random.Random) -> None:
    names = [f"f{n}" for n in range(8)] + ["d/f", "d/e/f", "g"]
    for _ in range(rnd.randrange(1, 8)):
        path = top / rnd.choice(names)
        kind = rnd.randrange(6)
        try:
            if kind == 0 and path.is_file():
                path.unlink()
            elif kind == 1 and path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif kind == 2:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(rnd.randbytes(rnd.randrange(200)))
            elif kind == 3 and path.is_file() and not path.is_symlink():
                path.chmod(rnd.choice([0o600, 0o644, 0o755, 0o400]))
            elif kind == 4:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(rnd.choice(names))
            else:
                path.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue


@pytest.mark.parametrize("seed", range(int(os.environ.get("WISP_SOAK", "0")) * 460 + 40))
def test_after_any_sequence_of_writes_the_tree_equals_the_earlier_snapshot(seed: int, tmp_path: Path) -> None:
    """Random writes of every kind, undone one by one to the beginning, and all at once."""
    rnd = random.Random(seed)
    folder = Folder(tmp_path / "work", tmp_path / "store")
    _random_writes(folder.top, rnd)
    states = [(shape(folder.top), folder.snapshots.take())]
    for _ in range(3):
        _random_writes(folder.top, rnd)
        states.append((shape(folder.top), folder.snapshots.take()))

    for (wanted, before), (_, after) in zip(states[-2::-1], states[:0:-1], strict=True):
        folder.undo(before, after)
        assert wanted == shape(folder.top)
    folder.undo(states[-1][1], states[0][1])
    assert states[-1][0] == shape(folder.top)
    assert compare(folder.snapshots.load(states[-1][1]), folder.snapshots.load(folder.snapshots.take())) == []


def test_what_is_set_apart_is_neither_kept_nor_put_back(folder: Folder, tmp_path: Path) -> None:
    """Where the agent keeps its own files in the folder: they change while it works, and are not the work."""
    inner = folder.top / "sub" / "state"
    inner.mkdir()
    (inner / "log").write_text("one\n")
    apart = [str(inner), str(tmp_path / "elsewhere")]
    snapshots = Snapshots(folder.fd, str(folder.top), folder.store, str(tmp_path / "journals"), apart)
    before = snapshots.load(snapshots.take())
    (inner / "log").write_text("two\n")
    (folder.top / "a.py").write_text("a = 2\n")
    after = snapshots.load(snapshots.take())
    (inner / "log").write_text("three\n")
    assert not [path for path in {**before, **after} if path.startswith("sub/state")]
    assert [change.path for change in snapshots.restore((before, after))] == ["a.py"]
    assert (inner / "log").read_text() == "three\n"


def test_a_folder_too_large_to_be_covered_is_said_to_be_before_anything_is_copied(
    folder: Folder, tmp_path: Path
) -> None:
    """By its number of paths, or by more bytes than the store may hold; ignored files do not count."""
    there = len(shape(folder.top))
    args = (folder.fd, str(folder.top))
    assert Snapshots(*args, ObjectStore(str(tmp_path / "s1")), str(tmp_path / "j"), most=there).take()
    with pytest.raises(StoreFull, match=f"more than {there - 1} files and folders"):
        Snapshots(*args, ObjectStore(str(tmp_path / "s2")), str(tmp_path / "j"), most=there - 1).take()
    (folder.top / "big").write_bytes(bytes(5_000))
    with pytest.raises(StoreFull, match="more than 5,000 bytes that are not ignored"):
        Snapshots(*args, ObjectStore(str(tmp_path / "s3"), 5_000), str(tmp_path / "j")).take()
    (folder.top / ".gitignore").write_text("big\n")
    assert Snapshots(*args, ObjectStore(str(tmp_path / "s4"), 5_000), str(tmp_path / "j")).take()
    assert not (tmp_path / "s2").exists() and not (tmp_path / "s3").exists()
