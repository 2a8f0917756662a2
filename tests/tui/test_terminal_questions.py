"""What a person can make of an operation before they allow it, in a terminal emulator."""

from __future__ import annotations

import json
import time

import pytest
from tui.conftest import Open
from tui.screen import Screen, needs_tmux

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.skipif(needs_tmux, reason="tmux is not here"),
]

FAR = "first = 1\n" + "".join(f"line{n} = {n}\n" for n in range(30)) + "last = 1\n"
TWO = {
    "path": "far.py",
    "edits": [
        {"old_text": "first = 1", "new_text": "first = 2"},
        {"old_text": "last = 1", "new_text": "last = 2"},
    ],
}


def asked(screen: Screen) -> None:
    """Wait for a question, and until keys answer it."""
    screen.wait("[y] allow once")
    time.sleep(0.6)  # the guard against keys pressed too early, which is a time by design


def test_some_hunks_of_an_edit_are_allowed_and_the_others_are_not_made(world: Open) -> None:
    """Space leaves one, Enter allows the rest; the model is told."""
    program, server = world({"calls": [{"name": "edit", "arguments": TWO}]}, {"text": "the end"})
    far = program.project / "far.py"
    far.write_text(FAR)
    with Screen(program, "go") as screen:
        asked(screen)
        assert "[p] allow some of 2 hunks" in screen.text()
        screen.keys("p")
        shown = screen.wait("Enter allows 2 of 2")
        assert "[x] 1 of 2" in shown and "[x] 2 of 2" in shown
        screen.keys("Space")
        screen.wait("Enter allows 1 of 2")
        assert far.read_text() == FAR
        screen.keys("Enter")
        screen.wait("the end")

    assert far.read_text() == FAR.replace("last = 1", "last = 2")
    assert "the user allowed only hunk 2 of the 2" in json.dumps(server.requests[-1].json["messages"])


def test_no_hunks_allow_nothing_and_escape_goes_back_to_the_question(world: Open) -> None:
    """Leaving the choice decides nothing."""
    program, _ = world({"calls": [{"name": "edit", "arguments": TWO}]}, {"text": "the end"})
    far = program.project / "far.py"
    far.write_text(FAR)
    with Screen(program, "go") as screen:
        asked(screen)
        screen.keys("p")
        screen.wait("Enter allows 2 of 2")
        screen.keys("n")
        screen.wait("needs one at least")
        screen.keys("Enter")
        screen.keys("Escape")
        screen.wait("[y] allow once")
        assert far.read_text() == FAR
        screen.keys("n")
        screen.wait("the end")

    assert far.read_text() == FAR


def test_a_command_is_edited_before_it_is_allowed(world: Open) -> None:
    """What the person wrote runs, and not what the model asked for."""
    command = {"command": "touch wrong.txt"}
    program, server = world({"calls": [{"name": "bash", "arguments": command}]}, {"text": "the end"})
    with Screen(program, "go") as screen:
        asked(screen)
        screen.keys("e")
        screen.wait("enter allows what is written")
        screen.wait("│ touch wrong.txt")
        screen.keys("C-u")
        screen.gone("│ touch wrong.txt")
        screen.type("touch right.txt")
        screen.wait("│ touch right.txt")
        screen.keys("Enter")
        screen.wait("the end")

    assert (program.project / "right.txt").exists()
    assert not (program.project / "wrong.txt").exists()
    assert "the user changed this call" in json.dumps(server.requests[-1].json["messages"])


def test_leaving_the_edit_asks_again_and_brings_the_draft_back(world: Open) -> None:
    """Esc allows nothing."""
    command = {"command": "touch wrong.txt"}
    program, _ = world({"calls": [{"name": "bash", "arguments": command}]}, {"text": "the end"})
    with Screen(program, "go") as screen:
        asked(screen)
        screen.keys("e")
        screen.wait("│ touch wrong.txt")
        screen.keys("Escape")
        asked(screen)
        assert not (program.project / "wrong.txt").exists()
        screen.keys("n")
        screen.wait("the end")

    assert not (program.project / "wrong.txt").exists()
