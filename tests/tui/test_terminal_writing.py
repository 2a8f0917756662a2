"""What a person does in the composer besides writing, in a terminal emulator."""

from __future__ import annotations

import json

import pytest
from tui.conftest import Open
from tui.screen import Screen, needs_tmux

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.skipif(needs_tmux, reason="tmux is not here"),
]


def write(screen: Screen, text: str) -> None:
    """Write a message and send it."""
    screen.type(text)
    screen.wait(text)
    screen.keys("Enter")


def test_a_command_of_the_person_runs_unasked_and_the_model_is_told_with_the_next_message(
    world: Open,
) -> None:
    """`!`; in ask mode, where one of the model's would be asked about."""
    program, server = world({"text": "the end"})
    with Screen(program) as screen:
        screen.ready()
        write(screen, "!echo one-$((40+2)) > out.txt; cat out.txt")
        screen.wait("one-42")
        screen.wait("told of it with your next message")
        assert len(server.requests) == 0
        write(screen, "go on")
        screen.wait("the end")

    assert (program.project / "out.txt").read_text() == "one-42\n"
    said = json.dumps(server.requests[0].json["messages"])
    assert "<user_shell>" in said and "one-42" in said and "go on" in said


def test_a_command_after_two_marks_is_not_told(world: Open) -> None:
    """`!!` stays here."""
    program, server = world({"text": "the end"})
    with Screen(program) as screen:
        screen.ready()
        write(screen, "!!echo two-$((40+2))")
        screen.wait("two-42")
        write(screen, "go on")
        screen.wait("the end")

    assert "two-" not in json.dumps(server.requests[0].json["messages"])


def test_what_the_rules_deny_does_not_run_for_a_person_either(world: Open) -> None:
    """Read-only mode has no effects."""
    program, _ = world()
    with Screen(program, "--permission-mode", "read-only") as screen:
        screen.ready()
        write(screen, "!touch out.txt")
        screen.wait("error (denied)")

    assert not (program.project / "out.txt").exists()


def test_escape_stops_a_command_of_the_person(world: Open) -> None:
    """And a message can be sent afterwards."""
    program, _ = world({"text": "the end"})
    with Screen(program) as screen:
        screen.ready()
        write(screen, "!sleep 300")
        screen.wait("running your command")
        screen.keys("Escape")
        screen.wait("stopped")
        screen.gone("running your command")
        write(screen, "go on")
        screen.wait("the end")
