"""The whole program in a folder, with servers and under signals that mean harm: for root and an ordinary user, with
bubblewrap, with Landlock only and with none; by effect.

`test_projects.py` starts the installed command on each folder once; here is what the user and the box could change.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable

import pytest
from hostile.inside import Inside, Model, everywhere, sleepers, toml, until
from hostile.site import CONFIGS, PYTHON, ROOT, Config
from hostile.test_projects import FILES
from process.program import KEY
from workspace.users import NOBODY

from wisp.testing.steps import Call

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.mark.parametrize("config", CONFIGS)
def test_the_three_configurations_are_what_they_are_called(config: Config) -> None:
    """And without a box the effects that other tests miss are there."""

    def work(make: Callable[..., Inside], model: Model) -> None:
        place = make()
        seen = place.project / "seen"
        model.runs(f"[ -d /proc/{os.getpid()} ] && touch {seen}; touch {place.out}/left {place.project}/in")
        done = place.run("-p", "hi", "--permission-mode", "full")
        assert done.code == 0, done.err
        assert (place.project / "in").exists()
        assert seen.exists() is (config != "bubblewrap")
        assert (place.out / "left").exists() is (config == "none")

    everywhere(config, work)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("trusted", [False, True], ids=["untrusted", "trusted-before"])
def test_nothing_of_the_folder_runs_or_moves_the_request(config: Config, trusted: bool) -> None:
    def work(make: Callable[..., Inside], model: Model) -> None:
        for case, files in FILES.items():
            place = make()
            if trusted:
                assert place.run("trust", "allow").code == 0
            place.fill(files)
            before = len(model.requests)
            done = place.run("-p", "hi")
            assert done.code == 6, (case, done.err)
            assert "Traceback" not in done.err and "this is a bug" not in done.err, (case, done.err)
            asked = model.requests[before:]
            assert len(asked) == 2, (case, "both requests went where the user's settings say")
            assert not {"pwned", "asked"} & place.left(), case
            assert "root:" not in str(asked[0].json) and "\x1b" not in done.out + done.err, case
            shutil.rmtree(place.top)

    everywhere(config, work)


@pytest.mark.parametrize("config", CONFIGS)
def test_what_was_approved_runs_in_the_box_and_what_it_became_does_not(config: Config) -> None:
    """The same files do run once a person agreed to them: the test above sees what it looks for."""

    def work(make: Callable[..., Inside], model: Model) -> None:
        del model
        for kind in ("hook", "script", "last hook", "server"):
            place = make()
            touch = f"touch pwned; touch {place.out}/left"
            event = "SessionEnd" if kind == "last hook" else "SessionStart"
            hook = f"[[hooks.{event}]]\n[[hooks.{event}.hooks]]\ncommand = "
            files = {
                "hook": {".wisp/settings.toml": f"{hook}{toml(touch)}\n"},
                "last hook": {".wisp/settings.toml": f"{hook}{toml(touch)}\n"},
                "script": {
                    ".wisp/settings.toml": f"{hook}{toml('./hook.sh')}\n",
                    "hook.sh": f"#!/bin/sh\n{touch}\n",
                },
                "server": {
                    ".wisp/settings.toml": f'[mcp_servers.x]\ncommand = ["sh", "-c", {toml(touch)}]\n'
                },
            }[kind]
            place.fill(files)
            assert place.run("trust", "allow").code == 0
            done = place.run("-p", "hi")
            assert done.code == 6
            assert "pwned" in place.left(), (kind, done.err)
            assert (place.out / "left").exists() is (config == "none"), kind
            (place.project / "pwned").unlink()
            for name in files:
                path = place.project / name
                path.write_text(path.read_text().replace("touch pwned", "touch  pwned"))
            done = place.run("-p", "hi")
            assert "pwned" not in place.left(), kind
            assert done.code == 6 and "changed since" in done.err, done.err

    everywhere(config, work)


@pytest.mark.parametrize("config", CONFIGS)
def test_trust_is_of_one_folder_and_of_none_that_is_shared(config: Config) -> None:
    def work(make: Callable[..., Inside], model: Model) -> None:
        place = make()
        for folder in ("/", "/tmp", str(place.home)):
            assert place.run("trust", "allow", folder).code == 2
        place.fill({"AGENTS.md": "of the project\n"})
        assert place.run("trust", "allow").code == 0
        assert "of the project" in place.run("--print-instructions").out
        evil, first = place.top / "evil", place.project
        evil.mkdir()
        place.fill({"AGENTS.md": "of another\n"}, evil)
        first.rename(place.top / "first")
        first.symlink_to(evil)
        assert "of another" not in place.run("--print-instructions").out

        below = make()
        below.fill({"AGENTS.md": "from above\n", ".git/HEAD": "ref: refs/heads/m\n"}, below.top)
        said = ["--print-instructions"]
        assert below.run("trust", "allow").code == 0
        assert "from above" not in below.run(*said).out
        assert below.run("trust", "allow", str(below.top)).code == 0
        assert "from above" in below.run(*said).out, "by its own decision it is read"
        if os.geteuid() == 0:
            below.foreign[below.top] = NOBODY if below.uid == 0 else 0
            assert "from above" not in below.run(*said).out, "it is somebody else's now"
            assert below.run("-p", "hi").code == 6
            assert "from above" not in str(model.requests[-1].json)

    everywhere(config, work)


@pytest.mark.parametrize("config", CONFIGS)
def test_what_is_no_regular_file_is_passed_over_and_never_waited_for(config: Config) -> None:
    names = ("AGENTS.md", ".wisp/settings.toml", ".mcp.json", ".git/HEAD", ".wisp/skills/x/SKILL.md")

    def work(make: Callable[..., Inside], model: Model) -> None:
        del model
        for kind in ("fifo", "device"):
            place = make()
            assert place.run("trust", "allow").code == 0
            for name in names:
                path = place.project / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if kind == "fifo":
                    os.mkfifo(path)
                else:
                    path.symlink_to("/dev/zero")
            done = place.run("-p", "hi")
            assert done.code == 6 and "Traceback" not in done.err, done.err

    everywhere(config, work)


@pytest.mark.parametrize("config", CONFIGS)
def test_a_server_of_tools_sees_no_key_and_leaves_nothing(config: Config) -> None:
    server = ROOT / "tests" / "mcp_client" / "server.py"

    def work(make: Callable[..., Inside], model: Model) -> None:
        mark = f"93{os.getpid()}"
        script = (
            f"env > environment; cat /proc/$PPID/environ > parent; (setsid sleep {mark} &);"
            f"nohup sleep {mark} >/dev/null 2>&1 & sleep 0.1; exec {PYTHON} -B {server} plain"
        )
        place = make(f'[mcp_servers.x]\ncommand = ["sh", "-c", {toml(script)}]\n')
        model.runs("touch asked")
        done = place.run("-p", "hi")
        assert done.code == 6, done.err
        assert "mcp__x__echo" in model.requests[-2].tools, done.err
        seen = (place.project / "environment").read_text()
        assert "PATH=" in seen and KEY not in seen
        assert KEY.encode() not in (place.project / "parent").read_bytes()
        assert sleepers(mark) == 0

    everywhere(config, work)


SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -9}


@pytest.mark.parametrize("config", CONFIGS)
def test_no_end_of_the_agent_leaves_a_process(config: Config) -> None:
    """However a command hides what it starts, and also when nobody is there any more to end it."""

    def work(make: Callable[..., Inside], model: Model) -> None:
        for number, code in SIGNALS.items():
            place = make()
            mark = f"94{os.getpid()}{int(number)}"
            model.runs(
                f"trap '' TERM INT HUP; sleep {mark} & (setsid sleep {mark} &); (sh -c 'sleep {mark} & exit 0' &);"
                f"nohup setsid sh -c \"trap '' TERM; sleep {mark}\" >/dev/null 2>&1 & sleep {mark}"
            )
            agent = place.start("-p", "hi", "--permission-mode", "full")
            assert until(lambda: sleepers(mark) >= 5), "the test sees them"  # noqa: B023
            os.kill(agent, number)
            assert place.ended(agent).code == code
            assert until(lambda: sleepers(mark) == 0, 5)  # noqa: B023

    everywhere(config, work)


@pytest.mark.parametrize("config", CONFIGS)
def test_an_agent_that_crashes_leaves_no_memory_behind(config: Config) -> None:
    """Its memory holds keys; a process of ours that crashes the same way does leave its own."""

    def crashed(pid: int) -> bool:
        os.kill(pid, signal.SIGSEGV)
        status = os.waitpid(pid, 0)[1]
        assert os.WTERMSIG(status) == signal.SIGSEGV
        return os.WCOREDUMP(status)

    def work(make: Callable[..., Inside], model: Model) -> None:
        place = make()
        before = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
        try:
            mark = f"96{os.getpid()}"
            model.runs(f"sleep {mark}")
            agent = place.start("-p", "hi", "--permission-mode", "full")
            assert until(lambda: sleepers(mark) > 0), place.said()
            assert place.uid == 0 or os.stat(f"/proc/{agent}/environ").st_uid == 0, "it can be looked into"
            assert not crashed(agent)
            with tempfile.TemporaryDirectory() as folder:
                plain = subprocess.Popen(["sleep", "60"], cwd=folder)
                plain.returncode = 0  # it is waited for here
                if not crashed(plain.pid):
                    pytest.skip("this machine keeps no memory of what crashes")
        finally:
            resource.setrlimit(resource.RLIMIT_CORE, before)

    everywhere(config, work)


@pytest.mark.parametrize("config", CONFIGS)
def test_several_folders_can_be_given_and_no_other_comes_with_them(config: Config) -> None:
    def work(make: Callable[..., Inside], model: Model) -> None:
        place = make()
        given, beside = place.top / "given", place.top / "beside"
        place.fill({"old": "one\n"}, given)
        place.fill({"old": "one\n"}, beside)
        options = ("--add-dir", str(given), "--allow", f"edit({given}/**)")
        for folder in (given, beside):
            edit = {"path": str(folder / "old"), "edits": [{"old_text": "one", "new_text": "two"}]}
            for call in (Call("edit", edit), Call("write", {"path": str(folder / "new"), "content": "x"})):
                model.call = call
                assert place.run("-p", "hi", *options).code == (0 if folder == given else 6)
        assert (given / "old").read_text() == "two\n" and (given / "new").read_text() == "x"
        assert (beside / "old").read_text() == "one\n" and not (beside / "new").exists()
        model.runs(f"touch {given}/made; touch {beside}/made; touch made")
        assert place.run("-p", "hi", "--add-dir", str(given), "--permission-mode", "full").code == 0
        assert (given / "made").exists() and (place.project / "made").exists()
        assert (beside / "made").exists() is (config == "none")

    everywhere(config, work)


@pytest.mark.parametrize("config", CONFIGS)
def test_git_that_wisp_itself_runs_is_in_the_box_too(config: Config) -> None:
    """What a filter of the person's own does while a worktree is made: the one program that such a git does run.

    It may write where git may, in the repository; where something boxes, nowhere else, and it sees no credentials.
    """

    def work(make: Callable[..., Inside], model: Model) -> None:
        place = make()
        model.call = Call("write", {"path": "new.txt", "content": "x\n"})
        (place.home / ".netrc").write_text("password")
        place.fill({"a.txt": "a\n", ".gitattributes": "a.txt filter=own\n"})
        commands = f"touch {place.out}/left {place.project}/.git/in; cat {place.home}/.netrc >&2; sed s/a/b/"
        (place.home / ".gitconfig").write_text(f'[filter "own"]\n\tsmudge = {toml(commands)}\n')
        for words in ("init -q", "add -A", "-c user.name=u -c user.email=u@x commit -qm first"):
            subprocess.run(["git", *words.split()], cwd=place.project, check=True)
        config_file = (place.project / ".git" / "config").read_bytes()

        done = place.run("-p", "hi", "--worktree", "--permission-mode", "full")

        assert done.code == 0, done.err
        (made,) = (place.home / "state" / "worktrees").rglob("a.txt")
        assert made.read_text() == "b\n" and (made.parent / "new.txt").exists()
        assert (place.project / ".git" / "in").exists()
        assert (place.out / "left").exists() is (config == "none")
        assert "password" not in done.err + done.out
        assert (place.project / ".git" / "config").read_bytes() == config_file

    everywhere(config, work)


PIPES = [
    "AGENTS.md",
    "CLAUDE.md",
    ".env",
    ".git/config",
    ".git/HEAD",
    ".git/index",
    ".git/info/exclude",
    ".git/packed-refs",
    ".gitignore",
    ".ignore",
    ".rgignore",
    ".gitattributes",
    ".wisp/skills/x/SKILL.md",
    ".claude/commands/c.md",
    "package.json",
    "Makefile",
    "a/AGENTS.md",
    "a/.gitignore",
    "a/b/.gitignore",
    "run.sh",
    "picture.png",
    "paper.pdf",
]


@pytest.mark.parametrize("config", CONFIGS)
def test_pipes_under_every_name_that_is_read_unasked_hold_nobody_up(config: Config) -> None:
    """What opens one waits for a writer that never comes."""
    calls = [
        (Call("grep", {"pattern": "needle"}), "real.txt"),
        (Call("find", {"pattern": "*.txt"}), "real.txt"),
        (Call("ls", {"path": "."}), "AGENTS.md"),
        (Call("read", {"path": "AGENTS.md"}), "not_regular"),
        (Call("edit", {"path": ".gitignore", "edits": [{"old_text": "a", "new_text": "b"}]}), "not_regular"),
        (Call("write", {"path": "new.txt", "content": "needle"}), "created new.txt"),
        (Call("bash", {"command": "ls a/b; echo made >made.txt"}), "exit code: 0"),
        (Call("bash", {"command": "make -n", "timeout": 1}), ""),
        (Call("bash", {"command": "git status", "timeout": 1}), ""),
    ]

    def work(make: Callable[..., Inside], model: Model) -> None:
        place = make()
        assert place.run("trust", "allow").code == 0
        place.fill({"a/b/real.txt": "needle\n"})
        for name in PIPES:
            (place.project / name).parent.mkdir(parents=True, exist_ok=True)
            os.mkfifo(place.project / name)
        for mode, some in (("full", calls), ("ask", calls[-3:])):
            for model.call, told in some:
                begun, before = time.monotonic(), len(model.requests)
                done = place.run("-p", "see @AGENTS.md and @picture.png", "--permission-mode", mode)
                assert done.code in (0, 6), (model.call, done.err)
                assert time.monotonic() - begun < 15, (model.call, "ripgrep alone would wait for 20 s")
                if mode == "full":
                    assert told in model.requests[before + 1].last_result
        for words in (("skills", "list"), ("permissions", "why", "grep -rn x ."), ("context",)):
            assert "Traceback" not in place.run(*words).err

    everywhere(config, work)
