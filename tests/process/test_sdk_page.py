"""Every program that the library's page and the README print does what the page says, as it is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from process.server import ServerThread

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.process

SETTINGS = """\
[providers.local]
api = "openai-chat"
base_url = "{url}"
[providers.local.models.qwen3]
context_window = 32768
max_output = 8192
"""
EDIT = {"path": "sums.py", "edits": [{"old_text": "a - b", "new_text": "a + b"}]}
READ = {"text": "I look.", "calls": [{"name": "read", "arguments": {"path": "sums.py"}}]}
LOOKED = [READ, {"text": "add() subtracts.", "after": "return a - b"}]

MODEL: dict[str, list[dict[str, Any]]] = {
    "Ask": LOOKED,
    "Watch": [
        {"text": "I turn it around.", "calls": [{"name": "edit", "arguments": EDIT}]},
        {"text": "It adds now."},
    ],
    "Decide": [
        {
            "calls": [
                {"name": "edit", "arguments": EDIT},
                {"name": "bash", "arguments": {"command": "rm -r build"}},
            ]
        },
        {"text": "Done in part.", "after": "the user said no"},
    ],
    "Get a value, not a text": [
        {"text": '[{"file": "sums.py"}]'},
        {"text": '[{"file": "sums.py", "line": 2, "reason": "it subtracts"}]'},
    ],
    "Give it tools": [
        {"calls": [{"name": "stock", "arguments": {"item": "7731", "unit": "boxes"}}]},
        {"text": "Four boxes.", "after": "4"},
    ],
    "Another model": [],
    "Limits": [READ],
    "Go on later": [*LOOKED, {"text": "A plus sign."}],
    "Test your own agent": [],
    "From Python": [
        READ,
        {"calls": [{"name": "edit", "arguments": EDIT}]},
        {"calls": [{"name": "bash", "arguments": {"command": "python3 test_sums.py && echo passed"}}]},
        {"text": "It adds now.", "after": "passed"},
    ],
}
"""What the model says to the programs of each section, from the beginning for each program."""


class Printed(NamedTuple):
    section: str
    place: int
    code: str
    output: str | None
    """What the page says it prints."""


def _programs(page: Path, only: str = "") -> list[Printed]:
    found, section = [], ""
    parts = re.finditer(
        r"^## ([^\n]*)$|^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?",
        page.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    for part in parts:
        if part[1]:
            section = part[1]
        elif not only or section == only:
            found.append(Printed(section, len(found), part[2], part[3]))
    return found


PROGRAMS = [*_programs(ROOT / "docs/guide/sdk.md"), *_programs(ROOT / "README.md", "From Python")]


@pytest.mark.parametrize("printed", PROGRAMS, ids=lambda one: f"{one.section}-{one.place}")
def test_a_printed_program_runs_and_prints_what_the_page_says(printed: Printed, tmp_path: Path) -> None:
    """In a project with a bug, with a model that answers as the section's script says."""
    project, home = tmp_path / "project", tmp_path / "home"
    for folder in (project / "build", home / "config"):
        folder.mkdir(parents=True)
    (project / "sums.py").write_text("def add(a, b):\n    return a - b\n")
    (project / "test_sums.py").write_text("from sums import add\nassert add(2, 3) == 5\n")
    with ServerThread(MODEL[printed.section]) as server:
        (home / "config/settings.toml").write_text(SETTINGS.format(url=server.base_url("openai-chat")))
        done = subprocess.run(
            [sys.executable, "-c", printed.code],
            cwd=project,
            env={"PATH": "/usr/bin:/bin", "HOME": str(home), "WISP_HOME": str(home), "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert server.problems == []
    if printed.output is not None:
        assert done.stdout == printed.output
    if printed.section == "From Python":
        assert done.stdout.splitlines() == ["read ok", "edit ok", "bash ok", "It adds now. 4 None"]


def test_every_section_with_a_program_has_its_script_and_none_is_left_over() -> None:
    assert {printed.section for printed in PROGRAMS} == set(MODEL)
    assert len(PROGRAMS) == 12
