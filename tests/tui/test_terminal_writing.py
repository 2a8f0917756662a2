"""What a person does in the composer besides writing, in a terminal emulator."""

from __future__ import annotations

import base64
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


def test_the_editor_has_the_text_and_what_it_saves_stands_in_the_composer(world: Open) -> None:
    """Ctrl+G; the editor has the terminal, and the screen is there again afterwards."""
    program, server = world({"text": "the end"})
    editor = program.project / "editor.sh"
    editor.write_text(
        '#!/bin/sh\ncat "$1" > seen.txt\ntty > tty.txt\nprintf "from the editor\\nsecond" > "$1"\n'
    )
    editor.chmod(0o755)
    with Screen(program, env={"EDITOR": str(editor)}) as screen:
        screen.ready()
        screen.type("half written")
        screen.wait("half written")
        screen.keys("C-g")
        screen.wait("from the editor")
        screen.keys("Enter")
        screen.wait("the end")

    assert (program.project / "seen.txt").read_text() == "half written"
    assert "/dev/" in (program.project / "tty.txt").read_text()
    assert server.requests[0].json["messages"][-1]["content"] == "from the editor\nsecond"


def test_an_editor_that_fails_leaves_the_text_as_it_is(world: Open) -> None:
    """And says so."""
    program, _ = world()
    with Screen(program, env={"EDITOR": "/bin/false"}) as screen:
        screen.ready()
        screen.type("half written")
        screen.wait("half written")
        screen.keys("C-g")
        shown = screen.wait("exit code 1")

    assert "half written" in shown


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_picture_that_is_dropped_stands_as_a_mark_and_goes_along(world: Open) -> None:
    """As terminals write it: with a blank in its name, in quotes."""
    program, server = world({"text": "the end"}, more="images = true")
    (program.project / "my shot.png").write_bytes(PNG)
    with Screen(program) as screen:
        screen.ready()
        screen.paste(f"'{program.project}/my shot.png'")
        screen.wait("[image #1: my shot.png]")
        screen.type("what is it")
        screen.wait("what is it")
        screen.keys("Enter")
        screen.wait("the end")

    content = server.requests[0].json["messages"][-1]["content"]
    assert any(part["type"] == "image_url" for part in content)


def test_a_picture_in_the_clipboard_goes_along_after_ctrl_v(world: Open) -> None:
    """By the program of the display."""
    program, server = world({"text": "the end"}, more="images = true")
    tools = program.project / "tools"
    tools.mkdir()
    (tools / "picture").write_bytes(PNG)
    (tools / "wl-paste").write_text(f'#!/bin/sh\ncat "{tools}/picture"\n')
    (tools / "wl-paste").chmod(0o755)
    env = {"WAYLAND_DISPLAY": "wayland-0", "PATH": f"{tools}:{program.env['PATH']}"}
    with Screen(program, env=env) as screen:
        screen.ready()
        screen.keys("C-v")
        screen.wait("[image #1: pasted-")
        screen.type("what is it")
        screen.wait("what is it")
        screen.keys("Enter")
        screen.wait("the end")

    content = server.requests[0].json["messages"][-1]["content"]
    assert any(part["type"] == "image_url" for part in content)


@pytest.mark.parametrize("far", [False, True])
def test_what_is_copied_goes_to_the_display_or_over_ssh_to_the_terminal(world: Open, far: bool) -> None:
    """And the screen says by which way."""
    program, _ = world({"text": "the answer itself"})
    tools = program.project / "tools"
    tools.mkdir()
    (tools / "wl-copy").write_text(f'#!/bin/sh\ncat > "{tools}/copied"\n')
    (tools / "wl-copy").chmod(0o755)
    env = {"WAYLAND_DISPLAY": "wayland-0", "PATH": f"{tools}:{program.env['PATH']}"}
    with Screen(program, "go", env=env | ({"SSH_CONNECTION": "1 2 3 4"} if far else {})) as screen:
        screen.wait("the answer itself")
        write(screen, "/copy")
        screen.wait("copied by OSC 52" if far else "copied by wl-copy")

    copied = tools / "copied"
    assert copied.exists() is not far
    if not far:
        assert copied.read_text() == "the answer itself"


def test_the_terminals_cursor_stands_at_the_caret_in_every_field(world: Open) -> None:
    """An input method shows there what is being composed: after opening, wide letters, a change of size, in a filter."""
    slow = {"text": "word " * 400, "pause": 0.02, "delta": 5}
    program, _ = world(slow)

    def at(row_with: str, column: int) -> None:
        def right(shown: str) -> bool:
            rows = [number for number, row in enumerate(shown.split("\n")) if row_with in row]
            return bool(rows) and screen.cursor() == (column, rows[-1])

        screen.wait(right)

    with Screen(program) as screen:
        screen.ready()
        at("What shall be done?", 2)
        screen.type("ab世")
        at("│ ab世", 6)
        screen.keys("Left")
        at("│ ab世", 4)
        screen.resize(60, 20)
        at("│ ab世", 4)
        screen.keys("Enter")
        screen.wait("word word")
        screen.type("draft")
        at("│ draft", 7)
        screen.keys("C-r")
        screen.wait("Sent before")
        screen.type("世b")
        at(" 世b", 4)


def test_a_file_name_with_a_line_feed_is_one_row_of_the_menu(world: Open) -> None:
    """And it is what is put in."""
    program, _ = world()
    (program.project / "new\nline.txt").write_text("x")
    with Screen(program) as screen:
        screen.ready()
        screen.type("@newl")
        shown = screen.wait("new\\nline")

    assert "❯ new\\nline.txt" in shown
