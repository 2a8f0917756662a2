"""The search for protected names that remembers finds what one that remembers nothing finds."""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from wisp.workspace.sandbox.changes import Changes
from wisp.workspace.sandbox.watch import Watch

NAMES = (
    "a",
    "b",
    "c",
    ".git",
    ".wisp",
    ".envrc",
    "node_modules",
    "hooks",
    "HEAD",
    "objects",
    "refs",
    "config",
)


def _folders(top: Path) -> list[Path]:
    return [top, *(path for path in top.rglob("*") if path.is_dir() and not path.is_symlink())]


def _change(top: Path, chance: random.Random) -> None:
    """One thing somebody might do to a tree, half of them with times set back."""
    folder = chance.choice(_folders(top))
    before = os.lstat(folder)
    place = folder / chance.choice(NAMES)
    match chance.randrange(6):
        case 0 | 1 if not os.path.lexists(place):
            place.mkdir()
        case 2 if not os.path.lexists(place):
            place.write_text("x")
        case 3 if os.path.lexists(place):
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        case 4 if place.is_dir() and not place.is_symlink():
            other = chance.choice(_folders(top)) / chance.choice(NAMES)
            if not os.path.lexists(other) and place not in (other, *other.parents):
                place.rename(other)
        case 5 if not os.path.lexists(place):
            place.symlink_to(chance.choice(NAMES))
    if folder.exists() and chance.random() < 0.5:
        os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))


SETTLES = 0.06
"""Seconds after which a folder is taken at the word of its change time."""


@pytest.fixture
def changes(tmp_path: Path) -> Iterator[Changes]:
    """Of a real file system: they must be told here."""
    told = Changes(str(tmp_path))
    if told.device < 0:  # a file system that others change, as a folder shared with another system
        (pytest.fail if os.environ.get("CI") else pytest.skip)("changes are not told of this file system")
    yield told
    told.close()


@pytest.mark.parametrize("seed", range(6))
def test_after_any_changes_it_finds_what_a_fresh_search_finds(
    tmp_path: Path, changes: Changes, seed: int
) -> None:
    chance, each, told = random.Random(seed), Watch(str(tmp_path)), Watch(str(tmp_path), changes)
    for _ in range(40):
        for _ in range(chance.randrange(4)):
            _change(tmp_path, chance)
        if chance.random() < 0.25:
            time.sleep(SETTLES)
        expected = sorted(Watch(str(tmp_path)).look(time.time_ns()))
        assert sorted(told.look(time.time_ns())) == expected
        assert sorted(each.look(time.time_ns())) == expected


def test_of_a_tree_in_which_nothing_changed_only_its_top_is_asked_about(
    tmp_path: Path, changes: Changes
) -> None:
    for number in range(50):
        (tmp_path / f"d{number}" / "e").mkdir(parents=True)
    watch = Watch(str(tmp_path), changes)
    assert watch.look(time.time_ns()) == []
    time.sleep(SETTLES)
    shutil.rmtree(tmp_path / "d0")  # told, and looked at
    time.sleep(SETTLES)
    assert watch.look(time.time_ns()) == []
    read: set[str] = set()

    def told(event: str, args: tuple[object, ...]) -> None:
        if event == "os.scandir" and str(args[0]).startswith(str(tmp_path)):
            read.add(str(args[0]))

    sys.addaudithook(told)
    assert watch.look(time.time_ns()) == []
    assert read == set()
    (tmp_path / "d7" / "e" / ".envrc").write_text("x")
    assert watch.look(time.time_ns()) == [str(tmp_path / "d7/e/.envrc")]
    assert read == {str(tmp_path / "d7/e")}


@pytest.mark.parametrize("with_names", [False, True])
def test_folders_that_change_places_are_looked_at_where_they_are(
    tmp_path: Path, changes: Changes, with_names: bool
) -> None:
    """The names in the folder above are the same as before."""
    for name in "ab":
        (tmp_path / name / "below").mkdir(parents=True)
    (tmp_path / "a" / "below" / ".git").mkdir()
    watch = Watch(str(tmp_path), changes)
    assert watch.look(time.time_ns()) == [str(tmp_path / "a/below/.git")]
    time.sleep(SETTLES)
    (tmp_path / "a").rename(tmp_path / "c")
    (tmp_path / "b").rename(tmp_path / "a")
    (tmp_path / "c").rename(tmp_path / "b")
    if with_names:
        (tmp_path / "a" / "below" / ".envrc").touch()
    expected = [str(tmp_path / "b/below/.git")] + [str(tmp_path / "a/below/.envrc")] * with_names
    assert sorted(watch.look(time.time_ns())) == sorted(expected)
    (tmp_path / "b" / "below" / ".envrc").touch()
    assert len(watch.look(time.time_ns())) == len(expected) + 1


def test_more_changes_than_the_system_keeps_are_not_missed(tmp_path: Path, changes: Changes) -> None:
    watch = Watch(str(tmp_path), changes)
    assert watch.look(time.time_ns()) == []
    with open("/proc/sys/fs/inotify/max_queued_events") as file:
        kept = int(file.read())
    for number in range(kept // 2 + 10):
        place = tmp_path / f"n{number}"
        place.touch()
        place.unlink()
    (tmp_path / ".envrc").touch()
    assert watch.look(time.time_ns()) == [str(tmp_path / ".envrc")]
    assert watch.look(time.time_ns()) == [str(tmp_path / ".envrc")]


def test_a_watch_that_may_not_be_had_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    told = Changes("/proc")  # the kernel makes up what is there, and tells nothing
    assert told.device == -1 and not told.watch(str(tmp_path))
    watch = Watch(str(tmp_path), told)
    assert watch.look(time.time_ns()) == []
    (tmp_path / "d" / ".git").mkdir()
    assert watch.look(time.time_ns()) == [str(tmp_path / "d/.git")]
    told.close()


def test_an_unchanged_tree_is_not_read_again(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"d{number}" / ".git").mkdir(parents=True)
    time.sleep(SETTLES)
    watch = Watch(str(tmp_path))
    first = watch.look(time.time_ns())
    assert len(first) == 50
    read: set[str] = set()

    def told(event: str, args: tuple[object, ...]) -> None:
        if event == "os.scandir" and str(args[0]).startswith(str(tmp_path)):
            read.add(str(args[0]))

    sys.addaudithook(told)
    assert watch.look(time.time_ns()) == first
    assert read == set()
    (tmp_path / "d7" / ".envrc").write_text("x")
    assert len(watch.look(time.time_ns())) == 51
    assert read == {str(tmp_path / "d7")}
