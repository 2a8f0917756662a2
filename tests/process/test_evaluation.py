"""The evaluation script of the guide, as it is printed there."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from process.program import Bug, Program
from process.server import ServerThread

pytestmark = pytest.mark.process

PRICES = "input_price = 1.0\noutput_price = 2.0"
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "evaluation.md"


def test_the_printed_script_scores_tasks_by_their_check_alone(tmp_path: Path, need: object) -> None:
    """One that is repaired, and one whose agent only claims it."""
    need("bwrap")  # type: ignore[operator]
    found = re.search(r"```sh\n(#!/bin/sh\n.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    (tmp_path / "run-tasks.sh").write_text(found[1])
    bugs = {"claimed": Bug(3), "repaired": Bug(4)}
    for name, bug in bugs.items():
        start = tmp_path / "tasks" / name / "start"
        start.mkdir(parents=True)
        bug.plant(start)
        (start.parent / "prompt.txt").write_text("The test fails; repair it.")
        (start.parent / "check.sh").write_text(f"exec {bug.command}\n")
    steps = [{"text": "It is repaired."}, *bugs["repaired"].steps()]
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path, url=server.base_url("openai-chat"), more=PRICES)
        (tmp_path / "bin").mkdir()
        starter = tmp_path / "bin" / "wisp"
        starter.write_text("#!/bin/sh\nexec " + " ".join(program.argv) + ' "$@"\n')
        starter.chmod(0o755)
        env = {**program.env, "PATH": f"{starter.parent}:{program.env['PATH']}"}
        done = subprocess.run(
            ["sh", "run-tasks.sh", "local/test-model"],
            cwd=tmp_path, env=env, capture_output=True, text=True, timeout=110, check=False,
        )  # fmt: skip
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["task"], row["solved"]) for row in rows] == [("claimed", False), ("repaired", True)], (
        done.stderr
    )
    assert [row["result"]["exit_code"] for row in rows] == [0, 0]
    assert rows[1]["result"]["num_turns"] == 5
