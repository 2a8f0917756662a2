"""Background commands: started, read, fed, stopped, and reported when they end."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from tools.conftest import Bench

from wisp.workspace.background import MOST


def _running(mark: str) -> bool:
    return bool(subprocess.run(["pgrep", "-f", f"^sleep {mark}"], capture_output=True, check=False).stdout)


def _start(bench: Bench, command: str) -> str:
    outcome = bench.call("bash", command=command, background=True)
    found = re.search(r"\[(?:background command )?(p\d+) ", outcome.text)
    assert found, outcome.text
    return found[1]


def test_a_command_goes_on_while_others_run(bench: Bench) -> None:
    mark = f"94{os.getpid()}"
    outcome = bench.call("bash", command=f"echo ready; sleep {mark}", background=True)
    assert outcome.text == "ready\n[p1 running]"
    assert outcome.details["running"] is True
    assert bench.call("bash", command="echo other").text == "other\nexit code: 0"
    assert bench.call("process", operation="list").text == f"p1 running: echo ready; sleep {mark}"
    assert _running(mark)
    stopped = bench.call("process", operation="stop", id="p1")
    assert stopped.text.startswith("[background command p1 stopped")
    assert not _running(mark)


def test_it_reads_what_is_new_and_takes_input(bench: Bench) -> None:
    name = _start(bench, 'while read -r l; do echo "got $l"; done; echo over')
    assert bench.call("process", operation="write", id=name, input="one\n").text == f"{name} got 4 bytes"
    assert bench.call("process", operation="read", id=name, wait=5).text == f"got one\n[{name} running]"
    assert bench.call("process", operation="read", id=name).text == f"[{name} running]"
    assert bench.call("process", operation="write", id=name, input="two\n", wait=5).text.startswith(
        "got two\n"
    )
    bench.call("process", operation="stop", id=name)
    late = bench.call("process", operation="write", id=name, input="x")
    assert (late.code, late.is_error) == ("not_running", True)


def test_on_a_terminal_it_is_typed_to_and_answers(bench: Bench) -> None:
    outcome = bench.call("bash", command="read -r -p 'name? ' n; echo hi $n; cat", background=True, tty=True)
    assert not outcome.is_error
    said = outcome.text + bench.call("process", operation="write", id="p1", input="Ada\n").text
    while "hi Ada" not in said:  # its question, what was typed and the answer come as they come
        news = bench.call("process", operation="read", id="p1", wait=20)
        assert "running" in news.text
        said += news.text
    assert "name? " in said
    bench.call("process", operation="stop", id="p1")


def test_a_person_is_shown_which_command_gets_the_input(bench: Bench) -> None:
    name = _start(bench, "cat")
    prepared = bench.tools["process"].prepare({"operation": "write", "id": name, "input": "rm x\n"})
    assert prepared.preview == "cat\n<<< input:\nrm x\n"
    bench.call("process", operation="stop", id=name)


def test_its_end_is_reported_once_with_the_next_command(bench: Bench) -> None:
    name = _start(bench, "sleep 0.7; exit 3")
    time.sleep(0.6)
    said = bench.call("bash", command="sleep 0.2; echo hi").text
    assert said == f"hi\nexit code: 0\n[background command {name} ended with exit code 3: sleep 0.7; exit 3]"
    assert bench.call("bash", command="echo hi").text == "hi\nexit code: 0"


def test_one_that_ends_at_once_says_so(bench: Bench) -> None:
    outcome = bench.call("bash", command="echo no; exit 4", background=True)
    assert outcome.text == "no\n[background command p1 ended with exit code 4: echo no; exit 4]"
    assert (outcome.details["running"], outcome.details["exit_code"]) == (False, 4)


def test_much_output_is_cut_and_the_log_is_whole(bench: Bench) -> None:
    name = _start(bench, "head -c 300000 /dev/zero | tr '\\0' x; sleep 60")
    time.sleep(0.5)
    outcome = bench.call("process", operation="read", id=name)
    log = Path(outcome.details["log"])
    # the first look took its share; what is read now, what is said to be missing, and the log agree
    assert log.stat().st_size == 300_000
    assert len(outcome.text) < 51_000
    bench.call("process", operation="stop", id=name)


def test_faults_are_named(bench: Bench) -> None:
    assert bench.call("process", operation="read", id="p9").code == "not_found"
    assert bench.call("process", operation="dance").code == "invalid_arguments"
    name = _start(bench, "sleep 60")
    assert bench.call("process", operation="write", id=name).code == "invalid_arguments"
    bench.call("process", operation="stop", id=name)


def test_only_input_is_an_effect(bench: Bench) -> None:
    name = _start(bench, "cat")
    assert bench.prepare("process", operation="read", id=name).effects == ()
    assert bench.prepare("process", operation="stop", id=name).effects == ()
    effect = bench.prepare("process", operation="write", id=name, input="x").effects[0]
    assert (effect.kind, effect.target, effect.boxed) == ("execute", "cat <<< 'x'", False)
    bench.call("process", operation="stop", id=name)


@pytest.mark.slow
def test_there_is_a_limit(bench: Bench) -> None:
    names = [_start(bench, "sleep 60") for _ in range(MOST)]
    assert bench.call("bash", command="sleep 60", background=True).code == "too_many"
    for name in names:
        bench.call("process", operation="stop", id=name)


def test_closing_ends_all(tmp_path: Path) -> None:
    from wisp.workspace.background import Backgrounds

    backgrounds, folder = Backgrounds(), tmp_path / "ws"
    folder.mkdir()
    bench = Bench(folder, tmp_path / "spool", backgrounds=backgrounds)
    mark = f"93{os.getpid()}"
    for _ in range(3):
        bench.call("bash", command=f"setsid sleep {mark} & sleep {mark}", background=True)
    assert _running(mark)
    backgrounds.close()
    assert not _running(mark)
    bench.workspace.close()
