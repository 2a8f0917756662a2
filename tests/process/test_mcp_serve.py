"""`wisp mcp serve`: one tool for other agents, in both eras of the protocol, within a policy that it states."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from process.program import Program
from process.server import ServerThread

from wisp.testing import Request, Step
from wisp.testing.steps import Call

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]


class Client:
    """Lines to the server and from it."""

    def __init__(self, program: Program, *options: str) -> None:
        self.running = program.start("mcp", "serve", *options, stdin=subprocess.PIPE)
        self.told: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        assert self.running.stdin is not None
        self.running.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.running.stdin.flush()

    def heard(self, number: Any) -> dict[str, Any]:
        """The answer to a request; what is told before it is kept."""
        assert self.running.stdout is not None
        for line in self.running.stdout:
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if message.get("id") == number and "method" not in message:
                return message
            self.told.append(message)
        raise AssertionError(self.running.communicate()[1])

    def ask(self, number: Any, method: str, **params: Any) -> dict[str, Any]:
        self.send({"id": number, "method": method, "params": params})
        return self.heard(number)

    def task(self, number: Any, prompt: str, **more: Any) -> dict[str, Any]:
        meta = {"_meta": more.pop("meta")} if "meta" in more else {}
        answer = self.ask(number, "tools/call", name="task", arguments={"prompt": prompt, **more}, **meta)
        return answer.get("result") or answer["error"]  # type: ignore[no-any-return]

    def leave(self) -> tuple[int, str]:
        """Close its input; exit code and standard error."""
        _, stderr = self.running.communicate(timeout=60)
        return self.running.returncode, stderr


def model(request: Request) -> Step:
    """Writes where it is told to, talks for long where it is, else says what it was asked."""
    last = request.json["messages"][-1]
    users = sum(message["role"] == "user" for message in request.json["messages"])
    if last["role"] == "tool":
        return Step(text=f"Then: {last['content']}")
    words = str(last["content"])
    if "WRITE" in words:
        return Step(text="I write.", calls=(Call("write", {"path": "a.txt", "content": "x\n"}),))
    if "LONG" in words:
        return Step(text="word " * 20_000, pause=0.01)
    return Step(
        text=f"{users}: {words}",
        usage={"input": 10, "output": 5, "cache_read": 0, "cache_write": 0},
    )


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with ServerThread(model) as server:
        yield Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        assert server.problems == []


def test_the_tool_states_its_policy_and_its_answer_fits_its_schema(program: Program) -> None:
    """As the revisions with a handshake have it."""
    client = Client(program, "--permission-mode", "read-only")
    hello = client.ask(
        1,
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "t", "version": "1"},
    )
    assert hello["result"]["protocolVersion"] == "2025-06-18"
    assert hello["result"]["serverInfo"]["name"] == "wisp"
    client.send({"method": "notifications/initialized"})
    [tool] = client.ask(2, "tools/list")["result"]["tools"]
    assert tool["name"] == "task"
    assert "read-only" in tool["description"] and str(program.project) in tool["description"]
    assert tool["annotations"]["readOnlyHint"] is True
    for schema in (tool["inputSchema"], tool["outputSchema"]):
        jsonschema.Draft202012Validator.check_schema(schema)
    result = client.task(3, "hello")
    assert result["content"] == [{"type": "text", "text": "1: hello"}] and result["isError"] is False
    jsonschema.validate(result["structuredContent"], tool["outputSchema"])
    found = result["structuredContent"]
    assert (found["answer"], found["stop_reason"], found["turns"]) == ("1: hello", "model_finished", 1)
    assert (found["input_tokens"], found["output_tokens"], found["cost_usd"]) == (10, 5, None)
    assert client.ask(4, "ping")["result"] == {}
    assert client.leave() == (0, "")


def test_an_old_task_is_gone_on_with_and_no_other_conversation_is(program: Program) -> None:
    """Only those of this server: another agent gets at nothing that a person said."""
    assert program.run("-p", "a person's own words").returncode == 0
    [own] = program.sessions()
    client = Client(program)
    first = client.task(1, "first")["structuredContent"]
    second = client.task(2, "second", session_id=first["session_id"])["structuredContent"]
    assert (second["answer"], second["session_id"]) == ("2: second", first["session_id"])
    for strange in (own.stem, own.stem[:10], "..", "*"):
        assert "no task of this server" in client.task(3, "x", session_id=strange)["message"]
    assert client.leave()[0] == 0
    private = Client(program, "--no-session")
    [tool] = private.ask(1, "tools/list")["result"]["tools"]
    assert list(tool["inputSchema"]["properties"]) == ["prompt"]
    assert "no task" in private.task(2, "x", session_id=first["session_id"])["message"]
    private.leave()
    assert len(program.sessions()) == 2


@pytest.mark.parametrize(
    ("options", "written"), [((), False), (("--permission-mode", "full", "--sandbox", "off"), True), (("--allow", "edit(**)"), True)]
)  # fmt: skip
def test_the_policy_holds_whatever_the_caller_wants(
    options: tuple[str, ...], written: bool, program: Program
) -> None:
    """Nobody can be asked: what would be is refused and told, and the result is an error as an exit code of 6 is."""
    client = Client(program, *options)
    found = client.task(1, "WRITE", meta={"progressToken": "p"})
    assert (program.project / "a.txt").exists() is written
    assert found["isError"] is not written
    structured = found["structuredContent"]
    assert [denied["tool"] for denied in structured["denied"]] == ([] if written else ["write"])
    assert structured["stop_reason"] == ("model_finished" if written else "refused")
    told = [one["params"] for one in client.told if one["method"] == "notifications/progress"]
    assert [one["progress"] for one in told] == [1, 2]
    assert told[0] == {"progressToken": "p", "progress": 1, "message": "running write"}
    assert client.leave()[0] == 0


def test_a_cancelled_task_stops_is_not_answered_and_the_next_one_runs(program: Program) -> None:
    """As the specification says of cancelling."""
    client = Client(program)
    client.send(
        {"id": 1, "method": "tools/call", "params": {"name": "task", "arguments": {"prompt": "LONG"}}}
    )
    assert client.task(2, "beside")["isError"] is False
    client.send({"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "enough"}})
    assert client.task(3, "after")["content"][0]["text"] == "1: after"
    assert [one for one in client.told if one.get("id") == 1] == []
    code, stderr = client.leave()
    assert (code, stderr) == (0, "")
    assert len(program.sessions()) == 3


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_stops_what_runs_and_leaves(number: int, code: int, program: Program) -> None:
    client = Client(program)
    client.send(
        {
            "id": 1,
            "method": "tools/call",
            "params": {"name": "task", "arguments": {"prompt": "LONG"}, "_meta": {"progressToken": 1}},
        }
    )
    assert client.ask(2, "ping")["result"] == {}
    client.running.send_signal(number)
    assert client.leave()[0] == code


WRONG = [
    ("tools/call", {"name": "other"}, -32602, "there is no tool 'other'"),
    ("tools/call", {"name": "task"}, -32602, "prompt"),
    ("tools/call", {"name": "task", "arguments": {"prompt": " "}}, -32602, "empty"),
    ("tools/call", {"name": "task", "arguments": {"prompt": 3}}, -32602, "Expected `str`"),
    ("tools/call", {"name": "task", "arguments": []}, -32602, "prompt"),
    ("resources/list", {}, -32601, "resources/list"),
    (
        "tools/list",
        {"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}},
        -32022,
        "2031-01-01",
    ),
]


def test_what_makes_no_sense_is_answered_and_ends_nothing(program: Program) -> None:
    """Each once, with the protocol's code."""
    client = Client(program)
    for number, (method, params, code, words) in enumerate(WRONG):
        error = client.ask(number, method, **params)["error"]
        assert error["code"] == code, (method, params, error)
        assert words in error["message"]
    assert client.running.stdin is not None
    client.running.stdin.write("nonsense\n[]\n")
    client.running.stdin.flush()
    assert [client.heard(None)["error"]["code"] for _ in range(2)] == [-32700, -32600]
    assert client.ask("z", "ping")["result"] == {}
    client.leave()


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [(["--permission-mode", "none"], 2, "invalid choice"), (["--allow", "not a rule("], 2, "not a rule"), (["--cwd", "/no/such/folder"], 2, "is not a folder"), (["--resume", "x"], 2, "the client says")],
)  # fmt: skip
def test_a_policy_that_is_none_is_refused_before_anything_is_served(
    options: list[str], code: int, words: str, program: Program
) -> None:
    done = program.run("mcp", "serve", *options, stdin="")
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr


def test_a_model_that_is_not_there_is_an_error_of_the_task(program: Program) -> None:
    client = Client(program, "--model", "nowhere/none")
    found = client.task(1, "hello")
    assert found["isError"] is True
    assert "there is no provider 'nowhere'" in found["content"][0]["text"]
    assert client.leave()[0] == 0
