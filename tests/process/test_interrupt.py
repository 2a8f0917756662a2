"""Signals and limits: the run stops in time, says so, leaves no process, and can be continued."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from process.program import Program, result_of
from process.server import ServerThread

pytestmark = pytest.mark.process

SLOW = {"text": "word " * 2000, "pause": 0.01}
HANGING = [
    {
        "text": "x",
        "calls": [
            {"name": "bash", "arguments": {"command": "touch began; sleep 87 & setsid sleep 87; sleep 87"}}
        ],
    },
    {"text": "went on"},
]


def _processes(pattern: str) -> list[str]:
    return subprocess.run(
        ["pgrep", "-f", pattern], capture_output=True, text=True, check=False
    ).stdout.split()


def _wait(test: Any, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


def _stopped(process: subprocess.Popen[str], number: int) -> dict[str, Any]:
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert "Traceback" not in err
    result: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return result


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_while_the_model_talks_ends_with_the_result_object(
    number: int, code: int, tmp_path: Path
) -> None:
    """The text so far is kept; the next run continues from it."""
    with ServerThread([SLOW, {"text": "on we go"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        process = program.start("-p", "hi", "--output-format", "stream-json")
        assert process.stdout
        while "message.delta" not in process.stdout.readline():
            pass
        result = _stopped(process, number)

        assert (code, "cancelled", "cancelled") == (
            process.returncode,
            result["subtype"],
            result["stop_reason"],
        )
        assert code == result["exit_code"]
        again = program.run("-p", "go on", "--continue", "--output-format", "json")
        assert (again.returncode, result_of(again)["result"]) == (0, "on we go")
        said = json.dumps(server.requests[1].json["messages"])
        assert "word word" in said, "what was already said is part of the conversation"
        assert server.problems == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_a_command_runs_leaves_no_process_and_a_lawful_session(
    number: int, code: int, tmp_path: Path
) -> None:
    """Background and detached children go with it; the call is answered before the next request."""
    marker = f"87.{os.getpid()}{number}"
    steps = json.loads(json.dumps(HANGING).replace("sleep 87", f"sleep {marker}"))
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        process = program.start("-p", "hi", "--permission-mode", "full", "--output-format", "json")
        _wait(lambda: (program.project / "began").exists() and len(_processes(f"sleep {marker}")) >= 3)
        result = _stopped(process, number)

        assert (code, "cancelled") == (process.returncode, result["subtype"])
        assert _processes(f"sleep {marker}") == []
        again = program.run("-p", "go on", "--continue", "--output-format", "json")
        assert result_of(again)["result"] == "went on"
        assert (
            "cancelled" in server.requests[1].results[0][1]
            or "interrupted" in server.requests[1].results[0][1]
        )
        assert server.problems == []


def test_a_killed_agent_leaves_no_command_running(tmp_path: Path) -> None:
    """SIGKILL gives no chance to clean up; somebody else does it."""
    marker = f"87.{os.getpid()}9"
    steps = json.loads(json.dumps(HANGING).replace("sleep 87", f"sleep {marker}"))
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        process = program.start("-p", "hi", "--permission-mode", "full")
        _wait(lambda: len(_processes(f"sleep {marker}")) >= 3)
        process.kill()
        process.communicate()

        _wait(lambda: not _processes(f"sleep {marker}"), 5)


def test_max_time_ends_with_124(tmp_path: Path) -> None:
    """And the result object says which limit it was."""
    with ServerThread([SLOW]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "hi", "--max-time", "1", "--output-format", "json")

    assert (done.returncode, result_of(done)["subtype"]) == (124, "error_max_time")


def test_max_turns_makes_exactly_that_many_requests(tmp_path: Path) -> None:
    """Exit 5; the run can be continued."""
    steps = [{"text": "x", "calls": [{"name": "ls", "arguments": {"path": "."}}]} for _ in range(9)]
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "hi", "--max-turns", "4", "--output-format", "json")
        asked = len(server.requests)

    result = result_of(done)
    assert (
        asked,
        done.returncode,
        result["subtype"],
        result["stop_reason"],
        result["num_turns"],
    ) == (4, 5, "error_max_turns", "turn_limit", 4)


def test_max_cost_with_a_known_price_ends_with_5(tmp_path: Path) -> None:
    """1,000 input tokens at 10 dollars a million are a cent; the second request is not made."""
    step = {
        "text": "x",
        "calls": [{"name": "ls", "arguments": {"path": "."}}],
        "usage": {"input": 1000, "output": 0},
    }
    with ServerThread([step, step, step]) as server:
        program = Program(
            tmp_path / "home",
            tmp_path / "work",
            url=server.base_url("openai-chat"),
            more="input_price = 10.0\noutput_price = 30.0\n",
        )
        done = program.run("-p", "hi", "--max-cost", "0.01", "--output-format", "json")
        asked = len(server.requests)

    result = result_of(done)
    assert (
        asked,
        done.returncode,
        result["subtype"],
        round(result["total_cost_usd"], 6),
    ) == (1, 5, "error_max_cost", 0.01)


def test_an_unknown_price_is_null_never_zero(tmp_path: Path) -> None:
    """Money is either known or said to be unknown."""
    with ServerThread([{"text": "x"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "hi", "--output-format", "json")

    assert result_of(done)["total_cost_usd"] is None
