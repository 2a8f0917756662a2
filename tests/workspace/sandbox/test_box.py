"""What works in the box, what it leaves behind, and what it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from workspace.held import HOLD, Held
from workspace.sandbox.conftest import Boxed

from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.root import Workspace
from wisp.workspace.sandbox.watch import MASKED, Watch
from wisp.workspace.stop import StopToken


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent / "home")},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def frozen(folder: Path) -> dict[str, bytes]:
    """What in `.git` can make git run something."""
    found = {}
    for name in ("config", "hooks", "info", "modules", "commondir"):
        place = folder / ".git" / name
        for path in [place, *(place.rglob("*") if place.is_dir() else ())]:
            if path.is_file():
                found[str(path.relative_to(folder))] = path.read_bytes()
            elif path.exists():
                found[str(path.relative_to(folder))] = b"folder"
    return found


def test_git_add_and_commit_work_and_nothing_that_runs_code_changes(
    boxed: Boxed, need: Callable[[str], str]
) -> None:
    need("git")
    git(boxed.folder, "init", "-q")
    before = frozen(boxed.folder)
    (boxed.folder / "a.txt").write_text("a\n")
    ending, said = boxed(
        "git add -A && git commit -qm first && git switch -qc other && echo b >b.txt && git add b.txt"
        " && git commit -qm second && git switch -q - && git merge -q other && git tag v1"
        " && git stash list && git status --short"
    )
    assert (ending.code, said) == (0, "")
    assert git(boxed.folder, "log", "--format=%s", "v1").split() == ["second", "first"]
    assert git(boxed.folder, "status", "--short") == ""
    assert frozen(boxed.folder) == before
    ending, said = boxed("git config user.name Other; echo x >.git/hooks/pre-commit; git init -q .")
    assert "Read-only file system" in said or "Device or resource busy" in said
    assert frozen(boxed.folder) == before


def test_a_commit_works_in_a_linked_worktree(
    boxed: Boxed, tmp_path: Path, need: Callable[[str], str]
) -> None:
    need("git")
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    boxed.folder.rmdir()
    git(main, "worktree", "add", "-q", str(boxed.folder))
    boxed.close()
    again = Boxed(boxed.folder, tmp_path / "home", os.path.dirname(need("bwrap")))
    try:
        before = frozen(main)
        ending, said = again("echo a >a && git add a && git commit -qm second && git log --format=%s")
        assert (ending.code, said.split()) == (0, ["second", "first"])
        ending, said = again("git config user.name Other; echo gitdir: /x >.git")
        assert said.count("Read-only file system") + said.count("resource busy") == 2, said
        assert frozen(main) == before
    finally:
        again.close()


def test_a_pointer_to_somebody_elses_repository_opens_nothing(
    boxed: Boxed, tmp_path: Path, need: Callable[[str], str]
) -> None:
    """Only a folder that points back is followed: `.git` comes from the project and proves nothing."""
    need("git")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    (boxed.folder / ".git").write_text(f"gitdir: {other}/.git\n")
    # the folder lies under the temporary folder, which the box replaces; show it, to have something to reach
    _, said = boxed(f"echo evil >>{other}/.git/config; git config user.name Other; true")
    assert "No such file" in said or "Read-only" in said
    assert "evil" not in (other / ".git/config").read_text()


def test_what_stands_in_for_missing_names_leaves_no_trace(boxed: Boxed) -> None:
    (boxed.folder / "kept").write_text("")
    _, said = boxed(
        "ls -A; for n in .git .wisp .mcp.json .vscode .envrc; do mkdir $n/x; rmdir $n; echo >$n; done"
    )
    assert set(MASKED) <= set(said.split())
    assert os.listdir(boxed.folder) == ["kept"]
    assert boxed.fresh == ()


def test_what_a_killed_run_left_is_taken_away_by_the_next(boxed: Boxed) -> None:
    from wisp.workspace.sandbox.standins import Standins

    lost = Standins()
    assert lost.folder(str(boxed.folder / ".vscode"))
    for _, fd, _ in lost._held:
        os.close(fd)  # as the kernel does for a killed process
    assert os.listdir(boxed.folder) == [".vscode"]
    boxed("true")
    assert os.listdir(boxed.folder) == []


def test_an_empty_folder_of_the_users_stays(boxed: Boxed) -> None:
    (boxed.folder / ".vscode").mkdir()
    ending, _ = boxed("echo x >.vscode/tasks.json")
    assert ending.code != 0
    assert (boxed.folder / ".vscode").is_dir()


def test_two_commands_at_once_keep_each_others_cover(boxed: Boxed) -> None:
    """The first to end does not take away what the second still needs."""
    said: list[str] = []
    slow = threading.Thread(
        target=lambda: said.append(boxed("sleep 1; echo x >.envrc; mkdir .git/hooks; ls -A")[1])
    )
    slow.start()
    time.sleep(0.4)
    boxed("true")
    slow.join()
    assert "Read-only file system" in said[0] or "Is a directory" in said[0]
    assert os.listdir(boxed.folder) == []


def test_new_protected_names_are_reported(boxed: Boxed) -> None:
    boxed("true")
    ending, _ = boxed("mkdir -p deep/er/.git && touch deep/er/.git/config deep/.envrc")
    assert ending.code == 0
    assert boxed.fresh == (f"{boxed.folder}/deep/.envrc", f"{boxed.folder}/deep/er/.git")
    boxed("true")
    assert boxed.fresh == ()


def test_setting_times_back_does_not_hide_a_new_name(tmp_path: Path) -> None:
    """The watch goes by change time, which nobody can set."""
    watch, sub = Watch(str(tmp_path)), tmp_path / "sub"
    sub.mkdir()
    os.utime(sub, ns=(1, 1))
    time.sleep(0.1)
    assert watch.look(time.time_ns()) == []
    assert watch.look(time.time_ns()) == []
    (sub / ".envrc").touch()
    os.utime(sub, ns=(1, 1))
    assert watch.look(time.time_ns()) == [f"{sub}/.envrc"]


def test_temporary_files_last_from_command_to_command_and_no_longer(boxed: Boxed) -> None:
    boxed("echo kept >/tmp/note; echo $TMPDIR >/var/tmp/other")
    assert boxed("cat /tmp/note /tmp/other")[1] == "kept\n/tmp\n"
    assert not os.path.exists("/tmp/note")
    folder = boxed.box._boxes._temporary if boxed.box._boxes else ""
    assert os.path.isdir(folder)
    boxed.box.close()
    assert not os.path.exists(folder)


def test_no_secret_of_the_launcher_shows(boxed: Boxed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the command's environment nor in that of any process or argument list it can see."""
    monkeypatch.setenv("PROBE_API_KEY", "hidden-5d2a")
    _, said = boxed("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'; echo looked")
    assert "looked" in said
    assert "hidden-5d2a" not in said


