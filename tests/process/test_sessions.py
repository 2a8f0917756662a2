"""`wisp sessions ...` as a person types it: list, tree, fork, name, put away, bring back, mend."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread

from wisp.session.codec import seal

pytestmark = pytest.mark.process


def test_once_a_day_the_end_of_a_run_takes_old_outputs_away(tmp_path: Path) -> None:
    """Young ones stay, and the next run of that day looks at nothing."""
    with ServerThread([{"text": "one"}, {"text": "two"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        output = program.home / "state" / "output"
        output.mkdir(parents=True)

        def put(name: str) -> None:
            (output / name).write_text("x")
            os.utime(output / name, (0, 0))

        put("bash-old.log")
        (output / "bash-new.log").write_text("x")
        assert program.run("-p", "go").returncode == 0
        assert sorted(os.listdir(output)) == [".lock", "bash-new.log"]
        put("bash-older.log")
        assert program.run("-p", "go").returncode == 0
    assert sorted(os.listdir(output)) == [".lock", "bash-new.log", "bash-older.log"]


def test_the_life_of_a_session_on_the_command_line(tmp_path: Path) -> None:
    """Every command of the group, on one session of two prompts."""
    answers = [{"text": "one"}, {"text": "two"}, {"text": "three"}, {"text": "four"}]
    with ServerThread(answers) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        program.run("-p", "first question")
        program.run("-p", "second question", "--continue")
        [path] = program.sessions()
        name = path.stem

        def do(*words: str, code: int = 0) -> str:
            done = program.run("sessions", *words)
            assert done.returncode == code, (words, done.stdout, done.stderr)
            return done.stdout + done.stderr

        tree = do("tree", name)
        assert [line.split(": ")[-1] for line in tree.splitlines()] == [
            "first question",
            "one",
            "second question",
            "two",
        ]
        do("rename", name, "my session")
        do("label", name, "2", "good")
        assert "my session" in do("list", "--here")
        assert json.loads(do("list", "--json"))["name"] == "my session"
        assert name in do("find", "SECOND quest")
        do("find", "never said", code=1)
        forked = do("fork", f"{name}@good").split()[0]
        program.run("-p", "third question", "--resume", forked)
        said = json.dumps(server.requests[-1].json["messages"])
        assert "first question" in said
        assert "second question" not in said
        program.run("-p", "fourth question", "--fork", f"{name}@2")
        assert "second question" not in json.dumps(server.requests[-1].json["messages"])
        assert len(program.sessions()) == 3
        assert "goes on from 2 " in do("tree", name, "--go", "good")
        assert "goes on from 4 " in do("tree", name, "--back")
        assert len(do("clone", name).split()[0]) == 26
        assert len(do("show", name, "--last", "1").splitlines()) == 1
        do("rm", forked, code=1)
        do("rm", forked, "--yes")
        do("show", forked, code=1)
        do("restore", forked)
        do("archive", forked)
        assert forked in do("list", "--archive")
        path.write_bytes(path.read_bytes() + b'{"torn')
        assert "6 bytes at the end" in do("repair", name, code=1)
        do("repair", name, "--yes")
        assert "nothing is damaged" in do("repair", name)
        assert "nothing to throw away" in do("prune", "--older-than", "1")
        do("dance", code=2)
        do("label", name, code=2)
        assert program.run("-p", "x", "--fork", "nothing").returncode == 2
    assert server.problems == []


def test_a_session_of_a_newer_wisp_goes_on_in_a_branch_and_stays_as_it_is(tmp_path: Path) -> None:
    """What is understood of it comes along, what is not is passed over; nothing is refused."""
    with ServerThread([{"text": "one"}, {"text": "two"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        assert program.run("-p", "first words").returncode == 0
        (path,) = program.home.glob("state/sessions/*/*.jsonl")
        last = json.loads(path.read_bytes().splitlines()[-1])
        fields = {"v": 2, "seq": last["seq"] + 1, "id": "n1", "parent": last["parent"], "at": last["at"]}
        with path.open("ab") as file:
            file.write(seal({**fields, "type": "later.kind", "what": 1}) + b"\n")
        before = path.read_bytes()
        run = program.run("-p", "second words", "--continue")
        told = server.requests[-1].body
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "two"
    assert "newer wisp (format 2, this one knows 1)" in run.stderr
    assert b"first words" in told
    assert path.read_bytes() == before
    other = next(p for p in program.home.glob("state/sessions/*/*.jsonl") if p != path)
    assert other.stem in run.stderr
    assert b"second words" in other.read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("prune", "--older-than", "-1"), 2, "'-1' is not a positive number"),
        (("prune", "--older-than", "nan"), 2, "'nan' is not a positive number"),
        (("repair", "/dev/zero"), 1, "no file that a session could be in"),
        (("repair", "/dev"), 1, "no file that a session could be in"),
        (("import", "nowhere"), 1, "nowhere: No such file or directory"),
    ],
)
def test_what_cannot_be_done_to_sessions_is_a_sentence(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    """And never a wait: a device has no end."""
    program = Program(tmp_path / "home", tmp_path / "work")
    done = program.run("sessions", *words, timeout=60)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Errno" not in done.stderr
