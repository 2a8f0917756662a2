"""`-p --input-format stream-json`: several prompts and commands in one process."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process

STREAM = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")


def lines(*values: Any) -> str:
    return "".join((value if isinstance(value, str) else json.dumps(value)) + "\n" for value in values)


def said(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def user(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}}


def test_each_prompt_has_its_result_and_all_are_one_conversation(tmp_path: Path) -> None:
    with ServerThread([{"text": "one"}, {"text": "two"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        done = program.run(*STREAM, stdin=lines(user("first"), {"type": "prompt", "text": "second"}))
        last = json.loads(server.requests[1].body)["messages"]
    results = [line for line in said(done) if line["type"] == "result"]

    assert done.returncode == 0, done.stderr
    assert said(done)[0]["subtype"] == "init"
    assert [result["result"] for result in results] == ["one", "two"]
    assert said(done)[-1] == results[-1]
    assert [m["content"] for m in last if m["role"] != "system"] == ["first", "one", "second"]


def test_a_first_prompt_may_stand_on_the_command_line(tmp_path: Path) -> None:
    with ServerThread([{"text": "one"}, {"text": "two"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        done = program.run("-p", "zero", *STREAM[1:], stdin=lines(user("first")))

    assert [line["result"] for line in said(done) if line["type"] == "result"] == ["one", "two"]


def test_what_is_no_command_is_said_and_the_rest_goes_on(tmp_path: Path) -> None:
    with ServerThread([{"text": "one"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        bad = [
            "no json",
            "[" * 5000,
            {"type": "dance"},
            {"type": "user"},
            {"type": "approve", "call_id": 1},
            "5",
        ]
        done = program.run(*STREAM, stdin=lines(*bad, user("first")))
    refused = [line["message"] for line in said(done) if line["type"] == "input.refused"]

    assert len(refused) == len(bad)
    assert said(done)[-1]["result"] == "one"
    assert "Traceback" not in done.stderr


def test_control_requests_are_answered_by_their_ids(tmp_path: Path) -> None:
    requests = [
        {
            "type": "control_request",
            "request_id": "a",
            "request": {"subtype": "set_permission_mode", "mode": "plan"},
        },
        {"type": "control_request", "request_id": "b", "request": {"subtype": "no_such"}},
    ]
    with ServerThread([{"text": "one"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        done = program.run(*STREAM, stdin=lines(*requests, user("first")))
    answers = [line["response"] for line in said(done) if line["type"] == "control_response"]

    assert [(one["request_id"], one["subtype"]) for one in answers] == [("a", "success"), ("b", "error")]


def test_a_run_can_be_interrupted_and_the_next_one_goes_on(tmp_path: Path) -> None:
    with ServerThread([{"text": "y" * 20_000, "pause": 0.05}, {"text": "two"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        with program.start(*STREAM, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(lines(user("first")))
            process.stdin.flush()
            for line in process.stdout:
                if '"message.delta"' in line:
                    break
            interrupt = {"type": "control_request", "request_id": "a", "request": {"subtype": "interrupt"}}
            process.stdin.write(lines(interrupt, user("second")))
            process.stdin.close()
            rest = [json.loads(line) for line in process.stdout]
            assert process.wait(60) == 0
    results = [line["subtype"] for line in rest if line["type"] == "result"]

    assert results == ["cancelled", "success"]


@pytest.mark.parametrize("idle", [True, False])
def test_a_signal_ends_with_a_result_object(tmp_path: Path, idle: bool) -> None:
    with ServerThread([{"text": "y" * 20_000, "pause": 0.05}]) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        with program.start(*STREAM, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            if not idle:
                process.stdin.write(lines(user("first")))
                process.stdin.flush()
            for line in process.stdout:
                if ('"init"' if idle else '"message.delta"') in line:
                    break
            process.send_signal(signal.SIGTERM)
            rest = [json.loads(line) for line in process.stdout]
            code = process.wait(60)

    assert code == 143
    assert (rest[-1]["type"], rest[-1]["subtype"], rest[-1]["exit_code"]) == ("result", "cancelled", 143)


@pytest.mark.parametrize(
    "words",
    [
        ("-p", "--input-format", "stream-json"),
        ("--input-format", "stream-json", "--output-format", "stream-json"),
        ("-p", "-", "--input-format", "stream-json", "--output-format", "stream-json"),
    ],
)
def test_it_needs_a_headless_run_that_answers_likewise(tmp_path: Path, words: tuple[str, ...]) -> None:
    program = Program(tmp_path / "home", tmp_path / "project")

    assert program.run(*words, stdin="").returncode == 2


def test_an_input_without_a_prompt_is_a_usage_error(tmp_path: Path) -> None:
    done = Program(tmp_path / "home", tmp_path / "project").run(*STREAM, stdin="")

    assert done.returncode == 2
    assert (said(done)[-1]["type"], said(done)[-1]["exit_code"]) == ("result", 2)
