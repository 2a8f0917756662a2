"""What an MCP server asks of a person: only where the settings allow it, only a person answers, field by field."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from process.server import ServerThread
from process.test_chat import Terminal
from process.test_mcp import DONE, _call, _program, _result, _table

pytestmark = pytest.mark.process

FORM = {
    "message": "Where shall it go?\x1b[2J",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "host": {"type": "string", "title": "Host", "description": "Of the registry"},
            "port": {"type": "integer"},
            "level": {"type": "string", "enum": ["low", "high"]},
            "note": {"type": "string"},
        },
        "required": ["host", "port", "level"],
    },
}
ASKS = ("asks", "elicitation/create", json.dumps(FORM))


def told(tmp_path: Path, answers: list[tuple[str, str]], *argv: str, **more: Any) -> dict[str, Any]:
    """What the server got when a person at a plain chat was shown each text and typed each answer."""
    with ServerThread([_call(message="hi"), DONE]) as server:
        program = _program(tmp_path, server, _table("x", *(argv or ASKS), **more))
        terminal = Terminal(program, "chat", "--plain", "--permission-mode", "full")
        terminal.expect("> ")
        known = ""
        while "started" not in known:  # a conversation does not wait for servers
            terminal.type("/mcp\n")
            known = terminal.expect("> ")
            time.sleep(0.1)
        terminal.type("go\n")
        for shown, typed in answers:
            before = terminal.expect(shown) + terminal.expect("Answer: ")
            assert "\x1b[2J" not in before
            terminal.type(typed + "\n")
        terminal.expect("done")
        terminal.type("/quit\n")
        assert terminal.close() == 0
        reply = _result(server.requests[-1])
    found: dict[str, Any] = json.loads(reply[reply.index("{") : reply.rindex("}") + 1])
    return found


def test_a_person_sees_who_asks_for_what_and_answers_each_field_in_its_type(tmp_path: Path) -> None:
    """A whole number is one, what may be left out is, and the model sees only what the server says."""
    answers = [
        ("It wants: host, port, level, note.", "answer"),
        ("Host (text)", "registry.example"),
        ("port (a whole number)", "many"),
        ("port (a whole number)", "8080"),
        ("level", "high"),
        ("note (text, may be left empty)", ""),
    ]
    found = told(tmp_path, answers, elicitation=True)
    content = {"host": "registry.example", "port": 8080, "level": "high"}
    assert found["result"] == {"action": "accept", "content": content}


@pytest.mark.parametrize(
    "answers",
    [
        [("It wants: host", "decline")],
        [("It wants: host", "answer"), ("Host", "h"), ("port", "1"), ("level", "decline")],
        [("It wants: host", "answer"), ("Host", "h"), ("port", "a"), ("port", "b"), ("port", "c")],
    ],
)
def test_what_is_declined_or_never_fits_is_declined(tmp_path: Path, answers: list[tuple[str, str]]) -> None:
    """At the beginning, at a choice, and after three answers of the wrong type."""
    assert told(tmp_path, answers, elicitation=True)["result"] == {"action": "decline"}


def test_an_address_to_open_is_declined_without_a_question(tmp_path: Path) -> None:
    """Forms alone."""
    wanted = {"mode": "url", "message": "log in", "url": "https://evil.example", "elicitationId": "1"}
    found = told(tmp_path, [], "asks", "elicitation/create", json.dumps(wanted), elicitation=True)
    assert found["result"] == {"action": "decline"}


def test_unless_the_settings_allow_it_nobody_is_asked(tmp_path: Path) -> None:
    """The server is told that there is no such thing."""
    assert told(tmp_path, [])["error"]["code"] == -32601


def test_a_headless_run_answers_nothing(tmp_path: Path) -> None:
    """Whatever the settings say."""
    with ServerThread([_call(message="hi"), DONE]) as server:
        program = _program(tmp_path, server, _table("x", *ASKS, elicitation=True))
        assert program.run("-p", "go", "--permission-mode", "full").returncode == 0
        assert "-32601" in _result(server.requests[-1])
