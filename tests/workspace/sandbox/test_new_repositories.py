"""Commands may make repositories; none of them makes a git outside the box run anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile.site import Site, each_user
from hostile.site import warm as warm
from workspace.sandbox.conftest import Boxed

from wisp.workspace.sandbox.inert import faults
from wisp.workspace.stop import StopToken

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]


def git(folder: Path, *words: str, check: bool = True) -> str:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run([*GIT, *words], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("git init -q && echo a > a && git add a && git commit -qm one", "."),
        ("git init -q sub && cd sub && echo a > a && git add a && git commit -qm one", "sub"),
        ("git clone -q origin.git copy", "copy"),
        ("git clone -q --bare origin.git other.git", "other.git"),
        ("git init -q && git commit -q --allow-empty -m one && git worktree add -q tree", "tree"),
        (
            "git init -q && git -c protocol.file.allow=always submodule -q add ./origin.git part && git commit -qm one",
            "part",
        ),
        ("git init -q && git remote add origin https://example.org/x.git && git commit -q --allow-empty -m one", "."),
        ("git init -q --initial-branch=main a/b && cd a/b && git commit -q --allow-empty -m one", "a/b"),
    ],
)  # fmt: skip
def test_what_git_makes_by_itself_is_kept_and_works_outside(boxed: Boxed, command: str, place: str) -> None:
    origin = boxed.folder / "origin.git"
    made = boxed.folder.parent / "made"
    made.mkdir()
    git(made, "init", "-q")
    git(made, "commit", "-q", "--allow-empty", "-m", "one")
    git(boxed.folder.parent, "clone", "-q", "--bare", str(made), str(origin))
    (origin / "config").write_text((origin / "config").read_text())

    ending, said = boxed(command)
    assert ending.code == 0, said
    assert not [words for words in boxed.fresh if "renamed" in words], boxed.fresh
    assert "one" in git(boxed.folder / place, "log", "--oneline")
    if place in ("other.git", "part"):  # one has no files to commit, the other's repository is guarded whole
        return
    # and the next command can go on with it, but not change what git runs
    ending, said = boxed(f"cd {place} && git commit -q --allow-empty -m two && git log --oneline | wc -l")
    assert (ending.code, said.strip()) == (0, "2")
    ending, _ = boxed(f"cd {place} && git config core.fsmonitor ./x")
    assert ending.code != 0


HOSTILE = {
    "setting": "git config core.fsmonitor 'touch {mark};false'",
    "setting in capitals": "printf '[CORE]\\n\\tFsMonitor = touch {mark}\\n' >> .git/config",
    "odd line": "printf '[core] fsmonitor = touch {mark}\\n' >> .git/config",
    "continued line": "printf '[user]\\n\\tname = a\\\\\\n[core]\\n\\tfsmonitor = touch {mark}\\n' >> .git/config",
    "comment": "printf '[core] ; x\\n\\tfsmonitor = touch {mark}\\n' >> .git/config",
    "alias": "git config alias.st '!touch {mark}'",
    "include": "git config include.path ../inc; printf '[core]\\nfsmonitor = touch {mark}\\n' > inc",
    "conditional include": "git config includeIf.gitdir:/.path ../inc; printf '[core]\\nfsmonitor = touch {mark}\\n' > inc",
    "hooks path": "git config core.hooksPath h; mkdir h; printf '#!/bin/sh\\ntouch {mark}\\n' > h/post-commit; chmod +x h/*",
    "hook": "printf '#!/bin/sh\\ntouch {mark}\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    "hook by link": "rm -rf .git/hooks; mkdir h; printf '#!/bin/sh\\ntouch {mark}\\n' > h/pre-commit; chmod +x h/*; ln -s ../h .git/hooks",
    "filter": "echo '* filter=x' > .gitattributes; git config filter.x.clean 'touch {mark};cat'; echo b > f",
    "attributes": "echo '* diff=x' > .git/info/attributes; git config diff.x.textconv 'touch {mark}'; echo b > f",
    "external diff": "git config diff.external 'touch {mark}'; echo b > f",
    "signature": "git config log.showSignature true; git config gpg.program ./g; printf '#!/bin/sh\\ntouch {mark}\\n' > g; chmod +x g",
    "transport": "git config remote.origin.url 'ext::sh -c touch% {mark}'",
    "ssh": "git config core.sshCommand 'touch {mark};false'; git config remote.origin.url ssh://localhost/x",
    "worktree elsewhere": "git config core.worktree /srv",
    "common folder": "mkdir -p c/objects c/refs; printf '[core]\\nfsmonitor = touch {mark}\\n' > c/config; echo ../c > .git/commondir",
    "worktree settings": "git config extensions.worktreeConfig true; printf '[core]\\nfsmonitor = touch {mark}\\n' > .git/config.worktree",
    "config by link": "mv .git/config c; printf '[core]\\nfsmonitor = touch {mark}\\n' >> c; ln -s ../c .git/config",
    "left rebase": "mkdir .git/rebase-merge; echo 'exec touch {mark}' > .git/rebase-merge/git-rebase-todo",
    "pointer": "mv .git evil; cd evil; git config core.fsmonitor 'touch {mark};false'; git config core.bare false; cd ..; echo 'gitdir: evil' > .git",
    "link": "mv .git evil; git -C evil config core.fsmonitor 'touch {mark};false'; ln -s evil .git",
    "module": "mkdir -p .git/modules; cp -r .git .git/modules/m 2>/dev/null; rm -rf .git/modules/m/modules; "
              "git -C .git/modules/m config core.fsmonitor 'touch {mark};false'; mkdir s; echo 'gitdir: ../.git/modules/m' > s/.git",
    "worktree of another": "git worktree add -q t; printf '../../../c' > .git/worktrees/t/commondir; mkdir -p c/objects c/refs; "
              "echo 'ref: x' > c/HEAD; printf '[core]\\nfsmonitor = touch {mark}\\nrepositoryformatversion = 0\\n' > c/config",
    "zero bytes": "printf '[core]\\n\\tfsmonitor = touch {mark}\\0\\n' >> .git/config",
    "early hook without a repository": "rm -rf .git; mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch {mark}\\n' > .git/hooks/post-commit; chmod +x .git/hooks/*",
    "fifo": "rm .git/config; mkfifo .git/config",
    "odd object": "mkfifo .git/objects/pipe; git config core.fsmonitor 'touch {mark};false'",
}  # fmt: skip
LATER = (
    "status", "diff", "log -1", "add -A", "commit -qam x", "fetch origin", "pull", "stash", "status", "worktree list",
    "submodule update", "rebase --continue", "st", "init", "commit --allow-empty -m y",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("where", [".", "sub", "bare"])
@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_repository_that_could_run_something_runs_nothing_outside(name: str, where: str) -> None:
    """Judged by effect: every usual git command is then run in every folder by the person, outside."""
    if where == "bare" and ".git" in HOSTILE[name]:
        return

    def work(make: Callable[[], Site]) -> None:
        for boxed in (True, False) if where != "bare" and name != "fifo" else (True,):
            site = make()
            mark = site.out / "pwned"
            begin = {
                ".": "git init -q . && echo a > f && git add f && git commit -qm 1; ",
                "sub": "git init -q sub && cd sub && echo a > f && git add f && git commit -qm 1; ",
                "bare": "mkdir v && cd v && git init -q --bare . && git config core.bare false && git config core.worktree .; ",
            }[where]
            line = begin + HOSTILE[name].replace("{mark}", str(mark)) + "; true"
            if boxed:
                outcome = site.bash("bubblewrap", "auto", line)
                assert outcome.code == "", outcome.text
            else:
                site.prepare(line)
            before = mark.exists()
            _use(site)
            if boxed:
                assert not mark.exists(), outcome.text
            elif name not in ("worktree elsewhere", "transport", "zero bytes", "left rebase", "fifo", "comment", "odd line",
                              "signature", "conditional include", "module", "worktree of another", "hook by link",
                              "setting in capitals", "common folder", "link", "continued line", "pointer"):  # fmt: skip
                assert mark.exists() or before, "without the box it does run: the case shows something"

    each_user(work)


def _use(site: Site) -> None:
    folders = [
        site.work,
        *(path for path in sorted(site.work.rglob("*")) if path.is_dir() and ".git" not in path.parts),
    ]
    folders += [path for path in site.work.glob(".git-set-aside-*") if path.is_dir()]
    for folder in folders[:14]:
        for words in LATER:
            subprocess.run(
                ["git", *words.split()], cwd=folder, env=site.environment, stdin=subprocess.DEVNULL, capture_output=True,
                check=False, timeout=20,
            )  # fmt: skip


def test_a_command_that_goes_on_cannot_change_what_was_found_inert(boxed: Boxed, tmp_path: Path) -> None:
    """It waits for another command's repository and puts a hook into it: seen when it ends."""
    stop = StopToken()
    waiting = threading.Thread(
        target=lambda: boxed.box.run(
            ["/bin/bash", "-c", "touch up; until [ -e sub/.git/HEAD ]; do sleep 0.02; done; until [ -e go ]; do sleep 0.02; done;"
             f"printf '#!/bin/sh\\ntouch {tmp_path}/pwned\\n' > sub/.git/hooks/pre-commit; chmod +x sub/.git/hooks/pre-commit"],
            env=boxed.environment, timeout=30, stop=stop, output=len,
        )
    )  # fmt: skip
    waiting.start()
    while not (boxed.folder / "up").exists():
        time.sleep(0.02)
    ending, said = boxed("git init -q sub")
    assert ending.code == 0, said
    (boxed.folder / "go").write_text("")
    waiting.join()
    assert not (boxed.folder / "sub" / ".git").exists()
    assert (boxed.folder / "sub" / ".git-set-aside-1" / "hooks" / "pre-commit").exists(), "nothing is deleted"


