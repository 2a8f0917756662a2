"""A text that nobody made safe is refused by the type checker at every door to a person, and nothing else is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_every_door_refuses_a_plain_text(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", str(HERE / "doors.py")],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (HERE / "doors.py").read_text().splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    refused = {int(number) for number in re.findall(r"doors\.py:(\d+): error", done.stdout)}
    assert refused == wanted, done.stdout
    assert done.stdout.count("incompatible type") == len(wanted)
