"""A front end that can ask somebody is told of a folder nobody decided about, and of what was decided."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process


class Connection:
    """`wisp rpc`, one frame at a time."""

    def __init__(self, program: Program) -> None:
        self.process = program.start("rpc", stdin=subprocess.PIPE)
        self._id = 0
        self.ask("initialize", protocol=1, client={"name": "test"})

    def ask(self, method: str, **params: Any) -> None:
        self._id += 1
        assert self.process.stdin is not None
        frame = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(frame) + "\n")
        self.process.stdin.flush()

    def until(self, kind: str) -> dict[str, Any]:
        """The next event of a type."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event: dict[str, Any] = json.loads(line).get("params", {})
            if event.get("type") == kind:
                return event
        raise AssertionError(f"no {kind}")

    def rest(self) -> str:
        """What is said until the end."""
        self.ask("shutdown")
        return self.process.communicate(timeout=60)[0]


def test_an_undecided_folder_is_asked_about_and_the_decision_is_told(tmp_path: Path) -> None:
    program = Program(tmp_path / "home", tmp_path / "work")
    (tmp_path / "work" / "AGENTS.md").write_text("Be brief.\n")
    client = Connection(program)
    asked = client.until("trust.requested")
    assert (asked["folder"], asked["found"]) == (str(tmp_path / "work"), ["AGENTS.md"])
    client.ask("trust", action="allow")
    decided = client.until("trust.resolved")
    assert (decided["folder"], decided["action"], decided["trusted"]) == (asked["folder"], "allow", True)
    client.rest()
    again = Connection(program)
    again.ask("trust", action="revoke")
    assert again.until("trust.resolved")["trusted"] is False
    assert "trust.requested" not in again.rest()


@pytest.mark.parametrize("words", [("-p", "hi", "--output-format", "stream-json")])
def test_where_nobody_can_be_asked_nobody_is(tmp_path: Path, words: tuple[str, ...]) -> None:
    with ServerThread([{"text": "hi"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        (tmp_path / "work" / "AGENTS.md").write_text("Be brief.\n")
        assert "trust.requested" not in program.run(*words).stdout


def test_export_writes_the_conversation_to_a_new_file_and_never_over_one(tmp_path: Path) -> None:
    with ServerThread([{"text": "the answer"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        said = program.run(
            "chat", "--plain", stdin="the question\n/export a.md\n/export a.md\n/export b.html\n"
        )
    text = (tmp_path / "work" / "a.md").read_text()
    assert "the question" in text and "the answer" in text
    assert (tmp_path / "work" / "a.md").stat().st_mode & 0o777 == 0o600
    assert "a.md: File exists" in said.stdout
    program.run("chat", "--plain", "--continue", stdin='/export "c d.md"\n/export ~/e.json\n')
    assert (tmp_path / "work" / "c d.md").read_text() == text
    assert json.loads((tmp_path / "home" / "e.json").read_text())
    assert (tmp_path / "work" / "b.html").read_text().startswith("<!doctype html>")


def test_theme_shows_and_keeps_the_colours_of_the_screen(tmp_path: Path) -> None:
    program = Program(tmp_path / "home", tmp_path / "work")
    said = program.run("chat", "--plain", stdin="/theme\n/theme dark\n/theme purple\n").stdout
    assert "theme of the screen: auto" in said and "theme of the screen: dark" in said
    assert "screen.theme" in said.rpartition("dark")[2] or "purple" in said
    assert 'theme = "dark"' in (tmp_path / "home" / "config" / "settings.toml").read_text()