def test_the_top_repository_waits_until_no_command_runs(boxed: Boxed) -> None:
    stop = StopToken()
    waiting = threading.Thread(
        target=lambda: boxed.box.run(
            ["/bin/bash", "-c", "touch up; sleep 60"],
            env=boxed.environment,
            timeout=30,
            stop=stop,
            output=len,
        )
    )
    waiting.start()
    while not (boxed.folder / "up").exists():
        time.sleep(0.02)
    boxed("git init -q && git commit -q --allow-empty -m one")
    assert boxed("git log --oneline | wc -l")[1].strip() == "1", "commands see it meanwhile"
    assert not (boxed.folder / ".git" / "HEAD").exists()
    stop.stop()
    waiting.join()
    assert "one" in git(boxed.folder, "log", "--oneline")


def test_a_link_put_in_the_way_leads_the_renaming_nowhere(boxed: Boxed, tmp_path: Path) -> None:
    """What is renamed is beneath the workspace, whatever a running command does to the folders."""
    outside = tmp_path / "users"
    outside.mkdir()
    git(outside, "init", "-q")
    (outside / ".git" / "hooks" / "pre-commit").write_text("mine")
    for _ in range(20):
        boxed(
            f"rm -rf sub; mkdir sub; git init -q sub; echo x > sub/.git/hooks/pre-commit; mv sub sub2; ln -s {outside} sub"
        )
        shutil.rmtree(boxed.folder / "sub2", ignore_errors=True)
        os.unlink(boxed.folder / "sub")
    assert (outside / ".git" / "hooks" / "pre-commit").read_text() == "mine"


