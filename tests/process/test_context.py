"""`wisp context` and `/context` say what takes the space; a window that is too small ends with exit 4 and says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread

from wisp.testing.steps import Fault, Step

pytestmark = pytest.mark.process


def test_the_space_of_the_next_request_by_source(tmp_path: Path) -> None:
    """Of the newest session, by name of file; nothing is asked of a model and no session is made."""
    with ServerThread(
        [{"text": "x", "calls": [{"name": "ls", "arguments": {}}]}, {"text": "done"}]
    ) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        (program.project / "AGENTS.md").write_text("Use tabs.\n" * 30)
        empty = program.run("context", "--trust")
        assert "AGENTS.md" in empty.stdout, empty.stderr
        assert program.sessions() == []
        program.run("-p", "look around")
        asked = len(server.requests)
        done = program.run("context", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert len(server.requests) == asked
        shown = program.run("context")
        chat = program.run("chat", "--plain", "--continue", stdin="/context\n/quit\n")
    kinds = {part["kind"] for part in found["parts"]}
    assert {"system", "tools", "user", "assistant", "tool_results"} <= kinds
    assert found["window"] == 200000
    assert "tool results (estimate)" in shown.stdout
    assert "tool results (estimate)" in chat.stdout


def test_a_conversation_that_cannot_fit_ends_with_exit_4_and_says_what_takes_the_space(
    tmp_path: Path,
) -> None:
    """Shortened once, refused again."""
    said = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
    body = json.dumps(
        {"error": {"message": said, "type": "invalid_request_error", "code": "context_length_exceeded"}}
    )
    step = Step(text="never", fault=Fault(status=400, body=body, times=9))
    with ServerThread([step]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "word " * 3000)
    assert done.returncode == 4, done.stderr
    assert "estimated tokens by source" in done.stderr
