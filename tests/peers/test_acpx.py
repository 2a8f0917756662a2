"""A headless client that nobody here wrote drives `wisp acp`: one run, and sessions over several processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from peers.others import ACPX, NODE, there
from process.program import Program
from process.server import ServerThread

from wisp.testing.requests import Request
from wisp.testing.steps import Call, Step

pytestmark = [pytest.mark.peer, pytest.mark.process, pytest.mark.timeout(240)]

JSON = ("--format", "json", "--json-strict")


def model(request: Request) -> Step:
    """Writes a file where that was said last, talks for long where that was; otherwise greets."""
    body = request.body.decode()
    last = max(("HELLO", "WRITE", "SLOW", '"tool"'), key=body.rfind)
    if last == "SLOW":
        return Step(text="word " * 8000, pause=0.01)
    if last == "WRITE":
        return Step(text="Now.", calls=(Call("write", {"path": "a.txt", "content": "x\n"}),))
    return Step(text="Good day.")


class Acpx:
    """The client, with a home of its own."""

    def __init__(self, program: Program) -> None:
        self.project = program.project
        path = f"{there(NODE).parent}{os.pathsep}{program.env['PATH']}"
        self._env = {**program.env, "PATH": path}
        self._argv = [str(there(ACPX)), "--cwd", str(program.project)]
        self._agent = f"{sys.executable} -m wisp acp"

    def start(self, *args: str, agent: str = "") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self._argv, "--agent", agent or self._agent, *args],
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *args: str, agent: str = "") -> tuple[int, list[dict[str, Any]]]:
        """`(exit code, the objects it printed)`."""
        process = self.start(*JSON, *args, agent=agent)
        out, _ = process.communicate(timeout=120)
        return process.returncode, [json.loads(line) for line in out.splitlines()]

    def one(self, *args: str) -> dict[str, Any]:
        """What a command that prints one object printed."""
        code, (found,) = self.run(*args)
        assert code == 0, found
        return found


@pytest.fixture
def acpx(tmp_path: Path) -> Iterator[Acpx]:
    with ServerThread(model, lenient=True) as server:
        more = '[providers.local.models.second]\nefforts = ["low", "high"]\n'
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"), more=more)
        client = Acpx(program)
        yield client
        client.run("sessions", "close")  # ends the process that keeps the session


def said(rows: list[dict[str, Any]]) -> str:
    updates = [row["params"]["update"] for row in rows if row.get("method") == "session/update"]
    return "".join(u["content"]["text"] for u in updates if u["sessionUpdate"] == "agent_message_chunk")


def stop_of(rows: list[dict[str, Any]]) -> str:
    return str([row["result"]["stopReason"] for row in rows if "stopReason" in row.get("result", {})][-1])


@pytest.mark.parametrize(("choice", "made"), [("--approve-all", True), ("--deny-all", False)])
def test_one_run_asks_before_it_writes(choice: str, made: bool, acpx: Acpx) -> None:
    """What the client's user decided is what happens; the client tells a refusal by its exit code 5."""
    code, rows = acpx.run(choice, "--no-fs", "--no-terminal", "exec", "WRITE it")
    assert (code, (acpx.project / "a.txt").exists()) == ((0, True) if made else (5, False))
    assert any(row.get("method") == "session/request_permission" for row in rows)
    assert said(rows) == "Now.Good day." and stop_of(rows) == "end_turn"


def test_a_session_lives_over_several_processes_of_the_client(acpx: Acpx) -> None:
    """New, prompts, mode, model, effort, status, list, close: each a process of its own."""
    made = acpx.one("sessions", "new")
    code, rows = acpx.run("prompt", "HELLO")
    assert (code, said(rows), stop_of(rows)) == (0, "Good day.", "end_turn")
    assert acpx.one("set-mode", "plan")["modeId"] == "plan"
    assert acpx.one("set", "model", "local/second")["modelId"] == "local/second"
    options = {row["id"]: row["currentValue"] for row in acpx.one("set", "effort", "high")["configOptions"]}
    assert options == {"mode": "plan", "model": "local/second", "effort": "high"}
    status = acpx.one("status")
    assert (status["model"], status["mode"]) == ("local/second", "plan")
    code, rows = acpx.run("--approve-all", "prompt", "WRITE it")
    assert code == 0 and not (acpx.project / "a.txt").exists(), "plan mode changes nothing"
    assert not any(row.get("method") == "session/request_permission" for row in rows)
    listed = acpx.one("sessions", "list")["sessions"]
    assert [row["sessionId"] for row in listed] == [made["acpxSessionId"]]
    assert listed[0]["title"] == "HELLO"
    assert acpx.one("sessions", "close")["action"] == "session_closed"


def test_a_prompt_is_cancelled_from_another_process(acpx: Acpx) -> None:
    """The client that waits is told, and the session goes on."""
    acpx.one("sessions", "new")
    waiting = acpx.start(*JSON, "prompt", "SLOW")
    assert waiting.stdout is not None and waiting.stderr is not None
    rows = []
    for line in waiting.stdout:
        rows.append(json.loads(line))
        if "word" in line:
            break
    assert acpx.one("cancel")["cancelled"] is True
    rows += [json.loads(line) for line in waiting.stdout]
    waiting.stdout.close()
    waiting.stderr.close()
    assert (waiting.wait(timeout=60), stop_of(rows)) == (0, "cancelled")
    code, rows = acpx.run("prompt", "HELLO again")
    assert (code, said(rows)) == (0, "Good day.")


def test_errors_reach_the_client_as_errors(acpx: Acpx) -> None:
    """A mode that is none, a run that takes too long, an agent that does not start."""
    acpx.one("sessions", "new")
    acpx.run("prompt", "HELLO")
    code, rows = acpx.run("set-mode", "sudo")
    assert code == 1 and rows[-1]["error"]["code"] == -32602 and "sudo" in rows[-1]["error"]["message"]
    code, rows = acpx.run("--timeout", "3", "exec", "SLOW")
    assert code == 3 and rows[-1]["error"]["data"]["acpxCode"] == "TIMEOUT"
    code, rows = acpx.run("exec", "HELLO", agent=f"{sys.executable} -m wisp acp --no-such-option")
    assert code == 1 and "error" in rows[-1]