HIDDEN = {
    "far down": "mkdir -p a/b/c/d/e/f/g && cd a/b/c/d/e/f/g && git init -q && {harm}",
    "among packages": "mkdir -p node_modules/x && cd node_modules/x && git init -q && {harm}",
    "by a worktree of one among packages": "mkdir -p node_modules/x && cd node_modules/x && git init -q && "
    "git commit -q --allow-empty -m x && git worktree add -q ../../wt && {harm}",
    "without a .git": "mkdir -p v/objects v/refs && cd v && echo 'ref: refs/heads/m' > HEAD && {setting} > config",
    "without a .git, by another folder": "mkdir -p v c/objects c/refs && {setting} > c/config && cd v && "
    "echo 'ref: refs/heads/m' > HEAD && echo ../c > commondir",
    "by a submodule's folder of another": "git init -q q && cd q && {harm} && mkdir -p .git/modules ../s && "
    "cp -r .git /tmp/c && mv /tmp/c .git/modules/m && echo 'gitdir: ../q/.git/modules/m' > ../s/.git",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(HIDDEN))
def test_a_place_out_of_the_way_hides_no_repository(name: str) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        mark = site.out / "pwned"
        harm = f"git config core.fsmonitor 'touch {mark};false'"
        setting = f"printf '[core]\\nrepositoryformatversion=0\\nfsmonitor=touch {mark};false\\nbare=false\\nworktree=.\\n'"
        outcome = site.bash("bubblewrap", "auto", HIDDEN[name].format(harm=harm, setting=setting))
        assert outcome.code == "", outcome.text
        _use(site)
        assert not mark.exists(), outcome.text
        assert "could make git run something" in outcome.text

    each_user(work)


def test_other_peoples_repositories_are_left_alone(boxed: Boxed) -> None:
    """One that was there before the command is guarded, not judged."""
    folder = boxed.folder / "theirs"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "config", "core.hooksPath", "hooks")
    boxed("touch theirs/x")
    assert (folder / ".git" / "config").exists()
    assert list(faults(str(folder / ".git"), str(folder / ".git"), [str(boxed.folder)])) == [
        "config: core.hookspath"
    ]
