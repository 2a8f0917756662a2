"""`--profile FILE`: where the time of a run went, as Python's own tools read it."""

from __future__ import annotations

import json
import pstats
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
