"""The search for protected names that remembers finds what one that remembers nothing finds."""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("seed", range(6))
def test_after_any_changes_it_finds_what_a_fresh_search_finds(tmp_path: Path, seed: int) -> None:
    chance, watch = random.Random(seed), Watch(str(tmp_path))
    for _ in range(40):
        for _ in range(chance.randrange(4)):
            _change(tmp_path, chance)
        if chance.random() < 0.25:
            time.sleep(SETTLES)
        found = sorted(watch.look(time.time_ns()))
        assert found == sorted(Watch(str(tmp_path)).look(time.time_ns()))


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
