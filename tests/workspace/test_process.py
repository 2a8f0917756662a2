"""Programs are bounded in time, stop at once, and leave nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from workspace.held import HOLD, Held
from workspace.users import as_user

from wisp.workspace.errors import Refused
from wisp.workspace.guardian import descendants, listed_children, signal_all, table_of_children
from wisp.workspace.process import Ending, quiet_environment, run, signal_group, sweep
from wisp.workspace.stop import Stopped, StopToken

SOURCE = Path(__file__).parents[2] / "src"
ENV = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
HOSTILE = """trap '' TERM INT HUP; {sleep} & (setsid {sleep} &); (sh -c '{sleep} & exit 0' &)
nohup setsid sh -c "trap '' TERM; {sleep}" >/dev/null 2>&1 & env -i setsid {sleep} & {sleep}"""


class Shell:
    """Runs commands and remembers what they said."""

    def __init__(self, folder: Path) -> None:
        self.cwd = os.open(folder, os.O_RDONLY)
        self.said = b""

    def __call__(
        self, command: str, timeout: float = 20, stop: StopToken | None = None, guarded: bool = True
    ) -> Ending:
        self.said = b""
        return run(
            ["bash", "-c", command],
            cwd=self.cwd,
            env=quiet_environment(ENV),
            timeout=timeout,
            stop=stop or StopToken(),
            now=time.monotonic,
            output=self._take,
            guarded=guarded,
        )

    def _take(self, data: bytes) -> None:
        self.said += data


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def nap() -> str:
    """A `sleep` nobody else runs, so that it can be counted."""
    return f"sleep 6{int.from_bytes(os.urandom(3), 'big')}"


def alive(command: str) -> int:
    """How many processes run exactly this command line, zombies not counted."""
    count = 0
    wanted = command.replace(" ", "\0").encode() + b"\0"
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                count += Path(f"/proc/{name}/cmdline").read_bytes() == wanted
            except OSError:
                continue
    return count


def wait_for(condition: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def stop_when(condition: Callable[[], bool], stop: StopToken) -> list[float]:
    """Stops from another thread once `condition` holds; the list gets the time of it."""
    at: list[float] = []

    def watch() -> None:
        wait_for(condition)
        at.append(time.monotonic())
        stop.stop()

    threading.Thread(target=watch).start()
    return at


@pytest.mark.parametrize("guarded", [True, False])
def test_output_exit_code_and_signals(shell: Shell, tmp_path: Path, guarded: bool) -> None:
    assert shell("pwd; echo err >&2; exit 3", guarded=guarded) == Ending("exited", 3)
    assert shell.said.decode() == f"{os.path.realpath(tmp_path)}\nerr\n"
    assert shell("kill -SEGV $$", guarded=guarded).code == -signal.SIGSEGV
    assert shell("kill -TERM $PPID; echo on", guarded=True).code == 0


def test_stdin_is_empty_and_there_is_no_terminal(shell: Shell) -> None:
    assert shell("cat; read x; echo $?; head -c1; read x </dev/tty", timeout=10).how == "exited"
    assert shell.said.startswith(b"1\n")
    assert b"/dev/tty" in shell.said


def test_editors_pagers_and_prompts_do_not_wait(shell: Shell, tmp_path: Path) -> None:
    if not shutil.which("git") and os.environ.get("CI") != "true":
        pytest.skip("there is no git")
    setup = "git init -q . && git config user.email a@b && git config user.name a"
    setup += "&& git commit -q --allow-empty -m one"
    assert shell(setup).code == 0
    assert (
        shell("git log; git commit --allow-empty; git commit --amend; git rebase -i --root", timeout=15).how
        == "exited"
    )
    assert b"one" in shell.said
    assert shell("sudo -A -v", timeout=10).how == "exited"


def test_a_child_that_keeps_the_pipe_does_not_keep_the_call(shell: Shell, nap: str) -> None:
    begun = time.monotonic()
    ending = shell(f"(while :; do echo noise; sleep .05; done) & {nap} & echo done")
    assert time.monotonic() - begun < 2
    assert ending.how, ending.code == ("exited", 0)
    assert b"done" in shell.said
    assert "sleep" in ending.left
    assert alive(nap) == 0


def test_background_work_that_ends_soon_is_waited_for(shell: Shell) -> None:
    assert shell("(sleep .1; echo late) & echo done") == Ending("exited", 0)
    assert shell.said == b"done\nlate\n"


def test_the_timeout_holds_whatever_the_program_does_and_its_output_is_kept(shell: Shell, nap: str) -> None:
    begun = time.monotonic()
    ending = shell(f"trap '' TERM; echo before; while :; do {nap}; done", timeout=0.5)
    assert (ending.how, ending.code) == ("timeout", None)
    assert 0.5 <= time.monotonic() - begun < 2
    assert shell.said == b"before\n"
    assert alive(nap) == 0


def test_the_hostile_tree_is_gone_within_half_a_second_of_a_stop(public: Path, nap: str) -> None:
    shell = Shell(public)
    for uid in (0, 65534):

        def work() -> None:
            if not os.access(sys.executable, os.X_OK):
                sys.executable = "/usr/bin/python3"  # this interpreter lies where only root may look
            stop = StopToken()
            at = stop_when(lambda: alive(nap) >= 6, stop)
            assert shell(HOSTILE.format(sleep=nap), timeout=30, stop=stop).how == "stopped"
            assert time.monotonic() - at[0] < 0.5
            assert alive(nap) == 0

        as_user(work, uid)


FOREST = HOLD + "trap '{traps}' TERM; for i in $(seq 300); do setsid sleep 77 & done; echo planted; wait"
"""With `:` the children end when told to, with nothing they do not."""


@pytest.mark.slow
def test_three_hundred_detached_children_are_gone_within_half_a_second(shell: Shell, tmp_path: Path) -> None:
    stop = StopToken()
    held = Held(tmp_path)
    at = stop_when(lambda: shell.said == b"planted\n", stop)
    shell(FOREST.format(traps=":"), timeout=60, stop=stop)
    assert held.end() - at[0] < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("round_", range(20 if not os.environ.get("WISP_SOAK") else 1000))
def test_three_hundred_detached_children_are_gone_half_a_second_after_the_agent_was_killed(
    tmp_path: Path, round_: int
) -> None:
    traps = "" if round_ % 5 == 4 else ":"
    held = Held(tmp_path)
    agent = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", AGENT, str(SOURCE), FOREST.format(traps=traps), str(tmp_path)],
        stdout=subprocess.PIPE,
    )
    assert agent.stdout is not None
    assert agent.stdout.readline() == b"planted\n"
    at = time.monotonic()
    agent.send_signal(signal.SIGKILL)
    assert held.end() - at < 0.5
    agent.wait()
    agent.stdout.close()


def test_a_crowd_of_other_processes_does_not_keep_the_guardian_from_its_own(nap: str) -> None:
    """What is below is the same whichever way it is asked for, and children of a thread are among it."""
    line = f"{nap} & setsid sh -c '{nap} & {nap}' & (exec python3 -Ssc '{THREADED}' {nap}) & wait"
    top = subprocess.Popen(["bash", "-c", line], start_new_session=True)
    wait_for(lambda: alive(nap) == 4)
    below = descendants(top.pid)
    assert sorted(descendants(top.pid, table_of_children())) == sorted(below)
    assert sorted(descendants(top.pid, listed_children)) == sorted(below)
    assert len(below) == 6
    signal_all([*below, top.pid], signal.SIGKILL)
    top.wait()


THREADED = "import os,sys,threading;threading.Thread(target=lambda:os.spawnvp(os.P_WAIT,sys.argv[1],sys.argv[1:])).start()"


@pytest.mark.parametrize("deaf", ["", "trap '' TERM; sleep 77 & setsid sleep 77 & trap - TERM;"])
def test_what_listens_has_a_moment_to_end_also_beside_what_does_not(
    shell: Shell, tmp_path: Path, deaf: str
) -> None:
    stop = StopToken()
    stop_when(lambda: shell.said == b"up\n", stop)
    end = "import os,signal,time;signal.signal(15, lambda *_: (time.sleep(.03), open('bye','w').close(), os._exit(0)))"
    held = Held(tmp_path)
    shell(
        f"{HOLD} {deaf} exec python3 -Sc \"{end};os.write(1,b'up\\n');time.sleep(77)\"", timeout=60, stop=stop
    )
    held.end(0.5)
    assert (tmp_path / "bye").exists()


def test_killing_its_guardian_does_not_free_a_command(shell: Shell, nap: str) -> None:
    begun = time.monotonic()
    shell(f"setsid {nap} & kill -9 $PPID; {nap}")
    assert time.monotonic() - begun < 5
    assert alive(nap) == 0


AGENT = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from wisp.workspace.process import run
from wisp.workspace.stop import StopToken
run(["bash", "-c", sys.argv[2]], cwd=os.open(sys.argv[3], os.O_RDONLY), env={"PATH": os.environ["PATH"]},
    timeout=60, stop=StopToken(), now=time.monotonic, output=lambda data: os.write(1, data))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_when_the_agent_dies_its_commands_die(tmp_path: Path, nap: str, number: int) -> None:
    held, line = Held(tmp_path), HOLD + HOSTILE.format(sleep=nap)
    agent = subprocess.Popen([sys.executable, "-I", "-S", "-c", AGENT, str(SOURCE), line, str(tmp_path)])
    wait_for(lambda: alive(nap) >= 6)
    at = time.monotonic()
    agent.send_signal(number)
    assert held.end() - at < 0.5
    agent.wait()


def test_a_stop_before_the_start_runs_nothing(shell: Shell, tmp_path: Path) -> None:
    stop = StopToken()
    stop.stop()
    with pytest.raises(Stopped):
        shell("touch made", stop=stop)
    assert not (tmp_path / "made").exists()


def test_what_cannot_be_started_is_a_refusal_that_names_it(tmp_path: Path) -> None:
    cwd = os.open(tmp_path, os.O_RDONLY)
    for guarded in (True, False):
        with pytest.raises(Refused, match="/nope/bash") as caught:
            run(
                ["/nope/bash"],
                cwd=cwd,
                env=ENV,
                timeout=5,
                stop=StopToken(),
                now=time.monotonic,
                output=print,
                guarded=guarded,
            )
        assert caught.value.code == "spawn_failed"
    os.close(cwd)


def test_enough_output_ends_the_program(tmp_path: Path) -> None:
    seen: list[bytes] = []
    ending = run(
        ["yes"],
        cwd=os.open(tmp_path, os.O_RDONLY),
        env=ENV,
        timeout=20,
        stop=StopToken(),
        now=time.monotonic,
        output=lambda data: seen.append(data) or len(seen) < 3,
        guarded=False,
    )
    assert ending.how == "enough"
    assert len(seen) == 3


def test_the_kill_helper_refuses_what_could_hit_everyone() -> None:
    for pid in (None, -1, 0, 1, os.getpgrp()):
        assert signal_group(pid, 0) is False
    assert sweep("no such mark") == 0


def test_a_child_inherits_three_descriptors_and_only_the_environment_given(
    shell: Shell, tmp_path: Path
) -> None:
    leak = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(leak, True)
    shell("ls /proc/self/fd; env")
    words = shell.said.decode().split("\n")
    assert words[:4] == ["0", "1", "2", "3"], "the last is ls's own"
    assert not words[4].isdigit()
    given = quiet_environment(ENV)
    names = {word.split("=")[0] for word in words[4:] if "=" in word}
    assert names <= set(given) | {"WISP_CALL_ID", "PWD", "SHLVL", "_", "OLDPWD"}
    os.close(leak)


def test_startup_files_of_the_shell_are_not_run(tmp_path: Path) -> None:
    (tmp_path / "rc").write_text("echo hooked")
    env = quiet_environment(ENV | {"BASH_ENV": str(tmp_path / "rc"), "ENV": str(tmp_path / "rc")})
    assert not {"BASH_ENV", "ENV"} & set(env)


def test_a_folder_is_never_found_by_cdpath(tmp_path: Path) -> None:
    """Policies read `cd src` as the src of the workspace."""
    (tmp_path / "elsewhere" / "src").mkdir(parents=True)
    env = quiet_environment(ENV | {"CDPATH": str(tmp_path / "elsewhere")})
    assert "CDPATH" not in env


def test_many_short_children_are_reaped(shell: Shell) -> None:
    """By the guardian, while the command goes on; it is given five seconds on a busy machine."""
    ending = shell(
        "for i in $(seq 300); do (setsid true &) ; done; "
        "for i in $(seq 100); do n=$(ps -o stat= --ppid $PPID | grep -c Z); [ $n = 0 ] && break; sleep 0.05; done; "
        "echo $n $(ps -o args= -p $PPID | grep -c guardian)"
    )
    assert ending.code == 0
    assert shell.said.split() == [b"0", b"1"]


def test_nothing_stays_open_after_many_runs(shell: Shell) -> None:
    stop = StopToken()
    shell("true", stop=stop)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(10):
        shell(
            "echo x; sleep 9" if number % 3 == 0 else "true", timeout=0.1 if number % 3 == 0 else 9, stop=stop
        )
    assert len(os.listdir("/proc/self/fd")) == before
    stop.stop()


def test_it_works_from_worker_threads_at_once(tmp_path: Path) -> None:
    shells = [Shell(tmp_path) for _ in range(4)]
    threads = [
        threading.Thread(target=shell, args=(f"echo {n}; exit {n}",)) for n, shell in enumerate(shells)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [shell.said for shell in shells] == [b"0\n", b"1\n", b"2\n", b"3\n"]


def test_when_memory_runs_out_the_command_goes_first(shell: Shell) -> None:
    own = int(Path("/proc/self/oom_score_adj").read_text())
    shell("cat /proc/self/oom_score_adj")
    assert int(shell.said) == max(500, own)
