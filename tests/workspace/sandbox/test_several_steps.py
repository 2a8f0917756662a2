"""What a command leaves for the next one, or for a git outside, takes away no guard of what was guarded."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile.site import Site, each_user
from hostile.site import warm as warm
from workspace.sandbox.conftest import Boxed

from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.root import Workspace
from wisp.workspace.sandbox.standins import STAMP
from wisp.workspace.sandbox.watch import MOST_GROWN
from wisp.workspace.stop import StopToken

OURS = f"touch -h -d @{STAMP // 10**9}.{STAMP % 10**9:09}"
EVIL = """[core]
repositoryformatversion = 0
fsmonitor = "touch '$PWD'/ran; false"
"""
"""Between single quotes."""
FOLDER = f"mkdir -p evil/objects evil/refs; echo ref: refs/heads/x > evil/HEAD; printf '{EVIL}' > evil/config"
"""A folder that git takes for a repository which runs something."""
COMMIT = "git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x"

CASES: dict[str, tuple[str, list[str], str]] = {
    "a pointer with the time stamp of ours": (
        "true",
        [f'{FOLDER}; {OURS} evil/config; mkdir n; echo gitdir: ../evil > n/.git; {OURS} n/.git'],
        "git -C n status; test ! -e ran",
    ),
    "a repository with the time stamp of ours": (
        "true",
        [f'{FOLDER}; {OURS} evil/config'],
        "git --git-dir=evil --work-tree=. status; git -C evil status; test -e evil/HEAD.off",
    ),
    "worktrees that are shut": (
        f"git init -q a; {COMMIT.replace('git ', 'git -C a ', 1)}; git -C a worktree add -q ../wt",
        [
            "chmod 000 a/.git/worktrees",
            f'{FOLDER}; chmod 755 a/.git/worktrees; echo ../../../../evil > a/.git/worktrees/wt/commondir; true',
        ],
        "chmod 755 a/.git/worktrees; git -C wt status; test ! -e ran",
    ),
    "a second name of a new repository's configuration": (
        "true",
        ["mkdir n; git init -q n/r; ln n/r/.git/config n/back", f'''printf '{EVIL}' > n/back'''],
        "git -C n/r status; test ! -e ran",
    ),
    "folders above what is included and above the hooks": (
        "git init -q .; mkdir -p c/d t/h; touch c/d/inc; git config include.path ../c/d/inc; git config core.hooksPath t/h",
        ["mv c c2; mkdir -p c/d; echo x > c/d/inc; mv t t2; mkdir -p t/h; echo x > t/h/pre-commit; true"],
        "test ! -s c/d/inc -a ! -e t/h/pre-commit",
    ),
    "what is included and not there": (
        "git init -q .; git config include.path ../inc; git config --add include.path ../f/inc; git config core.hooksPath t/h",
        ["echo x > inc; mkdir f; echo x > f/inc; mkdir -p t/h; echo x > t/h/pre-commit; true"],
        "test ! -e inc -a ! -e f/inc -a ! -e t/h/pre-commit",
    ),
    "what is included from elsewhere, and by what is included": (
        "git init -q s/r; git -C s/r config include.path my; touch s/r/.git/my;"
        "git -C s/r config --add include.path ../../../one; echo '[include] path = two # and more' > one; touch two",
        ["echo x > s/r/.git/my; echo x > one; echo x > two; true"],
        "test ! -s s/r/.git/my -a ! -s two; grep -q include one",
    ),
    "what is included at the end of a long configuration": (
        "git init -q .; yes '# xxxxxxxxxxxxx' | head -c 160000 >> .git/config; git config include.path ../inc; touch inc",
        ["echo x > inc; true"],
        "test ! -s inc",
    ),
    "a configuration of the worktree that git does not read yet": (
        f"git init -q .; {COMMIT}",
        [f'''printf '{EVIL}' > .git/config.worktree; true'''],
        "git config extensions.worktreeConfig true; git status; test ! -e ran",
    ),
    "what a pointer to nothing names": (
        "git init -q a; mkdir wt; echo gitdir: ../a/.git/worktrees/wt > wt/.git",
        [
            f"{FOLDER}; mkdir -p a/.git/worktrees/wt; cd a/.git/worktrees/wt; echo ref: refs/heads/x > HEAD;"
            "echo ../../../../evil > commondir; echo $OLDPWD/wt/.git > gitdir"
        ],
        "git -C wt status; test ! -e ran",
    ),
    "a link called .git": (
        "git init -q --separate-git-dir=real .; rm .git; ln -s real .git",
        [f'rm .git; {FOLDER}; mv evil .git'],
        "git status; test ! -e ran",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_no_steps_one_after_another_get_around_a_guard(name: str) -> None:
    """Each succeeds without the box."""
    before, commands, unharmed = CASES[name]

    def work(make: Callable[[], Site]) -> None:
        for config in ("none", "bubblewrap"):
            site = make()
            site.prepare(before)
            outcomes = site.call(
                config,  # type: ignore[arg-type]
                "full" if config == "none" else "auto",
                *(("bash", {"command": command, "timeout": 60}) for command in commands),
            )
            assert not [outcome.code for outcome in outcomes if outcome.code], outcomes
            done = subprocess.run(
                ["/bin/bash", "-c", unharmed], cwd=site.work, env=site.environment, capture_output=True
            )
            assert (done.returncode == 0) == (config == "bubblewrap"), (config, outcomes, done)

    each_user(work)


def test_a_link_that_was_replaced_is_told_as_new() -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        site.prepare("mkdir real; ln -s real .vscode")
        outcome = site.bash("bubblewrap", "auto", "rm .vscode; mkdir .vscode; echo x > .vscode/tasks.json")
        assert "/work/.vscode" in outcome.text, outcome.text

    each_user(work)


def test_what_is_hidden_in_a_workspace_cannot_be_moved_into_sight(
    tmp_path: Path, need: Callable[[str], str]
) -> None:
    """A home is the workspace: wisp's own settings in it, and places of credentials, are two folders down."""
    for name in (".config/wisp", ".config/gh", "made"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "token").write_text("secret\n")
    hide = (str(tmp_path / ".config/wisp"), str(tmp_path / "made/state/wisp"))
    box = Box(
        Workspace(str(tmp_path)),
        BoxSettings(home=str(tmp_path), hide=hide),
        os.path.dirname(need("bwrap")) + ":/usr/bin:/bin",
        lambda: 0.0,
        lambda: 0,
    )
    said = bytearray()
    for command in (
        "mv .config c2; mkdir -p .config/wisp made/state/wisp",
        "cat */*/token .*/*/token made/token; echo evil > .config/wisp/settings; echo evil > made/state/wisp/settings",
    ):
        argv = ["/bin/bash", "-c", command]
        box.run(argv, env={"PATH": "/usr/bin:/bin"}, timeout=30, stop=StopToken(), output=said.extend)
    box.close()
    assert said.count(b"secret") == 1, said  # the one that is not hidden
    assert not list(tmp_path.rglob("settings")), said
    assert not (tmp_path / "made/state").exists()


