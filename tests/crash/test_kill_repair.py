"""SIGKILL at every record of a five-turn repair, and so before and after every effect; then resume.

The model of these tests is a careful one: told that an outcome is unknown, it looks before it repeats.  So
whatever the moment of the kill, the project must end repaired with every effect there exactly once, and no
request may break the laws a strict service enforces.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from process.program import Bug, Program, result_of
from process.server import ServerThread

from wisp.session.catalog import session_path
from wisp.testing.requests import Request
from wisp.testing.steps import Call, Step

pytestmark = pytest.mark.process

APPENDS = 25
"""Appends of the undisturbed run: prompt; 4 x (request, answer, call, result); request, answer; end; the settings;
and a snapshot before each of the three turns with effects and after the last."""

UNKNOWN = ("(interrupted)", "(not_started)")


class CarefulModel:
    """Chooses each answer from what the conversation shows, not from a count of requests."""

    def __init__(self, bug: Bug) -> None:
        self._bug = bug
        edit = {"path": f"{bug.module}.py", "edits": [{"old_text": bug.wrong, "new_text": bug.right}]}
        self._steps: list[tuple[str, str, dict[str, object], Call, str]] = [
            # name, tool, arguments, how to look, what is seen when it happened
            ("A", "bash", {"command": f"echo A >> effects.log; {bug.command}"}, _look("effects.log"), "A"),
            ("B", "grep", {"pattern": f"def {bug.function}"}, _look("helpers.py"), "no effect to see"),
            ("C", "edit", edit, _look(f"{bug.module}.py"), bug.right),
            ("D", "bash", {"command": f"echo D >> effects.log; {bug.command}"}, _look("effects.log"), "D"),
        ]

    def __call__(self, request: Request) -> Step:
        results = dict(request.results)
        for name, tool, arguments, look, seen in self._steps:
            said = next((results[i] for i in (f"{name}2", f"{name}1") if i in results), None)
            if said is None:
                return Step(text=name, calls=(Call(tool, arguments, f"{name}1"),))
            if not any(word in said for word in UNKNOWN):
                continue
            looked = results.get(f"{name}v")
            if looked is None:
                return Step(text="looking", calls=(Call(look.name, look.arguments, f"{name}v"),))
            if seen not in looked:
                return Step(text=name, calls=(Call(tool, arguments, f"{name}2"),))
        return Step(text="Fixed.")


def _look(path: str) -> Call:
    return Call("bash", {"command": f"cat {path} 2>/dev/null; true"})


def _victim(program: Program, number: int, when: str) -> subprocess.CompletedProcess[str]:
    path = session_path(str(program.home / "state" / "sessions"), str(program.project.resolve()), "killed")
    return subprocess.run(
        [
            sys.executable,
            str(Path(__file__).with_name("victim.py")),
            str(program.project),
            path,
            str(number),
            when,
        ],
        env=program.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_undisturbed_run_makes_the_appends_these_tests_count_on(tmp_path: Path) -> None:
    """Killing at append N+1 never happens; the run finishes."""
    bug = Bug(11)
    with ServerThread(CarefulModel(bug)) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        bug.plant(program.project)

        whole = _victim(program, APPENDS + 1, "before")
        assert (whole.stdout, whole.returncode) == ("finished\n", 0), whole.stderr


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, APPENDS + 1))
def test_killed_at_any_record_it_resumes_and_every_effect_is_there_once(
    number: int, when: str, tmp_path: Path
) -> None:
    """The file tree, the effects and the next request are as they must be."""
    bug = Bug(number)
    with ServerThread(CarefulModel(bug)) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        bug.plant(program.project)
        killed = _victim(program, number, when)
        assert killed.returncode == -9, killed.stderr
        before = len(server.requests)

        done = program.run(
            "-p", "go on", "--continue", "--permission-mode", "full", "--output-format", "json"
        )

        result = result_of(done)
        assert (done.returncode, result["result"]) == (0, "Fixed."), done.stderr
        assert bug.fixed(program.project)
        assert (program.project / "effects.log").read_text().split() == ["A", "D"]
        assert server.problems == []
        if (number, when) != (1, "before"):
            assert "find and fix the bug" in str(server.requests[before].json["messages"])
    leftovers = [path.name for path in program.project.iterdir() if path.name.startswith(".wisp-tmp")]
    assert leftovers == []
