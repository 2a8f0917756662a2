"""Providers from outside: waiting can be stopped, another model stands in, bad arguments never run."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from process.program import APIS, Program, result_of
from process.server import ServerThread

pytestmark = pytest.mark.process
ALL = (*APIS, "gemini")
FULL = ("--permission-mode", "full", "--output-format", "json")
SECOND = """
[providers.second]
api = "{api}"
base_url = "{url}"
[providers.second.models.stand-in]
context_window = 100000
input_price = 1.0
output_price = 10.0
cache_read_price = 0.0
cache_write_price = 0.0
"""


def events_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("api", ALL)
def test_a_wait_before_a_retry_is_announced_and_ends_at_once_when_interrupted(
    api: str, tmp_path: Path
) -> None:
    """The event carries what a countdown needs; an interrupt does not wait the 30 seconds out."""
    fault = {"status": 429, "headers": {"retry-after": "30"}, "times": 9}
    with ServerThread([{"text": "never", "fault": fault}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", api=api, url=server.base_url(api))
        running = program.start("-p", "hi", "--output-format", "stream-json")
        assert running.stdout is not None
        lines = []
        for line in running.stdout:
            lines.append(json.loads(line))
            if lines[-1]["type"] == "provider.retrying":
                break
        waiting = lines[-1]
        assert (waiting["delay_seconds"], waiting["attempt"], waiting["status_code"]) == (30.0, 2, 429)
        assert waiting["max_attempts"] == 4
        assert waiting["provider"] == "local"
        assert waiting["reason"]
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        rest, _ = running.communicate(timeout=20)
        assert time.monotonic() - began < 10
        assert running.returncode == 130
        assert events_of(rest)[-1]["subtype"] == "cancelled"
        assert len(server.requests) == 1


@pytest.mark.parametrize("api", ALL)
def test_a_fallback_model_answers_and_that_is_told(api: str, tmp_path: Path) -> None:
    """Overloaded first, another dialect second; the tools of the turn run once."""
    other = ALL[(ALL.index(api) + 1) % len(ALL)]
    steps = [
        {"calls": [{"name": "bash", "arguments": {"command": "echo ran >> effect.txt"}}]},
        {"text": "done"},
    ]
    with ServerThread([{"fault": {"status": 529, "times": 99}}]) as one, ServerThread(steps) as two:
        second = SECOND.format(api=other, url=two.base_url(other))
        program = Program(tmp_path / "home", tmp_path / "work", api=api, url=one.base_url(api), more=second)
        more = {"WISP_MAX_RETRIES": "0", "WISP_FALLBACK_MODELS": "nowhere/x,second/stand-in"}
        done = program.run("-p", "go", *FULL[:2], "--output-format", "stream-json", **more)
        assert done.returncode == 0, done.stderr + done.stdout
        events = events_of(done.stdout)
        told = [event for event in events if event["type"] == "provider.switched"]
        assert [(event["provider"], event["model"]) for event in told] == [("second", "stand-in")]
        assert "529" in told[0]["reason"]
        assert (program.project / "effect.txt").read_text() == "ran\n"
        result = result_of(done)
        assert result["result"] == "done"
        assert result["model"] == "stand-in"
        assert result["total_cost_usd"] > 0
        assert one.problems == two.problems == []
        recorded = [json.loads(line) for line in program.sessions()[0].read_text().splitlines()]
        kinds = {line["kind"] for line in recorded if line["type"] == "audit"}
        assert kinds == {"setting", "provider_switched"}
        costs = [line.get("cost_usd") for line in recorded if line["type"] == "message"]
        assert len([cost for cost in costs if cost]) == 2


BAD = {
    "a missing argument": {},
    "another type": {"command": ["rm", "effect.txt"]},
    "an argument too many": {"command": "echo ran >> effect.txt", "approved": True},
    "a duplicate key": '{"command":"ls","command":"echo ran >> effect.txt"}',
    "a number that is none": '{"command":"echo ran >> effect.txt","timeout":NaN}',
    "half a surrogate": '{"command":"echo \\ud800 >> effect.txt"}',
    "not an object": '["echo ran >> effect.txt"]',
    "not JSON": '{"command":"echo ran >> effect.txt"',
}


@pytest.mark.parametrize("api", ALL)
def test_calls_whose_arguments_do_not_match_the_schema_never_run(api: str, tmp_path: Path) -> None:
    """Each is answered with a failure the model can read; the next request is lawful and the run goes on."""
    bad = {name: value for name, value in BAD.items() if api != "gemini" or isinstance(value, dict)}
    steps: list[dict[str, Any]] = [
        {"calls": [{"name": "bash", "arguments": value}]} for value in bad.values()
    ]
    with ServerThread([*steps, {"text": "gave up"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", api=api, url=server.base_url(api))
        done = program.run("-p", "go", *FULL)
        assert done.returncode == 0, done.stderr + done.stdout
        assert result_of(done)["result"] == "gave up"
        assert server.problems == []
        assert not (program.project / "effect.txt").exists()
        results = [text for _, text in server.requests[-1].results]
        assert len(results) == len(bad)
        for name, text in zip(bad, results, strict=True):
            assert "invalid_arguments" in text, name


@pytest.mark.parametrize("api", ALL)
def test_a_mended_history_is_told_once_and_the_file_is_only_added_to(api: str, tmp_path: Path) -> None:
    odd = {"name": "ls", "arguments": {}, "id": "call|odd é"}
    with ServerThread([{"calls": [odd]}, {"text": "a"}, {"text": "b"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", api=api, url=server.base_url(api))
        first = program.run("-p", "go", "--permission-mode", "full")
        assert first.stderr.count("repaired: the id of the call") == 1, first.stderr
        [file] = program.sessions()
        before = file.read_bytes()
        again = program.run("-p", "and now", "--continue", "--permission-mode", "full")
        assert again.returncode == 0, again.stderr
        assert "repaired" not in again.stderr
        assert file.read_bytes().startswith(before)
        assert server.problems == []


def test_a_fallback_model_that_cannot_be_used_is_noted_and_does_no_harm(tmp_path: Path) -> None:
    with ServerThread([{"text": "hello"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "hi", WISP_FALLBACK_MODELS="nowhere/x")
        assert (done.returncode, done.stdout) == (0, "hello\n")
        assert "fallback_models: nowhere/x cannot be used" in done.stderr


def test_a_stored_response_is_continued_only_with_the_users_word(tmp_path: Path) -> None:
    calls = [{"calls": [{"name": "ls", "arguments": {}}]}, {"text": "done"}]
    for allowed in (False, True):
        folder = tmp_path / str(allowed)
        with ServerThread(calls) as server:
            url = server.base_url("openai-responses")
            program = Program(folder / "home", folder / "work", api="openai-responses", url=url)
            settings = folder / "home" / "config" / "settings.toml"
            text = settings.read_text()
            settings.write_text(text.replace("api_key_env", f"store = {str(allowed).lower()}\napi_key_env"))
            done = program.run("-p", "go", *FULL)
            assert done.returncode == 0, done.stderr
            assert server.problems == []
            assert [request.json["store"] for request in server.requests] == [allowed, allowed]
            cursors = [request.json.get("previous_response_id") for request in server.requests]
            assert cursors == [None, "resp_1" if allowed else None]
            assert [len(request.json["input"]) for request in server.requests] == [1, 1 if allowed else 3]


@pytest.mark.parametrize(
    ("levels", "effort", "said"),
    [
        (
            'efforts = ["low", "high"]',
            "bogus",
            "test-model knows no 'bogus' but low, high; its default is used",
        ),
        ('efforts = ["low", "high"]', "low", ""),
        ("", "bogus", "nothing is known of the levels of test-model; 'bogus' is sent as it is"),
        ("", "high", ""),
    ],
)
def test_what_becomes_of_an_effort_that_nobody_knows_is_said(
    levels: str, effort: str, said: str, tmp_path: Path
) -> None:
    with ServerThread([{"text": "ok"}]) as server:
        url = server.base_url("openai-chat")
        program = Program(tmp_path / "home", tmp_path / "work", url=url, more=levels)
        done = program.run("-p", "hi", "--effort", effort)
        sent = server.requests[0].json.get("reasoning_effort")
    assert done.returncode == 0
    assert sent == (None if said.endswith("is used") else effort)
    assert said in done.stderr if said else "effort" not in done.stderr
