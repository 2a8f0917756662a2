"""`/detach` in a conversation: the run goes on, and so does the command it was waiting for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread
from process.test_chat import Terminal

pytestmark = pytest.mark.process


def test_a_person_lets_a_command_go_on_and_hears_of_its_end(tmp_path: Path) -> None:
    """The model is told at once; what the command does later is still done."""
    command = "touch up; until [ -e go ]; do sleep 0.05; done; touch came"
    steps = [
        {"calls": [{"name": "bash", "arguments": {"command": command}}]},
        {"text": "It runs on.", "after": "let it go on in the background, as p1"},
        {"text": "So it ended.", "after": ""},
    ]
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        terminal = Terminal(program, "chat", "--plain", "--permission-mode", "full")
        terminal.expect("> ")
        terminal.type("/detach\n")
        terminal.expect("no command is being waited for")
        terminal.type("go\n")
        while not (program.project / "up").exists():
            time.sleep(0.02)
        terminal.type("/detach\n")
        terminal.expect("It runs on.")
        assert not (program.project / "came").exists()
        (program.project / "go").touch()
        terminal.expect("p1")
        terminal.type("and?\n")
        terminal.expect("So it ended.")
        terminal.type("/quit\n")
        assert terminal.close() == 0
    assert (program.project / "came").exists() and server.problems == []
