"""An evaluation framework that nobody here wrote runs a task through `wisp acp` and rates what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from peers.others import PEERS, there
from process.server import ServerThread

HARBOR = PEERS / "harbor" / "bin" / "harbor"

pytestmark = [pytest.mark.peer, pytest.mark.process, pytest.mark.timeout(400)]

TASK = {
    "instruction.md": "Write the word heron into answer.txt in the current folder.\n",
    "task.toml": 'version = "1.0"\n[metadata]\n[verifier]\ntimeout_sec = 60\n[agent]\ntimeout_sec = 120\n[environment]\n',
    "environment/Dockerfile": "FROM scratch\n",
    "tests/test.sh": (
        '#!/bin/bash\nif [ "$(cat /app/answer.txt)" = heron ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n'
    ),
}
VALID = """
import sys
from harbor.utils.trajectory_validator import TrajectoryValidator
checker = TrajectoryValidator()
sys.exit(0 if checker.validate(sys.argv[1]) else "; ".join(checker.errors))
"""


def _steps(word: str) -> list[dict[str, Any]]:
    written = {"name": "write", "arguments": {"path": "answer.txt", "content": f"{word}\n"}}
    return [{"text": "I write it.", "calls": [written]}, {"text": "Written."}]


@pytest.mark.parametrize(("word", "reward"), [("heron", 1.0), ("crane", 0.0)])
def test_a_task_runs_to_its_rating_and_a_valid_trajectory(word: str, reward: float, tmp_path: Path) -> None:
    """Through ACP alone; the framework derives the trajectory from what we told it."""
    there(HARBOR)
    for name, text in TASK.items():
        path = tmp_path / "task" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with ServerThread(_steps(word)) as server:
        entry = {
            "id": "wisp", "name": "Wisp", "version": "0", "description": "a coding agent",
            "distribution": {"local": {
                "cmd": sys.executable,
                "args": ["-m", "wisp", "acp", "--permission-mode", "full", "--sandbox", "off"],
                "env": {"WISP_HOME": str(tmp_path / "home"), "WISP_BASE_URL": server.base_url("openai-chat"), "WISP_MODEL": "m"},
            }},
        }  # fmt: skip
        (tmp_path / "entry.json").write_text(json.dumps(entry))
        options = ["registry_entry_path=entry.json", "auth_policy=disabled", "skip_install=true"]
        done = subprocess.run(
            [str(HARBOR), "run", "-p", "task", "-a", "acp", *(w for o in options for w in ("--ak", o)), "-e", "harbor_here:Here", "-o", "jobs", "-y"],
            cwd=tmp_path,
            env={
                **os.environ,
                "HOME": str(tmp_path),
                "PYTHONPATH": str(Path(__file__).parent),
                "HARBOR_HERE": str(tmp_path / "box"),
                "HARBOR_RUNNER": str(PEERS / "harbor"),
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert server.problems == []
    [trial] = (tmp_path / "jobs").glob("*/task__*")
    result = json.loads((trial / "result.json").read_text())
    assert result["exception_info"] is None
    assert result["verifier_result"]["rewards"] == {"reward": reward}
    trajectory = trial / "agent" / "trajectory.json"
    valid = subprocess.run(
        [str(PEERS / "harbor/bin/python"), "-c", VALID, str(trajectory)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert valid.returncode == 0, valid.stderr
    steps = json.loads(trajectory.read_text())["steps"]
    said = [step["message"] for step in steps if step["source"] == "agent"]
    assert "I write it." in said[0] and "Written." in said[-1]
    calls = [call for step in steps for call in step.get("tool_calls") or []]
    assert [call["arguments"]["path"] for call in calls] == ["answer.txt"]
