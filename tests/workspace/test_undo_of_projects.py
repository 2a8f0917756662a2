"""Projects as they are: commands, staged changes, submodules, no repository, ignored and huge files.

After any run the undo gives the folder that was, byte for byte and mode for mode; the repository's own files
and what is ignored are as the run left them.  Forty sequences in the ordinary run, 500 with WISP_SOAK=1.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest
from workspace.test_snapshots import Folder, Shape, shape

from wisp.workspace.outside import ignored_since, too_large
from wisp.workspace.snapshots import MAX_FILE

COMMANDS = (
    "sed -i 's/1/2/' a.py",
    "echo more >> b/c.txt",
    "rm -rf b",
    "mkdir -p n/e/w && printf 'x\\0y' > n/e/w/f",
    "mv a.py moved.py",
    "chmod 700 run.sh",
    "ln -sfn b link",
    "printf '' > a.py",
    "cp -a b copy 2>/dev/null || true",
    "find . -name '*.txt' -not -path './.git/*' -delete",
    "echo built >> build/out.o",
    "echo line >> run.log",
    "rm -rf run.sh && mkdir run.sh && echo in > run.sh/in",
    "python3 -c \"import os; os.replace('b/c.txt', 'a.py')\" 2>/dev/null || true",
    "echo in-sub >> sub/lib.py 2>/dev/null || true",
    "truncate -s 3G huge.bin && echo >> huge.bin",
)
IGNORED = ("build", "run.log", ".git")


def git(top: Path, *args: str) -> None:
    settings = ("user.name=n", "user.email=e", "protocol.file.allow=always", "init.defaultBranch=m")
    options = [part for setting in settings for part in ("-c", setting)]
    subprocess.run(["git", *options, *args], cwd=top, check=True, capture_output=True)


def project(tmp_path: Path, kind: str) -> Folder:
    """One with a repository that has staged, stashed and unstaged changes and a submodule, or a plain folder."""
    top = tmp_path / "work"
    folder = Folder(top, tmp_path / "store")
    for name, text in (("a.py", "a = 1\n"), ("b/c.txt", "text\n"), ("run.sh", "#!/bin/sh\n")):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text(text)
    (top / "run.sh").chmod(0o755)
    (top / ".gitignore").write_text("build/\n*.log\n")
    (top / "build").mkdir()
    (top / "build" / "out.o").write_text("built\n")
    if kind == "repository":
        library = tmp_path / "library"
        library.mkdir()
        (library / "lib.py").write_text("lib\n")
        for where in (library, top):
            git(where, "init", "-q")
            git(where, "add", ".")
            git(where, "commit", "-qm", "one")
        git(top, "submodule", "add", "-q", str(library), "sub")
        git(top, "commit", "-qm", "two")
        (top / "a.py").write_text("stashed = 1\n")
        git(top, "stash", "-q")
        (top / "b" / "c.txt").write_text("staged\n")
        git(top, "add", "b/c.txt")
        (top / "a.py").write_text("a = 1  # not staged\n")
        (top / "untracked.txt").write_text("untracked\n")
    return folder


def covered(top: Path) -> Shape:
    """Everything but the repository, what is ignored, and contents too large to read."""
    found = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        parts = name.split("/")
        if ".git" in parts or parts[0] == "build" or name.endswith(".log") or name == "huge.bin":
            continue
        found[name] = shape_of(path)
    return found


def shape_of(path: Path) -> tuple[str, int, bytes]:
    status = path.lstat()
    if path.is_symlink():
        return "link", 0, os.readlink(path).encode()
    if path.is_dir():
        return "folder", status.st_mode, b""
    return "file", status.st_mode, path.read_bytes()


def untouchable(top: Path) -> Shape:
    """The repository's own files, its submodules' too, and what is ignored."""
    places = [top / ".git", top / "build", top / "run.log", top / "sub" / ".git"]
    found: Shape = {}
    for place in places:
        if place.is_dir():
            found |= {f"{place.name}/{name}": value for name, value in shape(place, ()).items()}
        elif place.exists():
            found[place.name] = shape_of(place)
    return found


@pytest.mark.parametrize("kind", ["repository", "plain"])
@pytest.mark.parametrize("seed", range(250 if os.environ.get("WISP_SOAK") else 10))
def test_any_run_is_undone_and_the_undo_is_undone(seed: int, kind: str, tmp_path: Path) -> None:
    chance = random.Random(seed)
    folder = project(tmp_path, kind)
    states = [(covered(folder.top), folder.snapshots.take())]
    for _ in range(chance.randrange(1, 4)):
        script = "\n".join(chance.sample(COMMANDS, chance.randrange(1, 6)))
        subprocess.run(["bash", "-c", script], cwd=folder.top, check=False, capture_output=True)
        if chance.random() < 0.3:
            (folder.top / f"tool{chance.randrange(3)}.py").write_text(f"made = {chance.random()}\n")
        states.append((covered(folder.top), folder.snapshots.take()))
    own = untouchable(folder.top)
    for (wanted, before), (_, after) in zip(states[-2::-1], states[:0:-1], strict=True):
        folder.undo(before, after)
        assert covered(folder.top) == wanted
    folder.undo(states[-1][1], states[0][1])
    assert covered(folder.top) == states[-1][0]
    assert untouchable(folder.top) == own


def test_what_is_ignored_and_changed_is_named_and_what_is_old_is_not(tmp_path: Path) -> None:
    """The preview says what it will not put back."""
    folder = project(tmp_path, "repository")
    (folder.top / "build" / "deep").mkdir()
    (folder.top / "build" / "deep" / "old.o").write_text("old")
    while time.time_ns() <= (folder.top / "build" / "deep" / "old.o").stat().st_ctime_ns + 20_000_000:
        pass
    since = time.time_ns() - 10_000_000
    (folder.top / "build" / "out.o").write_text("new")
    (folder.top / "x.log").write_text("new")
    (folder.top / "a.py").write_text("covered")

    found, whole = ignored_since(folder.fd, str(folder.top), since)
    assert sorted(item.path for item in found) == ["build/out.o", "x.log"]
    assert whole


def test_a_file_too_large_to_keep_is_named_when_it_changed(tmp_path: Path) -> None:
    folder = project(tmp_path, "plain")
    for name in ("huge.bin", "same.bin"):
        with open(folder.top / name, "wb") as file:
            file.truncate(MAX_FILE + 1)
    before = folder.snapshots.take()
    with open(folder.top / "huge.bin", "ab") as file:
        file.write(b"x")
    after = folder.snapshots.take()
    pair = folder.snapshots.load(before), folder.snapshots.load(after)

    assert [(item.path, item.why) for item in too_large(*pair)] == [("huge.bin", "too large")]
    folder.undo(before, after)
    assert (folder.top / "huge.bin").stat().st_size == MAX_FILE + 2


def test_a_snapshot_that_is_being_taken_loses_nothing_to_another_one_that_prunes(tmp_path: Path) -> None:
    """Its objects are there before any tree names them."""
    folder = Folder(tmp_path / "work", tmp_path / "store", cap=1000)
    (folder.top / "f").write_bytes(bytes(5000))
    digest = folder.store.put_file(folder.fd, b"f")
    Folder(tmp_path / "other", tmp_path / "store", cap=1000).store.prune()
    folder.store.require(digest)
