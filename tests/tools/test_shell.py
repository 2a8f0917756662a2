"""A command's result says how it ended, shows its end, and keeps the rest."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from tools.conftest import Bench

from wisp.messages.ids import SystemClock
from wisp.messages.tool import ToolFailure
from wisp.tools.base import RunContext
from wisp.tools.shell import ShellTool
from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken


def test_output_and_exit_code(bench: Bench) -> None:
    outcome = bench.call("bash", command="echo hi; echo err >&2")
    assert (outcome.text, outcome.is_error) == ("hi\nerr\nexit code: 0", False)
    outcome = bench.call("bash", command="echo bad; exit 3")
    assert (outcome.text, outcome.is_error, outcome.code) == ("bad\nexit code: 3", True, "exit_status")
    assert outcome.details["exit_code"] == 3
    assert bench.call("bash", command="kill -9 $$").details["exit_code"] == 137
    assert bench.call("bash", command="true").text == "exit code: 0"


def test_it_is_real_bash_in_the_working_directory(bench: Bench) -> None:
    outcome = bench.call("bash", command='[[ "$PWD" == "$(pwd -P)" ]] && echo "${BASH_VERSION:+bash} $PWD"')
    assert outcome.text == f"bash {bench.folder}\nexit code: 0"


@pytest.mark.parametrize("boxed", [False, True])
def test_what_was_prepared_for_one_folder_does_not_run_in_another_at_its_place(
    tmp_path: Path, boxed: bool
) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    with closing(Workspace(str(folder))) as workspace:
        box = Box(workspace, BoxSettings(boxed), os.environ["PATH"], time.monotonic, time.time_ns)
        tool = ShellTool(workspace, {"PATH": os.environ["PATH"]}, SystemClock(), spool_folder=None, box=box)
        prepared = tool.prepare({"command": "touch made"})
        folder.rename(tmp_path / "away")
        folder.mkdir()
        with pytest.raises(ToolFailure, match="replaced meanwhile"):
            prepared.run(RunContext(StopToken(), len))
        assert not list(folder.iterdir()) and not list((tmp_path / "away").iterdir())
        box.close()


def test_an_approval_is_for_one_folder_environment_and_grant(tmp_path: Path) -> None:
    """Each is part of the digest that an approval is bound to; the same of all is the same."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()

    def digest(
        folder: str = "a",
        extra: tuple[str, ...] = (),
        value: str = "1",
        network: str = "none",
        memory: int = 9,
    ) -> str:
        with closing(
            Workspace(str(tmp_path / folder), [str(tmp_path / name) for name in extra])
        ) as workspace:
            settings = BoxSettings(network=network)
            box = Box(workspace, settings, os.environ["PATH"], time.monotonic, time.time_ns)
            environment = {"PATH": os.environ["PATH"], "X": value, "SAME": folder[:0]}
            tool = ShellTool(
                workspace, environment, SystemClock(), spool_folder=None, box=box, memory_limit=memory
            )
            return tool.prepare({"command": "make"}).digest()

    found = [
        digest(),
        digest("b"),
        digest(extra=("b",)),
        digest(value="2"),
        digest(network="on"),
        digest(memory=8),
    ]
    assert len(set(found)) == len(found)
    assert digest() == found[0]


def test_the_tail_is_shown_and_all_of_it_is_kept(bench: Bench) -> None:
    outcome = bench.call("bash", command="seq 1 5000")
    log = Path(outcome.details["log"])
    rows = outcome.text.split("\n")
    assert rows[0] == f"[the last 2,000 lines of 5,000 (23,893 bytes); all of it is in {log}]"
    assert rows[1:-1] == [str(n) for n in range(3001, 5001)]
    assert log.read_text() == "".join(f"{n}\n" for n in range(1, 5001))
    assert log.parent == bench.spool
    wide = bench.call("bash", command="yes 0123456789 | head -c 300000")
    assert len(wide.text) < 50_400


def test_a_timeout_keeps_what_was_said(bench: Bench) -> None:
    begun = time.monotonic()
    outcome = bench.call("bash", command="echo partial; sleep 60", timeout=0.4)
    assert time.monotonic() - begun < 5
    assert (outcome.code, outcome.is_error) == ("timeout", True)
    assert outcome.text.startswith("partial\nerror (timeout): ended after 0.4 seconds")