def test_a_workspace_that_is_shut_is_opened_again(boxed: Boxed) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        site.prepare("git init -q .")
        kept = (site.work / ".git/config").read_bytes()
        commands = ("chmod 000 .", "chmod 755 .; echo x >> .git/config; echo here")
        outcomes = site.call("bubblewrap", "auto", *(("bash", {"command": words}) for words in commands))
        assert "[" + str(site.work) + " was shut to its owner" in outcomes[0].text
        assert outcomes[1].code == "" and "here" in outcomes[1].text, outcomes
        assert (site.work / ".git/config").read_bytes() == kept

    each_user(work)


def test_more_folders_than_are_looked_at_are_told_once(boxed: Boxed) -> None:
    boxed("true")
    ending, said = boxed(f"seq {MOST_GROWN + 1} | xargs mkdir")
    assert ending.code == 0, said
    assert any("more folders now than are looked at" in words for words in boxed.fresh), boxed.fresh
    boxed("true")
    assert boxed.fresh == ()


def test_the_way_to_a_root_within_another_is_kept(tmp_path: Path, need: Callable[[str], str]) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer/p/inner"
    inner.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    box = Box(
        Workspace(str(outer), extra=(str(inner),)),
        BoxSettings(),
        os.path.dirname(need("bwrap")) + ":/usr/bin:/bin",
        lambda: 0.0,
        lambda: 0,
    )
    said = bytearray()
    argv = ["/bin/sh", "-c", "mv p q || echo kept"]
    box.run(argv, env={"PATH": "/usr/bin:/bin"}, timeout=30, stop=StopToken(), output=said.extend)
    box.close()
    assert said.endswith(b"kept\n"), said
    assert (inner / ".git/config").exists()


def test_what_stands_in_for_a_running_command_sets_nothing_aside(boxed: Boxed) -> None:
    """A repository is looked at again while the guard of another command stands in it."""
    first, second = StopToken(), StopToken()

    def wait(stop: StopToken, name: str) -> threading.Thread:
        run = threading.Thread(target=lambda: boxed(f"touch {name}; sleep 60", stop=stop))
        run.start()
        while not (boxed.folder / name).exists():
            pass
        return run

    runs = [wait(first, "one")]
    try:
        boxed("mkdir n; git init -q n/r")
        runs.append(wait(second, "two"))
        ending, said = boxed("true")
        assert ending.code == 0, said
        assert (boxed.folder / "n/r/.git/HEAD").exists(), boxed.fresh
    finally:
        first.stop()
        second.stop()
        for run in runs:
            run.join()
    assert (boxed.folder / "n/r/.git/HEAD").exists()
