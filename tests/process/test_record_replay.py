"""`--record` and `--replay` from outside: the same session again, elsewhere, without a network."""

import json
import os
from pathlib import Path

import pytest
from process.program import APIS, KEY, Bug, Program, result_of
from process.server import ServerThread

pytestmark = pytest.mark.process
ALL = (*APIS, "gemini")
PROMPT = "the tests fail, find and fix the bug"
JSON = ("--permission-mode", "full", "--output-format", "json")


def bug(seed: int = 7) -> Bug:
    """A bug whose test says nothing that changes from run to run, such as how long it took."""
    made = Bug(seed)
    made.command = "python3 -m unittest -q 2>&1 | sed 's/ in [0-9.]*s$//'"
    return made


def world(folder: Path, planted: Bug, api: str, url: str = "") -> Program:
    """A home and a project; without `url` nothing listens where the model should be."""
    url = url or "http://127.0.0.1:9" + ("/v1" if api.startswith("openai") else "")
    program = Program(folder / "home", folder / "some" / "work", api=api, url=url)
    planted.plant(program.project)
    return program


@pytest.mark.parametrize("api", ALL)
def test_a_repair_is_replayed_in_another_folder_to_the_same_result(api: str, tmp_path: Path) -> None:
    planted, file = bug(), tmp_path / "repair.jsonl"
    with ServerThread(planted.steps()) as server:
        first = world(tmp_path / "one", planted, api, server.base_url(api))
        recorded = first.run("-p", PROMPT, *JSON, "--record", str(file))
        assert result_of(recorded)["num_turns"] == 5, recorded.stderr
        assert len(server.requests) == 5

    second = world(tmp_path / "two-with-a-longer-name", planted, api)  # nothing listens at its address
    replayed = second.run("-p", PROMPT, *JSON, "--replay", str(file), LOCAL_KEY="")

    assert replayed.returncode == 0, replayed.stderr + replayed.stdout
    same = ("subtype", "result", "num_turns", "usage", "total_cost_usd", "is_error")
    one, two = result_of(recorded), result_of(replayed)
    assert {name: one.get(name) for name in same} == {name: two.get(name) for name in same}
    assert planted.fixed(second.project)
    source = f"{planted.module}.py"
    assert (first.project / source).read_bytes() == (second.project / source).read_bytes()


def test_a_recording_holds_every_byte_and_no_secret(tmp_path: Path) -> None:
    planted, file = bug(), tmp_path / "repair.jsonl"
    steps = planted.steps()
    steps[0]["text"] = f"Your key is {KEY}, is it not?"
    with ServerThread(steps) as server:
        program = world(tmp_path / "one", planted, "openai-chat", server.base_url("openai-chat"))
        program.run("-p", f"my key is {KEY}", *JSON, "--record", str(file))
        text = file.read_text("ascii")
        lines = [json.loads(line) for line in text.splitlines()]
        assert KEY not in text
        assert "authorization" not in text.lower()
        assert (file.stat().st_mode & 0o777) == 0o600
        assert [line["target"] for line in lines[1:]] == ["/v1/chat/completions"] * 5
        sent = [request.body.decode().replace(KEY, "[redacted]") for request in server.requests]
        assert [line["body"] for line in lines[1:]] == sent
        again = world(tmp_path / "two", planted, "openai-chat")
        replayed = again.run("-p", f"my key is {KEY}", *JSON, "--replay", str(file))
        assert replayed.returncode == 0, replayed.stdout  # where the key stood, a mask stands for it
        assert all(line["status"] == 200 and "[DONE]" in "".join(line["chunks"]) for line in lines[1:])


def test_a_divergence_names_the_first_differing_byte_and_what_stands_there(tmp_path: Path) -> None:
    planted, file = bug(), tmp_path / "repair.jsonl"
    with ServerThread(planted.steps()) as server:
        first = world(tmp_path / "one", planted, "openai-chat", server.base_url("openai-chat"))
        first.run("-p", PROMPT, *JSON, "--record", str(file))
    body = json.loads(file.read_text().splitlines()[1])["body"].encode()

    done = world(tmp_path / "two", planted, "openai-chat").run(
        "-p", "the pests", *JSON, "--replay", str(file)
    )

    result = result_of(done)
    assert done.returncode != 0
    assert result["is_error"]
    place = body.index(b"the tests fail") + len("the ")
    assert f"request 1 differs from the recorded one at byte {place}" in result["error"]
    assert "pests" in result["error"]


def test_a_session_that_asks_once_more_than_was_recorded_is_told_so(tmp_path: Path) -> None:
    planted, file = bug(), tmp_path / "repair.jsonl"
    with ServerThread(planted.steps()) as server:
        first = world(tmp_path / "one", planted, "openai-chat", server.base_url("openai-chat"))
        first.run("-p", PROMPT, *JSON, "--record", str(file))
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))

    done = world(tmp_path / "two", planted, "openai-chat").run("-p", PROMPT, *JSON, "--replay", str(file))

    assert "holds 4 requests and this is one more" in result_of(done)["error"]


def test_what_is_no_recording_is_refused_before_anything_happens(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text("hello\n")
    done = world(tmp_path / "one", bug(), "openai-chat").run("-p", "hi", "--replay", str(file))
    assert done.returncode == 2
    assert "x.jsonl" in done.stderr
    assert os.path.exists(file)
