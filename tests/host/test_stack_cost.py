"""What instructions and skills cost before the first request."""

from __future__ import annotations

import time
from pathlib import Path

from wisp.host.client import OpenRequest
from wisp.host.configure import configure
from wisp.host.instructions import instruction_stack
from wisp.messages.ids import SystemClock
from wisp.workspace.root import Workspace

ROUNDS = 9


def seconds(folder: Path, home: Path) -> float:
    """Processor time of putting the instructions together, the least of several rounds."""
    clock = SystemClock()
    configured = configure(OpenRequest(cwd=str(folder), trust=True), {"WISP_HOME": str(home)}, clock)
    times = []
    for _ in range(ROUNDS):
        workspace = Workspace(configured.cwd)
        began = time.process_time()
        instruction_stack(configured, workspace, clock)
        times.append(time.process_time() - began)
    return min(times)


def test_twenty_skills_and_a_full_instruction_stack_cost_less_than_ten_milliseconds(tmp_path: Path) -> None:
    """More than an empty folder does; 32 KiB in two files, one of them with an import."""
    bare, full, home = tmp_path / "bare", tmp_path / "full", tmp_path / "home"
    bare.mkdir()
    (full / "docs").mkdir(parents=True)
    line = "Prefer small functions and say why, not what.\n"
    (full / "AGENTS.md").write_text(line * (20_000 // len(line)))
    (full / "docs" / "AGENTS.md").write_text(line * (12_000 // len(line)))
    for number in range(20):
        skill = full / ".agents" / "skills" / f"skill-{number}"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(
            f"---\nname: skill-{number}\ndescription: Does thing {number}, when asked.\n---\n\n" + line * 200
        )
    assert seconds(full, home) - seconds(bare, home) < 0.010
