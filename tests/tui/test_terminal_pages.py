"""The screens besides the conversation, in a terminal emulator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tui.conftest import Open
from tui.screen import Screen, needs_tmux

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.skipif(needs_tmux, reason="tmux is not here"),
]

EDIT = {"path": "calculator.py", "edits": [{"old_text": "return a - b", "new_text": "return a + b"}]}
REPAIR = [
    {"calls": [{"name": "edit", "arguments": EDIT}]},
    {"calls": [{"name": "bash", "arguments": {"command": "echo made > made.txt"}}]},
    {"text": "The end of the answer."},
]


def write(screen: Screen, text: str) -> None:
    """Write a message and send it."""
    screen.type(text)
    screen.wait(text)
    screen.keys("Enter")


def test_comments_on_changes_go_back_as_one_message(world: Open) -> None:
    """Also on what a command did, not only on edits."""
    program, server = world(*REPAIR, {"text": "understood"})
    with Screen(program, "go", "--permission-mode", "full") as screen:
        screen.wait("The end of the answer.")
        write(screen, "/changes")
        shown = screen.wait("Changes of this conversation: 2 files")
        assert "calculator.py" in shown and "made.txt" in shown
        screen.keys("c")
        screen.wait("a comment on this hunk")
        screen.type("name the operands")
        screen.keys("Enter")
        screen.wait("✎ name the operands")
        screen.keys("Down")
        screen.keys("c")
        screen.type("no such file please")
        screen.keys("Enter")
        screen.wait("s sends 2 comments")
        screen.keys("s")
        screen.wait("understood")

    last = json.dumps(server.requests[-1].json["messages"][-1])
    assert "Comments on the changes" in last
    assert last.index("calculator.py") < last.index("name the operands") < last.index("made.txt")
    assert "+    return a + b" in last and "no such file please" in last


def test_the_changes_are_undone_at_the_second_press(world: Open) -> None:
    """And then there is nothing to show."""
    program, _ = world(*REPAIR)
    before = (program.project / "calculator.py").read_text()
    with Screen(program, "go", "--permission-mode", "full") as screen:
        screen.wait("The end of the answer.")
        write(screen, "/changes")
        screen.wait("Changes of this conversation")
        screen.keys("u")
        screen.wait("u again")
        assert (program.project / "made.txt").exists()
        screen.keys("u")
        screen.wait("deleted made.txt")
        write(screen, "/changes")
        screen.wait("no run of this conversation has changed a file")

    assert (program.project / "calculator.py").read_text() == before
    assert not (program.project / "made.txt").exists()


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("/doctor", "What works here"),
        ("/settings", "Settings"),
        ("/skills", "Skills and commands"),
        ("/mcp", "none is configured"),
        ("/context", "What the next request holds"),
        ("/keys", "Keys and commands"),
    ],
)
def test_a_page_is_shown_and_escape_leads_back_with_the_draft(world: Open, command: str, wanted: str) -> None:
    """For every page, also in a small terminal."""
    program, _ = world()
    for width, height in ((90, 30), (30, 8)):
        with Screen(program, width=width, height=height) as screen:
            screen.ready()
            write(screen, command)
            screen.wait(wanted[: width - 2])
            screen.keys("Down")
            screen.keys("Escape", "Escape", "Escape")  # in one go: the second finds the page left
            screen.ready()
            screen.type("still writing")
            screen.wait("still writing")


def test_the_first_screen_says_what_is_not_read_and_the_card_trusts_it(world: Open) -> None:
    """Nothing is decided by what is typed at the beginning."""
    program, server = world({"text": "one"}, {"text": "two"})
    (program.project / "AGENTS.md").write_text("Always say banana.\n")
    with Screen(program) as screen:
        screen.ready()
        screen.wait("this folder is not trusted: AGENTS.md")
        write(screen, "yes please")
        screen.wait("one")
        write(screen, "/trust")
        screen.wait("Nothing was decided about it yet.")
        screen.wait("[y] trust it")
        screen.wait(lambda shown: _pressed(screen, "Escape", shown))
        write(screen, "/trust")
        screen.wait("[y] trust it")
        screen.wait(lambda shown: _pressed(screen, "y", shown))
        screen.wait(": trusted")
        write(screen, "again")
        screen.wait("two")

    assert "banana" not in json.dumps(server.requests[0].json)
    assert "banana" in json.dumps(server.requests[1].json)


def _pressed(screen: Screen, key: str, shown: str) -> bool:
    """Press a key until the question is gone: it counts once the question has stood for a moment."""
    if "[y] trust it" not in shown:
        return True
    screen.keys(key)
    return False


def test_a_conversation_is_renamed_thrown_away_and_brought_back_from_the_list(world: Open) -> None:
    """And a copy is made of it."""
    program, _ = world({"text": "first answer"}, {"text": "second answer"})
    sessions = Path(program.home, "state", "sessions")
    for words in ("the first one", "the second one"):
        program.run("-p", words)
    kept = {path.name for path in sessions.rglob("*.jsonl") if "trash" not in str(path)}
    with Screen(program, width=160) as screen:
        screen.ready()
        write(screen, "/resume")
        screen.wait("the first one")
        screen.type("first")
        screen.gone("the second one")
        screen.keys("C-x")
        screen.wait("is in the trash")
        now = {path.name for path in sessions.rglob("*.jsonl") if "trash" not in str(path)}
        assert len(kept - now) == 1
        screen.keys("C-u")
        screen.wait("❯ the first one")
        assert {path.name for path in sessions.rglob("*.jsonl") if "trash" not in str(path)} >= kept
        screen.keys("C-t")
        screen.wait("the new name of the conversation")
        write(screen, "a better name")
        screen.wait("Enter takes")
        screen.wait("a better name")
        screen.type("better")
        screen.gone("the second one")
        screen.keys("C-b")
        screen.gone("Enter takes")
        screen.wait("first answer")

    now = {path.name for path in sessions.rglob("*.jsonl") if "trash" not in str(path)}
    assert len(now - kept) >= 1


def test_who_writes_on_while_a_page_is_shown_loses_no_letter(world: Open) -> None:
    """The first letter leaves the page and stands in the text."""
    program, server = world({"text": "the end"})
    with Screen(program) as screen:
        screen.ready()
        write(screen, "/context")
        screen.wait("What the next request holds")
        screen.type("written at once")
        screen.wait("│ written at once")
        screen.keys("Enter")
        screen.wait("the end")

    assert server.requests[0].json["messages"][-1]["content"] == "written at once"