def test_timeouts_are_limited_and_faults_named(bench: Bench) -> None:
    assert bench.prepare("bash", command="true").arguments["timeout"] == 120
    assert bench.prepare("bash", command="true", timeout=120_000).arguments["timeout"] == 600
    for arguments in (
        {"command": "  "},
        {"command": "true", "timeout": 0},
        {"command": "a\0b"},
        {"command": "x", "cwd": "/"},
    ):
        assert bench.call("bash", **arguments).code == "invalid_arguments"


def test_a_stop_settles_within_half_a_second_and_keeps_what_was_said(bench: Bench) -> None:
    stop = StopToken()
    at: list[float] = []

    def watch() -> None:
        while "ready" not in "".join(bench.progress):
            time.sleep(0.01)
        at.append(time.monotonic())
        stop.stop()

    threading.Thread(target=watch).start()
    outcome = bench.run(
        bench.prepare("bash", command="trap '' TERM; echo ready; while :; do sleep 9; done"), stop
    )
    assert time.monotonic() - at[0] < 0.5
    assert outcome.code == "cancelled"
    assert outcome.text.startswith("ready\n")


def test_the_effect_is_the_whole_command(bench: Bench) -> None:
    prepared = bench.prepare("bash", cmd="echo a\necho b")
    assert [(e.kind, e.target) for e in prepared.effects] == [("execute", "echo a\necho b")]
    assert prepared.summary == "$ echo a ..."
    assert prepared.preview == "echo a\necho b"


def test_background_processes_are_stopped_and_named(bench: Bench) -> None:
    outcome = bench.call(
        "bash", command="python3 -u -c 'import time\nwhile 1: print(1); time.sleep(.1)' & echo done"
    )
    assert "done" in outcome.text
    assert "stopped what it left running in the background: python3" in outcome.text
    assert outcome.text.endswith("exit code: 0")


def test_a_missing_shell_is_a_result(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tmp_path / "spool", shell="/nope/bash")
    outcome = bench.call("bash", command="echo 1")
    assert outcome.code == "spawn_failed"
    assert "/nope/bash" in outcome.text
    bench.workspace.close()


def test_screen_tricks_do_not_reach_the_model(bench: Bench) -> None:
    outcome = bench.call(
        "bash", command=r"printf '\033[31mred\033[0m \033]0;title\007x\n10%%\r50%%\r100%%\nbell\a\n'"
    )
    assert outcome.text == "red x\n100%\nbell\\x07\nexit code: 0"


def test_a_character_split_over_two_writes_is_whole(bench: Bench) -> None:
    outcome = bench.call("bash", command=r"printf '\xe2\x82'; sleep .2; printf '\xac\n'")
    assert outcome.text.startswith("€\n")
    assert "".join(bench.progress) == "€\n"


def test_binary_output_is_summarised(bench: Bench) -> None:
    outcome = bench.call("bash", command="head -c 200000 /dev/zero")
    assert outcome.text.startswith("[binary output of 200,000 bytes; it is in ")


@pytest.mark.slow
def test_a_gigabyte_of_output_is_bounded(bench: Bench) -> None:
    with open("/proc/self/status") as file:
        before = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    outcome = bench.call("bash", command="head -c 1073741824 /dev/zero | tr '\\0' x")
    with open("/proc/self/status") as file:
        after = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    assert outcome.details["bytes"] == 1 << 30
    assert after - before < 32 * 1024
    assert len(outcome.text) < 51_000
    assert os.path.getsize(outcome.details["log"]) <= 256 << 20
    assert (
        hashlib.sha256(outcome.text.split("\n")[1].encode()).hexdigest()
        == hashlib.sha256(b"x" * 50_000).hexdigest()
    )
    os.unlink(outcome.details["log"])


def test_a_full_disk_keeps_the_tail_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("not a folder")
    bench = Bench(tmp_path, tmp_path / "spool")
    outcome = bench.call("bash", command="seq 1 5000")
    assert "5000\nexit code: 0" in outcome.text
    assert "could not be made" in outcome.text
    bench.workspace.close()


@pytest.mark.slow
def test_a_million_tiny_writes_are_gathered(bench: Bench) -> None:
    outcome = bench.call(
        "bash", command="python3 -c 'import os\nfor i in range(1000000): os.write(1, b\"x\")'"
    )
    assert outcome.details["bytes"] == 1_000_000
    assert len(bench.progress) < 2000


def test_a_command_too_long_for_the_system_is_a_result(bench: Bench) -> None:
    outcome = bench.call("bash", command="true " + "x" * 3_000_000)
    assert outcome.code == "spawn_failed"
    assert "too long" in outcome.text
