"""`wisp sessions replay`: the requests of a session, byte for byte, without the network; other models, other rules."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from process.program import Bug, Program
from process.server import ServerThread

pytestmark = pytest.mark.process

APIS = ("openai-chat", "openai-responses", "anthropic-messages", "gemini")
STORED = 'store = true\n[providers.local.models."test-model"]\n'


def rows(program: Program, *args: str) -> list[dict[str, Any]]:
    """The lines of a replay with `--json`."""
    done = program.run("sessions", "replay", *args, "--json")
    assert not done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("api", APIS)
def test_every_request_is_made_again_byte_for_byte_also_after_a_resume(tmp_path: Path, api: str) -> None:
    """Two runs, instructions that changed between them, thinking, calls, a retry: the server's bytes decide."""
    bug = Bug(7)
    steps = [*bug.steps(), {"text": "again", "thinking": "hm"}]
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "work", api=api, url=server.base_url(api))
        bug.plant(program.project)
        (program.project / "AGENTS.md").write_text("Use tabs.\n")
        first = program.run("-p", "repair it \u00e9\u4e16", "--permission-mode", "full", "--trust")
        assert first.returncode == 0, first.stderr
        (program.project / "AGENTS.md").write_text("Use blanks.\n")
        assert program.run("-p", "and now?", "--continue", "--trust").returncode == 0
        sent = [request.body for request in server.requests]
    [session] = program.sessions()
    made = rows(program, session.stem)
    assert [row["sha256"] for row in made] == [hashlib.sha256(body).hexdigest() for body in sent]
    assert [row["same"] for row in made] == [True] * len(sent)

    for row, body in zip(made, sent, strict=True):
        done = program.run("sessions", "replay", session.stem, "--at", row["answer"])
        assert (done.returncode, done.stdout.encode()) == (0, body), done.stderr
    told = program.run("sessions", "replay", session.stem)
    assert f"{len(sent)} requests: {len(sent)} the same, 0 different, 0 unknown" in told.stdout


