"""The official MCP client drives `wisp mcp serve`, in every way that it can begin."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from peers.others import PEERS, there
from process.program import Program
from process.server import ServerThread

from wisp.testing import Request, Step
from wisp.testing.steps import Call

SDK = PEERS / "mcp-sdk" / "bin" / "python"

pytestmark = [pytest.mark.peer, pytest.mark.process, pytest.mark.timeout(240)]


def model(request: Request) -> Step:
    last = request.json["messages"][-1]
    words = str(last["content"])
    if last["role"] == "tool":
        return Step(text="I could not.")
    if "WRITE" in words:
        return Step(calls=(Call("write", {"path": "a.txt", "content": "x\n"}),))
    return Step(text="word " * 20_000, pause=0.01) if "LONG" in words else Step(text=f"You said {words}.")


@pytest.mark.parametrize(
    ("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
)
def test_the_official_client_works_with_it(mode: str, version: str, tmp_path: Path) -> None:
    """Lists, calls, goes on, hears progress, cancels; whatever era is agreed on."""
    with ServerThread(model) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        script = Path(__file__).with_name("mcp_sdk_client.py")
        done = subprocess.run(
            [str(there(SDK)), str(script), mode, *program.argv, "mcp", "serve"],
            cwd=program.project,
            env=program.env,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("version") == version
    assert "the prompt is empty" in found.pop("wrong")
    if mode != "2026-07-28":  # with a version pinned, the SDK asks nobody who is there
        assert found.pop("server") == "wisp"
    found.pop("server", None)
    assert found == {
        "tools": ["task"],
        "first": [False, "You said first."],
        "second": [True, "refused"],
        "heard": ["running write", found["heard"][1]],
        "late": "cancelled",
        "after": "You said after.",
    }
    assert found["heard"][1].startswith("failed: ")
