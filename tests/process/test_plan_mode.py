"""`--permission-mode plan`: nothing is changed, and the answer is kept as a plan outside the project."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process

PLAN = "# Rename `old` to new!\n\n1. Edit a.py."


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"text": "x", "calls": [{"name": name, "arguments": arguments}]}


def _program(tmp_path: Path, server: ServerThread) -> Program:
    program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
    (program.project / "a.py").write_text("old = 1\n")
    return program


def _plans(program: Program) -> list[Path]:
    return sorted((program.home / "state" / "plans").glob("*"))


def test_the_answer_is_saved_and_named_on_stderr_and_in_the_result_and_the_model_knows_that_it_plans(
    tmp_path: Path,
) -> None:
    """It may read; the file is private, outside the project, and holds the answer."""
    with ServerThread([_call("read", path="a.py"), {"text": PLAN}, {"text": PLAN}]) as server:
        program = _program(tmp_path, server)
        done = program.run("-p", "rename it", "--permission-mode", "plan")
        [plan] = _plans(program)
        said = json.dumps(server.requests[0].json["messages"])
        again = program.run("-p", "again", "--permission-mode", "plan", "--output-format", "json")

    assert (done.returncode, done.stdout) == (0, PLAN + "\n")
    assert f"the plan is in {plan}" in done.stderr
    assert plan.read_text() == PLAN + "\n"
    assert stat.S_IMODE(plan.stat().st_mode) == 0o600
    assert plan.name[10:] == "-rename-old-to-new.md"
    assert "You are planning" in said and "How to verify" in said
    result = json.loads(again.stdout)
    assert result["plan_file"] == str(plan.with_name(plan.stem + "-2.md"))
    assert Path(result["plan_file"]).read_text() == PLAN + "\n"
    assert sorted(p.name for p in program.project.iterdir()) == ["a.py"]


def test_effects_are_refused_and_the_plan_is_still_kept(tmp_path: Path) -> None:
    """Writing, editing, a command that writes; the exit code says that calls were refused."""
    steps = [_call("write", path="b", content="x"), _call("bash", command="touch c"), {"text": PLAN}]
    with ServerThread(steps) as server:
        program = _program(tmp_path, server)
        done = program.run("-p", "go", "--permission-mode", "plan", "--output-format", "stream-json")

    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [len(e["permission_denials"]) for e in events if e["type"] == "result"] == [2]
    assert [e["path"] for e in events if e["type"] == "plan.saved"] == [str(p) for p in _plans(program)]
    assert len(_plans(program)) == 1
    assert sorted(p.name for p in program.project.iterdir()) == ["a.py"]


def test_a_run_that_did_not_end_well_leaves_no_plan_and_other_modes_know_no_plans(tmp_path: Path) -> None:
    """A limit; then a run in another mode: no file, no field, no words about planning."""
    with ServerThread([_call("read", path="a.py"), {"text": "answer"}]) as server:
        program = _program(tmp_path, server)
        cut = program.run(
            "-p", "go", "--permission-mode", "plan", "--max-turns", "1", "--output-format", "json"
        )
        plain = program.run("-p", "go", "--permission-mode", "read-only", "--output-format", "json")
        said = json.dumps(server.requests[-1].json["messages"])

    assert (cut.returncode, json.loads(cut.stdout)["plan_file"]) == (5, None)
    assert "plan_file" not in json.loads(plain.stdout)
    assert "You are planning" not in said
    assert not (program.home / "state" / "plans").exists()


def test_a_plan_that_cannot_be_kept_is_said_and_the_answer_is_there(tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    with ServerThread([{"text": PLAN}]) as server:
        program = _program(tmp_path, server)
        (program.home / "state").mkdir()
        (program.home / "state" / "plans").write_text("in the way")
        done = program.run("-p", "go", "--permission-mode", "plan")

    assert (done.returncode, done.stdout) == (0, PLAN + "\n")
    assert "could not be kept" in done.stderr
