"""Settings of a repository by which git runs something, or writes elsewhere, are told to the policy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from wisp.tools.gitsettings import runs_by_itself

ORDINARY = """
[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	hooksPath = .husky
	fsmonitor = false
	autocrlf = input ; a comment
[user]
	name = n
[remote "origin"]
	url = https://example.org/x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"] remote = origin
[pull]
	ff = only
[diff "x"]
	algorithm = patience
[merge]
	conflictStyle = zdiff3
"""
RUNNING = [
    "[core]\n\tfsmonitor = ./p",
    "[core]\n\tfsmonitor",
    "[core] fsmonitor = ./p",
    "[CORE]\n\tFSMonitor = ./p",
    "[core]\n\tworktree = /elsewhere",
    "[diff]\n\texternal = ./p",
    '[diff "x"]\n\ttextconv = ./p',
    '[diff "x"]\n\tcommand = ./p',
    "[diff.x]\n\ttextconv = ./p",
    '[filter "x"]\n\tclean = ./p',
    '[filter "x"]\n\tprocess = ./p',
    '[merge "x"]\n\tdriver = ./p',
    "[gpg]\n\tprogram = ./p",
    '[gpg "ssh"]\n\tprogram = ./p',
    "[log]\n\tshowSignature = true",
    "[include]\n\tpath = ../inc",
    '[includeIf "gitdir:/"]\n\tpath = ../inc',
    "[interactive]\n\tdiffFilter = ./p",
    "[user]\n\tname = a\\\n[core]\n\tfsmonitor = ./p",
    '[a "b\\"]"]\n[core]\n\tfsmonitor = ./p',
    "[user] name = a [core] x\n",
]


def repository(path: Path, settings: str) -> Path:
    subprocess.run(["git", "init", "-q", str(path)], check=True, capture_output=True)
    with (path / ".git" / "config").open("a") as file:
        file.write(settings + "\n")
    return path


def test_an_ordinary_repository_runs_nothing(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", ORDINARY)
    (work / "sub").mkdir()
    assert runs_by_itself(str(work)) == ""
    assert runs_by_itself(str(work / "sub")) == ""


@pytest.mark.parametrize("settings", [s for s in RUNNING if "name = a [core]" not in s])
def test_a_setting_that_runs_something_is_named(tmp_path: Path, settings: str) -> None:
    work = repository(tmp_path / "work", settings)
    (work / "sub").mkdir()
    assert str(work / ".git" / "config") in runs_by_itself(str(work))
    assert runs_by_itself(str(work / "sub")) == runs_by_itself(str(work))


def test_no_repository_is_nothing_to_say(tmp_path: Path) -> None:
    assert runs_by_itself(str(tmp_path)) == ""


def test_a_repository_among_the_files_is_named(tmp_path: Path) -> None:
    """A clone can bring a folder that git takes for a repository when it is started there."""
    work = repository(tmp_path / "work", "")
    subprocess.run(["git", "init", "-q", "--bare", str(work / "vendor" / "x")], check=True)
    assert "vendor/x" in runs_by_itself(str(work / "vendor" / "x"))
    assert runs_by_itself(str(work / "vendor")) == ""


def test_a_linked_worktree_is_judged_by_the_repository_it_belongs_to(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", "[user]\n\tname = n\n\temail = a@b.test")
    for words in (
        ["commit", "-q", "--allow-empty", "-m", "1"],
        ["worktree", "add", "-q", str(tmp_path / "linked")],
    ):
        subprocess.run(["git", *words], cwd=work, check=True, capture_output=True)
    assert runs_by_itself(str(tmp_path / "linked")) == ""
    with (work / ".git" / "config").open("a") as file:
        file.write("[core]\n\tfsmonitor = ./p\n")
    assert "core.fsmonitor" in runs_by_itself(str(tmp_path / "linked"))
    (tmp_path / "linked" / ".git").write_text("nonsense")
    assert "not understood" in runs_by_itself(str(tmp_path / "linked"))


def test_git_itself_finds_what_we_find(tmp_path: Path) -> None:
    """git's own reader as the second opinion: what it calls set is found by ours."""
    for place, settings in enumerate(RUNNING):
        work = repository(tmp_path / str(place), settings)
        done = subprocess.run(
            ["git", "config", "--local", "--name-only", "--list"],
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
        )
        keys = [
            key
            for key in done.stdout.split()
            if key.startswith(("core.fsm", "core.worktree", "diff.", "filter.", "include"))
        ]
        if keys or done.returncode:
            assert runs_by_itself(str(work)), settings