def test_what_is_left_running_is_named_and_ended(boxed: Boxed) -> None:
    mark = f"97{os.getpid()}"
    begun = time.monotonic()
    ending, _ = boxed(f"setsid sleep {mark}1 & (sleep {mark}2 &); echo started")
    assert (ending.code, ending.left) == (0, ("sleep", "sleep"))
    assert time.monotonic() - begun < 2
    assert not _running(f"sleep {mark}")


def test_a_moment_is_given_to_what_ends_by_itself(boxed: Boxed) -> None:
    ending, _ = boxed("(sleep 0.1; echo late >late.txt) & echo hi | tee >(cat >copy.txt)")
    assert (ending.code, ending.left) == (0, ())
    assert (boxed.folder / "late.txt").read_text() == "late\n"
    assert (boxed.folder / "copy.txt").read_text() == "hi\n"


@pytest.mark.parametrize(
    "command", ["exit 7", "kill -9 $$", "kill -TERM $$", "false | true", "exec 1>&- 2>&-; exit 3"]
)
def test_exit_codes_are_those_of_plain_bash(boxed: Boxed, command: str) -> None:
    plain = subprocess.run(["/bin/bash", "-c", command], check=False, capture_output=True).returncode
    ending, said = boxed(command)
    assert ending.code == (128 - plain if plain < 0 else plain)
    assert said == ""


FOREST = HOLD + "for i in $(seq 300); do setsid sleep {mark} & done; echo planted; wait"


def test_three_hundred_detached_children_are_gone_after_a_stop(boxed: Boxed) -> None:
    mark = f"98{os.getpid()}"
    for how in ("stop", "timeout"):
        stop = StopToken()
        (boxed.folder / "held").touch()
        if how == "stop":
            threading.Timer(0.8, stop.stop).start()
        ending, said = boxed(FOREST.format(mark=mark), stop=stop, timeout=0.8 if how == "timeout" else 60)
        assert ending.how == ("stopped" if how == "stop" else "timeout")
        assert "planted" in said
        assert not _running(f"sleep {mark}")


@pytest.mark.parametrize("round_", range(20 if not os.environ.get("WISP_SOAK") else 1000))
def test_three_hundred_detached_children_are_gone_after_the_agent_was_killed(
    boxed: Boxed, round_: int, tmp_path: Path
) -> None:
    held = Held(boxed.folder)
    agent = subprocess.Popen(
        [sys.executable, "-c", AGENT, str(boxed.folder), FOREST.format(mark=77)], stdout=subprocess.PIPE
    )
    assert agent.stdout is not None
    assert agent.stdout.readline() == b"planted\n"
    at = time.monotonic()
    agent.send_signal(signal.SIGKILL)
    assert held.end() - at < 0.5
    agent.wait()
    agent.stdout.close()


