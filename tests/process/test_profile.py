"""`--profile FILE`: where the time of a run went, as Python's own tools read it."""

from __future__ import annotations

import json
import os
import pstats
import subprocess
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process


@pytest.mark.parametrize("fails", [False, True])
def test_the_profile_holds_the_run_also_one_that_fails(tmp_path: Path, fails: bool) -> None:
    step = {"text": "hello", **({"fault": {"status": 400}} if fails else {})}
    with ServerThread([step]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        file = tmp_path / "run.prof"
        done = program.run("-p", "hi", "--profile", str(file), "--output-format", "json")
    assert done.returncode == (4 if fails else 0)
    assert json.loads(done.stdout)["exit_code"] == done.returncode
    stats = pstats.Stats(str(file)).get_stats_profile()
    assert "run_agent_loop" in stats.func_profiles
    assert 0 < stats.func_profiles["stream"].cumtime <= stats.total_tt


def test_a_place_that_cannot_be_written_is_a_usage_error_before_anything_is_done(tmp_path: Path) -> None:
    program = Program(tmp_path / "home", tmp_path / "work")
    done = program.run("-p", "hi", "--profile", str(tmp_path / "none" / "x"), "--output-format", "json")
    assert done.returncode == 2
    assert "the profile cannot be written" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize("listens", [False, True])
@pytest.mark.parametrize("option", ["--profile", "--record"])
def test_a_pipe_is_no_place_to_write_to_and_nobody_waits_for_its_reader(
    option: str, listens: bool, tmp_path: Path
) -> None:
    """A usage error, at once, before anything is asked."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK) if listens else -1
    with ServerThread([]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "hi", option, str(pipe), "--output-format", "json", timeout=30)
        assert not server.requests
    if listens:
        assert os.read(reader, 100) == b""
        os.close(reader)
    assert done.returncode == 2
    assert "a pipe or a socket, not a file" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize("option", ["--system-prompt", "--output-schema", "--replay"])
def test_what_is_read_comes_through_a_pipe_or_is_a_usage_error_and_nobody_waits_for_ever(
    option: str, tmp_path: Path
) -> None:
    """A pipe that nobody writes to, a device without an end; a shell's `<(...)` is read."""
    os.mkfifo(tmp_path / "pipe")
    program = Program(tmp_path / "home", tmp_path / "work")
    for place in (str(tmp_path / "pipe"), "/dev/zero"):
        if (option, place) != ("--replay", "/dev/zero"):  # which takes a gigabyte to be too long
            done = program.run("-p", "hi", option, place, "--output-format", "json", timeout=50)
            assert done.returncode == 2, done.stderr
            assert place in json.loads(done.stdout)["error"]
    line = f"{' '.join(program.argv)} -p hi --max-retries 0 {option} <(sleep 0.2; echo nonsense)"
    shell = subprocess.run(
        ["bash", "-c", line], env=program.env, cwd=program.project, capture_output=True, text=True, timeout=60
    )
    wanted = {
        "--system-prompt": "nothing listens",
        "--output-schema": "no JSON",
        "--replay": "damaged recording",
    }
    assert wanted[option] in shell.stderr
