"""`wisp undo` and `wisp redo`: what a run changed goes back, whoever changed it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process


def _bash(command: str) -> dict[str, Any]:
    return {"text": "x", "calls": [{"name": "bash", "arguments": {"command": command}}]}


def _tree(project: Path) -> dict[str, bytes]:
    return {str(p.relative_to(project)): p.read_bytes() for p in project.rglob("*") if p.is_file()}


def _start(tmp_path: Path, server: ServerThread) -> Program:
    program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
    (program.project / "a.py").write_text("return a - b\n")
    (program.project / "gone.txt").write_text("still here\n")
    return program


def test_what_tools_and_commands_did_in_a_run_is_undone_and_redone(tmp_path: Path) -> None:
    """Changed, made and deleted; across several turns; shown before it is done."""
    edit = {"path": "a.py", "edits": [{"old_text": "a - b", "new_text": "a + b"}]}
    steps = [
        _bash("echo new > new.txt; rm gone.txt"),
        {"text": "y", "calls": [{"name": "edit", "arguments": edit}]},
        {"text": "done"},
    ]
    with ServerThread(steps) as server:
        program = _start(tmp_path, server)
        before = _tree(program.project)
        program.run("-p", "go", "--permission-mode", "full")
    after = _tree(program.project)
    assert set(after) == {"a.py", "new.txt"}

    shown = program.run("undo")
    assert (shown.returncode, _tree(program.project)) == (1, after), "without --yes nothing happens"
    assert all(name in shown.stdout for name in ("a.py", "new.txt", "gone.txt"))
    done = program.run("undo", "--yes")
    assert (done.returncode, _tree(program.project)) == (0, before), done.stderr
    assert program.run("redo", "--yes").returncode == 0
    assert _tree(program.project) == after
    assert program.run("redo", "--yes").returncode == 1, "nothing more to redo"
    program.run("undo", "--yes")
    assert _tree(program.project) == before
    assert program.run("undo", "--yes").returncode == 1, "nothing more to undo"


def test_one_turn_can_be_undone_alone(tmp_path: Path) -> None:
    """With --turn the last turn goes, then the one before."""
    with ServerThread([_bash("echo 1 > one"), _bash("echo 2 > two"), {"text": "done"}]) as server:
        program = _start(tmp_path, server)
        program.run("-p", "go", "--permission-mode", "full")

    program.run("undo", "--yes", "--turn")
    assert {"one"} == set(_tree(program.project)) - {"a.py", "gone.txt"}
    program.run("undo", "--yes", "--turn")
    assert set() == set(_tree(program.project)) - {"a.py", "gone.txt"}


def test_a_file_somebody_else_changed_since_stops_the_undo_by_name(tmp_path: Path) -> None:
    """Nothing is touched; other outside changes do not matter."""
    with ServerThread([_bash("echo x > one; echo y > two"), {"text": "done"}]) as server:
        program = _start(tmp_path, server)
        program.run("-p", "go", "--permission-mode", "full")
    (program.project / "one").write_text("mine now\n")
    (program.project / "other").write_text("also mine\n")

    refused = program.run("undo", "--yes")
    assert refused.returncode == 1
    assert "one" in refused.stderr
    assert "other" not in refused.stderr
    assert (program.project / "two").exists()
    (program.project / "one").write_text("x\n")
    assert program.run("undo", "--yes").returncode == 0
    assert (program.project / "other").exists()


def test_with_chat_the_conversation_goes_back_too(tmp_path: Path) -> None:
    """The next request no longer holds the undone prompt; the file still does."""
    steps = [{"text": "first answer"}, _bash("echo x > one"), {"text": "second answer"}, {"text": "third"}]
    with ServerThread(steps) as server:
        program = _start(tmp_path, server)
        program.run("-p", "first prompt")
        program.run("-p", "second prompt", "--continue", "--permission-mode", "full")
        assert program.run("undo", "--yes", "--chat").returncode == 0
        program.run("-p", "third prompt", "--continue")
        said = json.dumps(server.requests[-1].json["messages"])

    assert "first prompt" in said
    assert "third prompt" in said
    assert "second prompt" not in said
    [session] = program.sessions()
    assert "second prompt" in session.read_text()
    assert server.problems == []


def test_a_run_that_was_killed_can_be_undone(tmp_path: Path) -> None:
    """The snapshot before the first effect is there; what stands now is what is undone."""
    slow = {"text": "word " * 4000, "pause": 0.01}
    with ServerThread([_bash("echo x > one; rm gone.txt"), slow]) as server:
        program = _start(tmp_path, server)
        before = _tree(program.project)
        process = program.start("-p", "go", "--permission-mode", "full", "--output-format", "stream-json")
        assert process.stdout
        while "tool.result" not in process.stdout.readline():
            pass
        process.kill()
        process.communicate()

    assert _tree(program.project) != before
    assert program.run("undo", "--yes").returncode == 0
    assert _tree(program.project) == before


def test_the_preview_names_what_changed_and_is_not_covered(tmp_path: Path) -> None:
    """An ignored file; it stays as the run left it."""
    with ServerThread([_bash("echo x > one; echo y > skip.log"), {"text": "done"}]) as server:
        program = _start(tmp_path, server)
        (program.project / ".gitignore").write_text("*.log\n")
        program.run("-p", "go", "--permission-mode", "full")

    shown = program.run("undo", "--yes")
    assert "skip.log (changed since, not covered: ignored)" in shown.stdout
    assert (program.project / "skip.log").read_text() == "y\n"
    assert not (program.project / "one").exists()


def test_a_run_that_changes_nothing_takes_no_snapshot(tmp_path: Path) -> None:
    """Reading costs nothing."""
    with ServerThread(
        [{"text": "x", "calls": [{"name": "ls", "arguments": {}}]}, {"text": "done"}]
    ) as server:
        program = _start(tmp_path, server)
        program.run("-p", "go")

    assert not (program.home / "state" / "snapshots").exists()
    assert program.run("undo", "--yes").returncode == 1


def test_without_room_for_snapshots_the_run_goes_on_and_says_so(tmp_path: Path) -> None:
    """A file stands where the store should be."""
    with ServerThread([_bash("echo x > one"), {"text": "done"}]) as server:
        program = _start(tmp_path, server)
        (program.home / "state").mkdir(parents=True)
        (program.home / "state" / "snapshots").write_text("in the way")
        done = program.run("-p", "go", "--permission-mode", "full")

    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "undo does not cover" in done.stderr


def test_a_lost_deny_rule_never_falls_open(tmp_path: Path) -> None:
    """No mode asks before everything, so none begins; a lost permission to do something is asked about."""
    with ServerThread([{"text": "ok"}, {"text": "ok"}]) as server:
        program = _start(tmp_path, server)
        path = program.home / "config" / "settings.toml"
        settings = path.read_text()
        path.write_text(settings + "\n[permissions]\ndeny = 5\n")
        denied = [program.run("-p", "go", "--permission-mode", mode) for mode in ("full", "ask")]
        path.write_text(settings + "\n[permissions]\nallow = 5\n")
        full = program.run("-p", "go", "--permission-mode", "full")
        ask = program.run("-p", "go")

    assert [run.returncode for run in (*denied, full, ask)] == [3, 3, 3, 0]
    assert all("permissions" in run.stderr for run in (*denied, full))


@pytest.mark.parametrize("kept", ["home", "--session-dir"])
def test_a_run_in_the_folder_that_wisp_keeps_its_own_files_in_is_undone_too(
    tmp_path: Path, kept: str
) -> None:
    """Somebody's home, or sessions kept in the project: the session itself is no file that the run changed."""
    with ServerThread([_bash("echo new > new.txt"), {"text": "done"}]) as server:
        home = tmp_path if kept == "home" else tmp_path / "home"
        program = Program(home, tmp_path, url=server.base_url("openai-chat"))
        where = ("--session-dir", "sessions") if kept == "--session-dir" else ()
        program.run("-p", "go", "--permission-mode", "full", *where)
    assert (tmp_path / "new.txt").exists()
    done = program.run("undo", "--yes", *where)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "new.txt").exists()
    assert program.run("redo", "--yes", *where).returncode == 0
    assert (tmp_path / "new.txt").exists()