AGENT = """
import os, sys, time
from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken
box = Box(Workspace(sys.argv[1]), BoxSettings(), os.environ["PATH"], time.monotonic, time.time_ns)
box.run(["/bin/bash", "-c", sys.argv[2]], env={"PATH": os.environ["PATH"]}, timeout=60, stop=StopToken(),
        output=lambda data: os.write(1, data))
"""


def test_a_root_that_was_exchanged_is_refused(boxed: Boxed, tmp_path: Path) -> None:
    from wisp.workspace.errors import Refused

    boxed.folder.rename(tmp_path / "moved")
    boxed.folder.symlink_to("/")
    with pytest.raises(Refused, match="no longer the folder"):
        boxed("true")


def test_a_launcher_inside_the_workspace_is_not_used(tmp_path: Path) -> None:
    """A command could have written it."""
    (tmp_path / "bwrap").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "bwrap").chmod(0o755)
    workspace = Workspace(str(tmp_path))
    box = Box(workspace, BoxSettings(), str(tmp_path), time.monotonic, time.time_ns)
    assert not box.likely
    assert box.prove().kind != "bubblewrap" and "lies in the workspace" in box.prove().reason
    workspace.close()
    assert not (tmp_path / "ran").exists()


def test_a_launcher_that_fails_is_no_sandbox_and_its_words_are_kept(tmp_path: Path) -> None:
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "bwrap").write_text("#!/bin/sh\necho setting up uid map: Permission denied >&2\nexit 1\n")
    (broken / "bwrap").chmod(0o755)
    folder = tmp_path / "work"
    folder.mkdir()
    workspace = Workspace(str(folder))
    box = Box(workspace, BoxSettings(), str(broken), time.monotonic, time.time_ns)
    proof = box.prove()
    workspace.close()
    assert proof.kind in ("landlock", "none")
    assert "uid map: Permission denied" in proof.reason


def _running(words: str) -> list[str]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                line = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if line.startswith(words):
                found.append(name)
    return found


def test_a_box_that_cannot_be_built_runs_nothing(tmp_path: Path, need: Callable[[str], str]) -> None:
    """No silent downgrade: proven once, failing later, the command is refused with the launcher's words."""
    from wisp.workspace.errors import Refused

    real, fake, folder = need("bwrap"), tmp_path / "bin", tmp_path / "work"
    fake.mkdir()
    folder.mkdir()
    (fake / "bwrap").write_text(
        f'#!/bin/sh\n[ -e {tmp_path}/broken ] && {{ echo no space for a box >&2; exit 1; }}\nexec {real} "$@"\n'
    )
    (fake / "bwrap").chmod(0o755)
    made = Boxed(folder, tmp_path, str(fake))
    try:
        assert made("echo works")[1] == "works\n"
        (tmp_path / "broken").touch()
        with pytest.raises(Refused, match="no space for a box"):
            made("touch ran; touch /tmp/ran")
        assert os.listdir(folder) == []
    finally:
        made.close()


@pytest.mark.slow
def test_processes_are_counted_for_root_too(boxed: Boxed) -> None:
    """A bomb stops at the cap; the agent goes on."""
    boxed("true")
    boxes = boxed.box._boxes
    assert boxes is not None
    boxes.close()
    boxes._cap, boxes.most = None, 40
    ending, said = boxed(
        "for i in $(seq 80); do sleep 5 & done 2>&1 | grep -c . ; jobs -p | wc -l", timeout=20
    )
    if os.geteuid() != 0:
        assert boxed("ulimit -u")[1] == "4096\n"
    elif boxes._cap is None or not boxes._cap.works:
        pytest.skip("no control group for processes can be made here")
    else:
        assert ending.how in ("exited", "timeout")
        assert "Resource temporarily unavailable" in said or int(said.split()[0]) > 0
    assert boxed("echo alive")[1] == "alive\n"


def test_no_core_is_dumped(boxed: Boxed) -> None:
    assert boxed("ulimit -c")[1] == "0\n"


@pytest.mark.parametrize("repository", [False, True])
def test_a_command_inherits_no_descriptor_of_ours(
    boxed: Boxed, repository: bool, need: Callable[[str], str]
) -> None:
    if repository:
        subprocess.run([need("git"), "init", "-q"], cwd=boxed.folder, check=True)
    _, said = boxed("ls /proc/self/fd")
    assert said.split() == ["0", "1", "2", "3"]  # 3 is the folder that is listed
