"""`wisp sessions scrub`: what a person was careless with goes out of a stored session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process


def test_a_preview_first_then_the_session_is_clean_and_goes_on(tmp_path: Path) -> None:
    """Counts without values; a key that came into the environment later is found, and shapes."""
    secret, shaped = "later-known-credential-77", "ghp_" + "Z9" * 18
    with ServerThread([{"text": f"you said {secret}"}, {"text": "second"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        program.run("-p", f"my keys are {secret} and {shaped}")
        [session] = program.sessions()
        before = session.read_bytes()

        shown = program.run("sessions", "scrub", session.stem, DEPLOY_TOKEN=secret)
        assert (shown.returncode, session.read_bytes()) == (1, before)
        assert "[scrubbed:DEPLOY_TOKEN]" in shown.stdout and "[scrubbed:github]" in shown.stdout
        assert secret not in shown.stdout + shown.stderr
        done = program.run("sessions", "scrub", session.stem, "--yes", DEPLOY_TOKEN=secret)
        assert done.returncode == 0, done.stderr
        assert "from line" in done.stdout
        assert secret.encode() not in session.read_bytes() and shaped.encode() not in session.read_bytes()
        assert "no credentials" in program.run("sessions", "scrub", session.stem, DEPLOY_TOKEN=secret).stdout

        program.run("-p", "go on", "--continue")
        sent = json.dumps(server.requests[-1].json["messages"])

    assert "my keys are [scrubbed:DEPLOY_TOKEN] and [scrubbed:github]" in sent
    assert "go on" in sent and secret not in sent
    assert server.problems == []
    assert program.run("sessions", "scrub", "nothing").returncode == 1


def test_kept_outputs_of_the_session_that_hold_a_credential_are_deleted(tmp_path: Path) -> None:
    """Those without one stay; also where the session itself shows nothing of it."""
    key = "ghp_" + "Q7" * 18
    commands = [f"seq 1 9000; echo {key[:20]}{key[20:]} | cat; seq 1 9000", "seq 1 20000"]
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "long.sh").write_text("\n".join(commands[:1]))
    steps = [
        {"calls": [{"name": "bash", "arguments": {"command": c}}]} for c in ("bash long.sh", commands[1])
    ]
    with ServerThread([*steps, {"text": "done"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        assert program.run("-p", "go", "--permission-mode", "full").returncode == 0
    [session] = program.sessions()
    assert key not in session.read_text()

    def kept() -> list[str]:
        return [path.read_text() for path in (program.home / "state" / "output").glob("sha256-*.log")]

    assert sorted(key in text for text in kept()) == [False, True]
    shown = program.run("sessions", "scrub", session.stem)
    assert (shown.returncode, len(kept())) == (1, 2)
    assert "in 1 kept outputs of commands" in shown.stdout
    assert program.run("sessions", "scrub", session.stem, "--yes").returncode == 0
    assert [key in text for text in kept()] == [False]
    assert "no credentials" in program.run("sessions", "scrub", session.stem).stdout
