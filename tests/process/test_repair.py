"""The main job from outside: the real program, a real HTTP endpoint, a random bug, all three dialects."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from process.program import APIS, Bug, Program, result_of
from process.server import ServerThread

pytestmark = pytest.mark.process

SEED = random.randrange(1 << 30)
PROMPT = "the tests fail, find and fix the bug"


@pytest.mark.parametrize("api", APIS)
def test_it_repairs_a_random_bug_through_each_dialect(api: str, tmp_path: Path) -> None:
    """Five requests, each carrying the results of the one before; the project's tests pass afterwards."""
    bug = Bug(SEED)
    with ServerThread(bug.steps()) as server:
        program = Program(tmp_path / "home", tmp_path / "work", api=api, url=server.base_url(api))
        bug.plant(program.project)
        assert not bug.fixed(program.project), "the planted bug must be seen by the tests"

        done = program.run("-p", PROMPT, "--permission-mode", "full", "--output-format", "json")

        result = result_of(done)
        assert (
            done.returncode,
            result["subtype"],
            result["num_turns"],
            result["is_error"],
        ) == (0, "success", 5, False), (SEED, done.stderr)
        assert result["result"] == "Fixed."
        assert bug.fixed(program.project), SEED
        assert server.problems == []
        assert [len(request.results) for request in server.requests] == [0, 1, 2, 3, 4]
        assert "FAILED" in server.requests[1].last_result
        assert f"{bug.module}.py:1" in server.requests[2].last_result
        assert "OK" in server.requests[4].last_result


@pytest.mark.parametrize("api", APIS)
def test_the_same_flow_with_edits_denied_leaves_the_bug(api: str, tmp_path: Path) -> None:
    """The repair above was the edit's doing and nothing else's."""
    bug = Bug(SEED)
    steps = bug.steps()
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "work", api=api, url=server.base_url(api))
        bug.plant(program.project)
        before = (program.project / f"{bug.module}.py").read_bytes()

        done = program.run(
            "-p", PROMPT, "--permission-mode", "full", "--deny", "edit(**)", "--output-format", "json"
        )

        result = result_of(done)
        assert not bug.fixed(program.project)
        assert before == (program.project / f"{bug.module}.py").read_bytes()
        assert [denial["tool"] for denial in result["permission_denials"]] == ["edit"]
        assert done.returncode == 6, "something was refused, and no command succeeded: the tests still fail"
        assert result["num_turns"] == 5, "the run went on after the refusal"
        assert "denied" in server.requests[3].last_result


def test_a_headless_run_in_ask_mode_changes_nothing_and_exits_6(tmp_path: Path) -> None:
    """What would be asked is refused, the model is told why, and the exit code says so."""
    bug = Bug(SEED)
    with ServerThread(bug.steps()) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        bug.plant(program.project)

        done = program.run("-p", PROMPT, "--output-format", "json")

        result = result_of(done)
        assert (done.returncode, result["subtype"], result["stop_reason"]) == (6, "refused", "refused")
        assert len(result["permission_denials"]) == 3
        assert "nobody can be asked" in server.requests[1].last_result
        assert not bug.fixed(program.project)


def test_text_output_is_the_answer_alone_and_progress_goes_to_stderr(tmp_path: Path) -> None:
    """A script can capture standard output."""
    bug = Bug(SEED)
    with ServerThread(bug.steps()) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        bug.plant(program.project)

        done = program.run("-p", PROMPT, "--permission-mode", "full")

    assert done.stdout == "Fixed.\n"
    assert re.search(r"(?m)^- edit \S+\.py \(\+1 -1\)$", done.stderr)
    assert "\x1b" not in done.stdout + done.stderr


def test_stream_json_is_one_object_a_line_from_init_to_result(tmp_path: Path) -> None:
    """Sequence numbers have no gaps; the first line is init, the last the result."""
    bug = Bug(SEED)
    with ServerThread(bug.steps()) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        bug.plant(program.project)

        done = program.run("-p", PROMPT, "--permission-mode", "full", "--output-format", "stream-json")

    assert done.stdout.isascii()
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (lines[0]["type"], lines[0]["subtype"]) == ("system", "init")
    assert lines[-1]["type"] == "result"
    events = lines[1:-1]
    first = events[0]["seq"]
    assert list(range(first, first + len(events))) == [event["seq"] for event in events]
    kinds = [event["type"] for event in events]
    assert kinds[0] == "agent.started"
    assert kinds[-1] == "agent.completed"
    assert 5 == kinds.count("turn.completed") == kinds.count("turn.started")
    assert 4 == kinds.count("tool.result") == kinds.count("tool.execution.ended")
    assert len({event["session_id"] for event in events}) == 1


def test_continue_goes_on_with_the_same_session_and_its_history(tmp_path: Path) -> None:
    """The second run's first request holds the first run's conversation; the id stays."""
    with ServerThread([{"text": "one"}, {"text": "two"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))

        first = result_of(program.run("-p", "first question", "--output-format", "json"))
        second = result_of(program.run("-p", "second question", "--continue", "--output-format", "json"))
        third = program.run("-p", "x", "--resume", first["session_id"][:22], "--output-format", "json")

        said = json.dumps(server.requests[1].json["messages"])
    assert first["session_id"] == second["session_id"] == result_of(third)["session_id"]
    assert "first question" in said
    assert '"one"' in said
    assert len(program.sessions()) == 1


def test_no_session_leaves_no_file(tmp_path: Path) -> None:
    """Nothing is kept when nothing is to be kept."""
    with ServerThread([{"text": "one"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "hi", "--no-session")

    assert done.returncode == 0
    assert program.sessions() == []


def test_the_key_is_in_no_file_no_child_and_no_output(tmp_path: Path) -> None:
    """The provider's key reaches the request header and nothing else."""
    from process.program import KEY

    steps = [
        {"text": "x", "calls": [{"name": "bash", "arguments": {"command": "env; echo done"}}]},
        {"text": "ok"},
    ]
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "hi", "--permission-mode", "full", "--output-format", "stream-json")
        told = server.requests[1].last_result
        sent = server.requests[0].headers["authorization"]

    assert f"Bearer {KEY}" == sent
    assert "done" in told
    kept = "".join(path.read_text() for path in program.sessions())
    for where in (told, done.stdout, done.stderr, kept):
        assert KEY not in where
