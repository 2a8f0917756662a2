"""`--worktree`: a session in a git worktree of its own, which stays as long as something in it could be lost."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process

WRITE = {"calls": [{"name": "write", "arguments": {"path": "new.txt", "content": "made\n"}}]}
COMMIT = {"calls": [{"name": "bash", "arguments": {"command": "git add -A && git commit -qm made"}}]}


def git(folder: Path, *words: str) -> str:
    """What git prints there."""
    done = subprocess.run(
        ["git", "-c", "user.name=u", "-c", "user.email=u@x", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A program in a repository with one commit, one change that is not committed, and an identity."""
    made = Program(tmp_path / "home", tmp_path / "work")
    made.env |= {f"GIT_{who}_{what}": "u@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    folder = made.project
    git(folder, "init", "-q", "-b", "main")
    (folder / "sub").mkdir()
    (folder / "sub" / "a.txt").write_text("a\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    (folder / "sub" / "a.txt").write_text("changed\n")
    return made


def asked(program: Program, steps: list[dict[str, Any]], *args: str) -> subprocess.CompletedProcess[str]:
    """One run with these answers of the model, everything allowed."""
    with ServerThread([*steps, {"text": "done"}]) as server:
        settings = program.home / "config" / "settings.toml"
        text = settings.read_text().splitlines()
        text[3] = f'base_url = "{server.base_url("openai-chat")}"'
        settings.write_text("\n".join(text))
        return program.run("-p", "go", "--permission-mode", "full", "--sandbox", "off", *args)


def worktrees(program: Program) -> list[str]:
    """Folders of the worktrees beside the main one."""
    lines = git(program.project, "worktree", "list", "--porcelain").splitlines()
    return [line.split(" ", 1)[1] for line in lines if line.startswith("worktree ")][1:]


def test_one_in_which_nothing_was_made_is_gone_at_the_end(program: Program) -> None:
    """The folder, its index, its branches and the configuration are as they were; the answer alone is printed."""
    config = (program.project / ".git" / "config").read_bytes()
    done = asked(program, [], "--worktree")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "wisp/" in done.stderr and "1 changes" in done.stderr and "are gone" in done.stderr
    assert worktrees(program) == [] and git(program.project, "branch", "--format=%(refname:short)") == "main"
    assert (program.project / ".git" / "config").read_bytes() == config
    assert git(program.project, "status", "--porcelain") == "M sub/a.txt"
    assert [path for path in (program.home / "state" / "worktrees").rglob("*") if path.is_file()] == []


def test_one_with_work_stays_goes_on_by_resume_and_is_gone_once_it_is_merged(program: Program) -> None:
    """Uncommitted, then committed, then merged: nothing of it is ever lost."""
    first = asked(program, [WRITE], "--worktree", "--cwd", str(program.project / "sub"))
    [place] = worktrees(program)
    assert (Path(place) / "sub" / "new.txt").read_text() == "made\n" and "stays" in first.stderr
    assert (Path(place) / "sub" / "a.txt").read_text() == "a\n", "it begins at the last commit"
    assert not (program.project / "sub" / "new.txt").exists()

    [session] = program.sessions()
    second = asked(program, [COMMIT], "--worktree", "--resume", session.stem)
    assert second.returncode == 0, second.stderr
    assert worktrees(program) == [place] and "1 commits in it are on no other branch" in second.stderr
    branch = git(Path(place), "branch", "--show-current")
    assert branch.startswith("wisp/") and git(program.project, "show", f"{branch}:sub/new.txt") == "made"

    git(program.project, "merge", "-q", "--ff-only", branch)
    third = asked(program, [], "--worktree")
    assert f"the worktree of {branch} was merged or empty and is gone" in third.stderr
    assert worktrees(program) == [] and git(program.project, "branch", "--format=%(refname:short)") == "main"
    assert (program.project / "sub" / "new.txt").read_text() == "made\n"


def test_a_commit_in_the_sandbox_reaches_the_branch(program: Program, need: Any) -> None:
    """The box lets a linked worktree commit."""
    need("bwrap")
    done = asked(program, [WRITE, COMMIT], "--worktree", "--permission-mode", "auto", "--sandbox", "required")
    assert done.returncode == 0, done.stderr
    assert "commits in it are on no other branch" in done.stderr, done.stderr


@pytest.mark.parametrize("home", ["WISP_HOME", "XDG"])
def test_auto_mode_works_in_a_worktree_as_in_any_folder(program: Program, home: str, need: Any) -> None:
    """It lies where the agent keeps its own files, which are not the model's to change; the work is."""
    need("bwrap")
    calls = [WRITE, {"calls": [{"name": "write", "arguments": {"path": "../made.json", "content": "{}"}}]}]
    if home == "XDG":
        program.env.pop("WISP_HOME")
        settings = program.home / ".config" / "wisp" / "settings.toml"
        settings.parent.mkdir(parents=True)
        (program.home / "config" / "settings.toml").rename(settings)
        (program.home / "config").rmdir()
        (program.home / "config").symlink_to(settings.parent)
    done = asked(program, calls, "--worktree", "--permission-mode", "auto", "--sandbox", "required")
    assert done.returncode == 0, done.stderr
    [place] = worktrees(program)
    assert (Path(place) / "new.txt").read_text() == "made\n"
    assert (Path(place).parent / "made.json").read_text() != "{}"


def test_trust_of_the_folder_holds_in_its_worktree(program: Program) -> None:
    """Instruction files are read there exactly where they are read here."""
    (program.project / "AGENTS.md").write_text("Use tabs.\n")
    git(program.project, "add", "AGENTS.md")
    git(program.project, "commit", "-qm", "told")
    with ServerThread([{"text": "one"}, {"text": "two"}]) as server:
        settings = program.home / "config" / "settings.toml"
        text = settings.read_text().splitlines()
        text[3] = f'base_url = "{server.base_url("openai-chat")}"'
        settings.write_text("\n".join(text))
        program.run("-p", "go", "--worktree")
        program.run("trust", "allow")
        program.run("-p", "go", "--worktree")
        told = [b"Use tabs." in request.body for request in server.requests]
    assert told == [False, True]


def test_where_there_is_no_repository_or_no_commit_nothing_begins(tmp_path: Path) -> None:
    """Exit 2 and a reason; with JSON a result object."""
    program = Program(tmp_path / "home", tmp_path / "work")
    assert program.run("-p", "x", "--worktree").returncode == 2
    git(program.project, "init", "-q")
    done = program.run("-p", "x", "--worktree", "--output-format", "json")
    assert done.returncode == 2 and '"is_error":true' in done.stdout.replace(" ", "")
    assert program.run("-p", "x", "--worktree", "--continue").returncode == 2
    assert git(program.project, "worktree", "list").count("\n") == 0


def test_a_worktree_that_somebody_deleted_is_forgotten_and_its_commits_stay(program: Program) -> None:
    """The folder is theirs to delete; the branch is not ours while it holds something."""
    asked(program, [WRITE, COMMIT], "--worktree")
    [place] = worktrees(program)
    branch = git(Path(place), "branch", "--show-current")
    shutil.rmtree(place)
    asked(program, [], "--worktree")
    assert git(program.project, "show", f"{branch}:new.txt") == "made"
    git(program.project, "stash", "-q")
    git(program.project, "merge", "-q", "--ff-only", branch)
    asked(program, [], "--worktree")
    assert worktrees(program) == [] and git(program.project, "branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize("what", ["smudge", "clean", "process", "included"])
def test_a_filter_of_the_repository_runs_nothing_and_one_of_the_person_does(
    program: Program, tmp_path: Path, what: str
) -> None:
    script = tmp_path / "s.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    script.chmod(0o755)
    folder = program.project
    (folder / ".gitattributes").write_text("a.txt filter=x\nown.txt filter=own\n")
    (folder / "sub" / "own.txt").write_text("plain\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "filtered")
    git(folder, "config", "filter.x.required", "true")
    if what == "included":
        (folder / "more").write_text(f'[filter "x"]\n\tsmudge = {script}\n')
        git(folder, "config", "include.path", str(folder / "more"))
    else:
        git(folder, "config", f"filter.x.{what}", str(script))
    (program.home / ".gitconfig").write_text('[filter "own"]\n\tsmudge = sed s/plain/smudged/\n')

    done = asked(program, [WRITE], "--worktree")

    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()
    (made,) = (program.home / "state" / "worktrees").rglob("own.txt")
    assert made.read_text() == "smudged\n"
    assert (made.parent / "a.txt").read_text() == "changed\n"


def test_a_partial_clone_whose_objects_are_missing_runs_no_program_to_fetch_them(
    program: Program, tmp_path: Path
) -> None:
    script = tmp_path / "s.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    script.chmod(0o755)
    folder = program.project
    blob = git(folder, "rev-parse", "HEAD:sub/a.txt")
    settings = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(tmp_path),
        "remote.origin.uploadpack": str(script),
        "protocol.file.allow": "always",
    }
    for key, value in settings.items():
        git(folder, "config", key, value)
    (folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    done = asked(program, [], "--worktree")

    assert not (tmp_path / "ran").exists()
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