def test_a_compacted_conversation_and_one_that_went_back_are_made_again_too(tmp_path: Path) -> None:
    """The history of each moment, not that of the end."""
    texts = [{"text": f"answer {number} " + "word " * 400} for number in range(6)]
    with ServerThread([*texts, {"text": "the summary"}, *texts]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        settings = program.home / "config" / "settings.toml"
        settings.write_text(settings.read_text().replace("200000", "9000").replace("8000", "500"))
        lines = "".join(f"question {number} {'word ' * 300}\n" for number in range(6))
        done = program.run("chat", "--plain", stdin=f"{lines}/compact\nafter it\n/quit\n")
        assert done.returncode == 0, done.stderr
        [session] = program.sessions()
        assert program.run("sessions", "tree", session.stem, "--go", "2").returncode == 0
        assert program.run("-p", "from there", "--continue").returncode == 0
        sent = [hashlib.sha256(request.body).hexdigest() for request in server.requests]
    made = rows(program, session.stem)
    assert [row["same"] for row in made] == [True] * len(made)
    assert {row["sha256"] for row in made} <= set(sent) and len(sent) - len(made) <= 1, "only the summary's"
    assert made[-1]["messages"] == 3 and made[-2]["messages"] < made[-3]["messages"]


def test_what_a_service_stores_is_not_sent_again_and_still_made_again(tmp_path: Path) -> None:
    """Requests that continue a stored response."""
    with ServerThread([{"text": "one"}, {"text": "two"}]) as server:
        program = Program(
            tmp_path / "home",
            tmp_path / "work",
            api="openai-responses",
            url=server.base_url("openai-responses"),
        )
        settings = program.home / "config" / "settings.toml"
        settings.write_text(settings.read_text().replace("api_key_env", "store = true\napi_key_env"))
        program.run("chat", "--plain", stdin="first\nsecond\n/quit\n")
        assert "previous_response_id" in server.requests[-1].json
    [session] = program.sessions()
    assert [row["same"] for row in rows(program, session.stem)] == [True, True]


def test_a_scrubbed_session_says_from_where_it_is_no_longer_what_was_sent(tmp_path: Path) -> None:
    """The first request that held the credential, and every one after it."""
    secret = "later-known-credential-77"
    with ServerThread([{"text": "one"}, {"text": f"you said {secret}"}, {"text": "three"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        program.run("-p", "nothing yet")
        program.run("-p", f"it is {secret}", "--continue")
        program.run("-p", "and then", "--continue")
    [session] = program.sessions()
    assert program.run("sessions", "scrub", session.stem, "--yes", DEPLOY_TOKEN=secret).returncode == 0
    made = rows(program, session.stem)
    assert [row["same"] for row in made] == [True, None, False]
    assert "scrub" in made[1]["why"]
    assert program.run("sessions", "replay", session.stem).returncode == 1


def test_another_model_is_asked_the_same_and_the_answers_stand_side_by_side(tmp_path: Path) -> None:
    """Nothing of what it answers is run, and the session stays as it is."""
    call = {"name": "bash", "arguments": {"command": "touch made-by-the-other"}}
    with (
        ServerThread([{"text": "the first answer"}]) as one,
        ServerThread([{"text": "hm", "calls": [call]}]) as two,
    ):
        more = (
            f'[providers.other]\napi = "anthropic-messages"\nbase_url = "{two.base_url("anthropic-messages")}"\n'
            'api_key = "k"\n[providers.other.models.big]\ncontext_window = 9000\n'
        )
        program = Program(tmp_path / "home", tmp_path / "work", url=one.base_url("openai-chat"), more=more)
        program.run("-p", "what is it?")
        [session] = program.sessions()
        before = session.read_bytes()
        done = program.run("sessions", "replay", session.stem, "--model", "other/big")
        assert done.returncode == 0, done.stderr
        asked = json.dumps(two.requests[0].json)
    assert "what is it?" in asked and two.requests[0].tools == one.requests[0].tools
    assert "-the first answer" in done.stdout and "+hm" in done.stdout and "+call bash" in done.stdout
    assert not (program.project / "made-by-the-other").exists() and session.read_bytes() == before
    assert program.run("sessions", "replay", session.stem, "--model", "other/none").returncode == 3


def test_other_permissions_are_held_against_what_was_done_and_refused(tmp_path: Path) -> None:
    """What ran and would now be forbidden, what was refused and would now run; nothing is run."""
    calls = [
        {"calls": [{"name": "write", "arguments": {"path": "made.txt", "content": "x"}}]},
        {"calls": [{"name": "bash", "arguments": {"command": "make release"}}]},
        {"text": "done"},
    ]
    with ServerThread(calls) as server:
        allowed = '[permissions]\nallow = ["edit(**)"]\n'
        program = Program(
            tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"), more=allowed
        )
        program.run("-p", "go")
    [session] = program.sessions()
    rules = tmp_path / "strict.toml"
    rules.write_text(
        'permission_mode = "ask"\n[permissions]\nallow = ["bash(make *)"]\ndeny = ["edit(*.txt)"]\n'
    )
    made = rows(program, session.stem, "--policy", str(rules))
    assert [(row["tool"], row["ran"], row["then"], row["now"]) for row in made] == [
        ("write", True, "allow", "deny"),
        ("bash", False, "ask", "allow"),
    ]
    told = program.run("sessions", "replay", session.stem, "--policy", str(rules))
    assert told.returncode == 1 and "2 calls, 2 decided differently" in told.stdout
    rules.write_text("permissions = 3\n")
    assert program.run("sessions", "replay", session.stem, "--policy", str(rules)).returncode == 2
    assert program.run("sessions", "replay", session.stem, "--policy", str(tmp_path / "none")).returncode == 2
