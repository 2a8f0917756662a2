"""A command cannot put a protected name where it is not seen, to change it with the next command."""

from __future__ import annotations

import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile.site import Site, each_user
from hostile.site import warm as warm

from wisp.workspace.sandbox import watch as limits
from wisp.workspace.sandbox.watch import Watch

HARM = "echo '[core] fsmonitor = x' >> d/r/.git/config; echo x > d/r/.git/hooks/post-checkout; true"
AWAY = {
    "shut": ("chmod 000 d", "chmod 755 d"),
    "shut for reading": ("chmod 311 d", "chmod 755 d"),
    "shut for searching": ("chmod 644 d", "chmod 755 d"),
    "shut twice": ("chmod 000 d/r d", "chmod 755 d; chmod 755 d/r"),
    "behind many folders": ("mkdir $(seq 4500)", "true"),
    "behind many protected names": ("mkdir $(seq 420); for i in $(seq 420); do : > $i/.envrc; done", "true"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(AWAY))
def test_a_guarded_repository_stays_guarded_by_whatever_it_is_put_out_of_sight(name: str) -> None:
    first, second = AWAY[name]

    def work(make: Callable[[], Site]) -> None:
        for config in ("bubblewrap", "none"):
            site = make()
            site.prepare("git init -q d/r")
            kept = (site.work / "d/r/.git/config").read_bytes()
            outcomes = site.call(
                config,  # type: ignore[arg-type]
                "full" if config == "none" else "auto",
                *(("bash", {"command": words, "timeout": 60}) for words in (first, f"{second}; {HARM}")),
            )
            assert [outcome.code for outcome in outcomes] == ["", ""], outcomes
            unharmed = (
                (site.work / "d/r/.git/config").read_bytes() == kept,
                not (site.work / "d/r/.git/hooks/post-checkout").exists(),
            )
            expected = config == "bubblewrap"
            assert unharmed == (expected, expected), outcomes

    each_user(work)


def test_a_new_repository_in_a_folder_that_was_shut_is_looked_at() -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        (outcome,) = site.call(
            "bubblewrap",
            "auto",
            ("bash", {"command": "git init -q n/m/r && git -C n/m/r config core.fsmonitor x; chmod 0 n/m n"}),
        )
        assert outcome.code == "", outcome.text
        assert "could make git run something (config: core.fsmonitor)" in outcome.text
        assert not (site.work / "n/m/r/.git").exists()

    each_user(work)


def test_a_folder_that_the_person_shut_stays_as_it_is() -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        site.prepare("mkdir -p d/r; chmod 500 d/r; chmod 0 d")
        outcome = site.bash("bubblewrap", "auto", "chmod 755 d && echo opened; echo x > y && cat y")
        assert outcome.code == "", outcome.text
        assert stat.S_IMODE((site.work / "d").stat().st_mode) == 0
        assert "opened" not in outcome.text and "x\n" in outcome.text, outcome.text

    each_user(work)


def test_a_tree_that_was_seen_whole_stays_so_however_much_is_added(tmp_path: Path) -> None:
    watch = Watch(str(tmp_path))
    assert watch.look(time.time_ns()) == []
    for number in range(limits.MOST_FOLDERS + limits.MOST_BEYOND + 5):
        (tmp_path / f"{number:05}").mkdir()
    deep = tmp_path / "z" / "1/2/3/4/5"
    deep.mkdir(parents=True)
    (deep / ".git").mkdir()
    (tmp_path / "z" / ".git").mkdir()
    assert sorted(watch.look(time.time_ns())) == sorted([str(deep / ".git"), str(tmp_path / "z/.git")])
    assert watch.complete


def test_what_was_found_in_a_tree_too_large_to_see_whole_is_found_until_it_is_gone(tmp_path: Path) -> None:
    for number in range(limits.MOST_FOLDERS + 5):
        (tmp_path / f"n{number:05}").mkdir()
    watch = Watch(str(tmp_path))
    watch.look(time.time_ns())
    assert not watch.complete
    (tmp_path / ".git").mkdir()
    for number in range(limits.MOST_FOLDERS):
        (tmp_path / f"n{number:05}" / ".envrc").touch()
    found = set(watch.look(time.time_ns()))
    assert len(found) >= limits.MOST_NAMES
    shutil.rmtree(tmp_path / "n00000")
    for number in range(50):
        (tmp_path / f"a{number}").mkdir()
        (tmp_path / f"a{number}" / ".envrc").touch()
    again = set(watch.look(time.time_ns()))
    assert again >= found - {str(tmp_path / "n00000/.envrc")} and str(tmp_path / "n00000/.envrc") not in again
