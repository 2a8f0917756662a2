"""The screen as a person has it: the real program in a terminal emulator, with a model that follows a script."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread
from tui.conftest import Open
from tui.screen import LONG, Screen, needs_tmux

from wisp.frontends.tui.dialog import PAUSE

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.skipif(needs_tmux, reason="tmux is not here"),
]

EDIT = {
    "path": "calculator.py",
    "edits": [{"old_text": "return a - b", "new_text": "return a + b"}],
}
REPAIR = [
    {"text": "I fix it.", "calls": [{"name": "edit", "arguments": EDIT}]},
    {"text": "The end of the answer."},
]
SLOW = {"text": "word " * 3000 + "\n\nlast words", "pause": 0.01, "delta": 5}
WAITING = {"text": "Running.", "calls": [{"name": "bash", "arguments": {"command": "sleep 300"}}]}


def said(server: ServerThread, number: int = -1) -> str:
    """The text of a request's user messages."""
    return str(server.requests[number].json["messages"])


def last(server: ServerThread) -> str:
    """What the person said last."""
    content = server.requests[-1].json["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def fixed(program: Program) -> bool:
    return "return a + b" in (program.project / "calculator.py").read_text()


def eventually(test: Callable[[], object]) -> None:
    end = time.monotonic() + LONG
    while not test():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)


def ask(screen: Screen, text: str) -> None:
    """Write a message and send it."""
    screen.ready()
    screen.type(text)
    screen.wait(text)
    screen.keys("Enter")


def asked(screen: Screen) -> None:
    """Wait for a question, and until keys answer it."""
    screen.wait("[y] allow once")
    time.sleep(0.6)  # the guard against keys pressed too early, which is a time by design


def leave(screen: Screen) -> tuple[int, str]:
    screen.keys("C-c")
    screen.wait("ctrl+c again leaves")
    screen.keys("C-c")
    return screen.ended()


def test_a_first_prompt_is_answered_and_leaving_restores_the_terminal(world: Open) -> None:
    """The main way."""
    program, server = world({"text": "# Title\n\nSome **bold** words and `code`."})
    with Screen(program) as screen:
        ask(screen, "hello there")
        shown = screen.wait("Some bold words and code.")

        assert "❯ hello there" in shown
        assert "Title" in shown
        assert "**" not in shown
        assert leave(screen) == (0, "icanon")
    assert "hello there" in said(server)


def test_a_prompt_on_the_command_line_is_the_first_message(world: Open) -> None:
    """`wisp "PROMPT"`."""
    program, _ = world({"text": "answered"})
    with Screen(program, "from the command line") as screen:
        screen.wait("answered")

        assert "❯ from the command line" in screen.text()


@pytest.mark.parametrize("key", ["y", "1", "a", "2"])
def test_an_edit_is_shown_as_a_diff_and_made_once_it_is_allowed(key: str, world: Open) -> None:
    """By each key that allows it."""
    program, _ = world(*REPAIR)
    with Screen(program) as screen:
        ask(screen, "fix it")
        asked(screen)
        shown = screen.text()

        assert "2 -     return a - b" in shown
        assert "2 +     return a + b" in shown
        assert not fixed(program)
        screen.keys(key)
        screen.wait("The end of the answer.")
        assert fixed(program)


@pytest.mark.parametrize("key", ["n", "3", "Escape"])
def test_a_refused_edit_is_not_made_and_the_run_goes_on(key: str, world: Open) -> None:
    """By each key that refuses it."""
    program, _ = world(*REPAIR)
    with Screen(program) as screen:
        ask(screen, "fix it")
        asked(screen)
        screen.keys(key)
        screen.wait("The end of the answer.")

        assert not fixed(program)
        assert "⊘ edit calculator.py" in screen.text()


def test_a_refusal_with_a_reason_is_told_to_the_model(world: Open) -> None:
    """In the person's words; what was being written before is there again."""
    program, server = world(*REPAIR)
    with Screen(program) as screen:
        ask(screen, "fix it")
        asked(screen)
        screen.keys("m")
        screen.wait("why not?")
        screen.type("use subtraction instead")
        screen.wait("use subtraction instead")
        screen.keys("Enter")
        screen.wait("The end of the answer.")

        assert not fixed(program)
        assert "use subtraction instead" in said(server)


def test_a_run_can_be_stopped_from_a_question(world: Open) -> None:
    """Nothing is done, and the next prompt works."""
    program, _ = world(*REPAIR)
    with Screen(program) as screen:
        ask(screen, "fix it")
        asked(screen)
        screen.keys("x")
        screen.wait("! stopped")
        assert not fixed(program)
        screen.type("again")
        screen.keys("Enter")
        screen.wait("The end of the answer.")


def test_what_is_typed_while_a_question_comes_goes_into_the_text(world: Open) -> None:
    """A `y` in the middle of a word allows nothing."""
    program, _ = world({**REPAIR[0], "pause": 0.05, "delta": 4}, REPAIR[1])
    with Screen(program) as screen:
        ask(screen, "fix it")
        screen.wait("esc stops")
        text, times = "", [time.monotonic()]
        while "allow once" not in screen.text():
            screen.type("y")
            text += "y"
            times.append(time.monotonic())
            time.sleep(0.05)
        for _ in range(3):
            screen.type("y")
            text += "y"
            times.append(time.monotonic())
        if max(after - before for before, after in itertools.pairwise(times)) > PAUSE / 2:
            pytest.skip("the machine is too busy to type as a person who does not pause")
        shown = screen.wait(text)

        assert "allow once" in shown
        assert not fixed(program)


def test_what_is_said_during_a_run_steers_it_or_waits_for_its_end(world: Open) -> None:
    """Enter before the next request, Alt+Enter when it would stop; what waits is shown and can be had back."""
    program, server = world(
        {"text": "One.", "calls": [{"name": "bash", "arguments": {"command": "while [ ! -e go ]; do sleep 0.1; done"}}]},
        {"text": "Two."},
        {"text": "Three."},
    )  # fmt: skip
    with Screen(program, "--permission-mode", "auto") as screen:
        ask(screen, "begin")
        screen.wait("running bash")
        for text, key in (("steered", "Enter"), ("for later", "M-Enter"), ("taken back", "M-Enter")):
            screen.type(text)
            screen.keys(key)
        screen.wait("later taken back")
        shown = screen.text()
        assert "next  steered" in shown
        assert "later for later" in shown
        screen.keys("M-Up")
        screen.wait("│ taken back")
        screen.gone("later taken back")
        (program.project / "go").touch()
        screen.wait("Three.")

    assert "steered" in said(server, 1)
    assert "for later" not in said(server, 1)
    assert "for later" in said(server, 2)
    assert "taken back" not in said(server, 2)


def test_escape_stops_the_run_and_keeps_what_is_written(world: Open) -> None:
    """The draft stays, the next prompt is answered."""
    program, _ = world(SLOW, {"text": "Here I am."})
    with Screen(program, "--permission-mode", "auto") as screen:
        ask(screen, "begin")
        screen.wait("word word")
        screen.type("my draft")
        screen.wait("│ my draft")
        screen.keys("Escape")
        shown = screen.wait("! stopped")
        assert "│ my draft" in shown
        screen.keys("Enter")
        screen.wait("Here I am.")


def test_escape_stops_one_thing_at_a_press_the_command_and_then_the_run(world: Open) -> None:
    """What Esc would stop is named; the model is told of the first, draft and queue stay through both."""
    program, server = world(WAITING, SLOW)
    with Screen(program, "--permission-mode", "auto") as screen:
        ask(screen, "begin")
        screen.wait("esc stops the command")
        screen.type("later on")
        screen.keys("M-Enter")
        screen.wait("later later on")
        screen.type("my draft")
        screen.wait("│ my draft")
        screen.keys("Escape")
        screen.wait("word word")
        screen.wait("esc stops the run")
        assert "did not stop the rest of your work" in str(server.requests[-1].json["messages"][-1])
        screen.keys("Escape")
        shown = screen.wait("! stopped")

    assert "│ my draft" in shown
    assert "later on" in shown
    assert len(server.requests) == 2


def test_escape_twice_stops_the_run_also_where_a_command_runs(world: Open) -> None:
    """A person who wants all of it stopped need not look."""
    program, server = world(WAITING, SLOW)
    with Screen(program, "--permission-mode", "auto") as screen:
        ask(screen, "begin")
        screen.wait("esc stops the command")
        screen.keys("Escape", "Escape")
        screen.wait("! stopped")
        screen.gone("esc stops")

    assert len(server.requests) <= 2


def test_leaving_during_a_run_says_so_and_leaves_no_process(world: Open) -> None:
    """Exit code 130."""
    program, _ = world(WAITING)
    with Screen(program, "--permission-mode", "auto") as screen:
        ask(screen, "begin")
        screen.wait("running bash")
        pid = screen.pid()
        screen.keys("C-c", "C-c")

        code, state = screen.ended()
        assert code in (0, 130)
        assert state == "icanon"
        assert not os.path.exists(f"/proc/{pid}")


def test_shift_tab_changes_the_mode_that_is_shown_and_used(world: Open) -> None:
    """ask, auto: the edit is made unasked."""
    program, _ = world(*REPAIR)
    with Screen(program) as screen:
        screen.ready()
        screen.wait("ask ·")
        screen.keys("BTab")
        screen.wait("auto ·")
        ask(screen, "fix it")
        screen.wait("The end of the answer.")

        assert fixed(program)


def test_a_conversation_that_is_gone_on_with_shows_what_was_said(world: Open) -> None:
    """And what was sent comes back with the arrow keys."""
    program, _ = world({"text": "first answer"}, {"text": "second answer"})
    with Screen(program, "first question") as screen:
        screen.wait("first answer")
        leave(screen)
    with Screen(program, "--continue") as screen:
        screen.ready()
        shown = screen.wait("first answer")
        assert "❯ first question" in shown
        screen.keys("Up")
        screen.wait("│ first question")
        screen.keys("Enter")
        screen.wait("second answer")


def test_the_screen_fits_every_size_at_any_moment_of_an_answer(world: Open) -> None:
    """Down to ten columns, while text streams in."""
    program, _ = world(SLOW)
    rnd = random.Random(7)
    with Screen(program) as screen:
        ask(screen, "go")
        screen.wait("word word")
        for _ in range(25):
            screen.resize(rnd.choice([10, 24, 30, 61, 100, 180]), rnd.choice([4, 8, 12, 30, 50]))
            time.sleep(0.05)
        screen.resize(100, 30)
        screen.keys("Escape")
        screen.wait("! stopped")

        assert leave(screen)[1] == "icanon"


@pytest.mark.parametrize(("width", "height"), [(30, 8), (10, 6), (200, 60)])
def test_a_conversation_can_be_had_in_any_size(width: int, height: int, world: Open) -> None:
    """30x8 is enough for everything; in ten columns nothing breaks."""
    program, _ = world(*REPAIR)
    with Screen(program, width=width, height=height) as screen:
        screen.wait("What")
        screen.type("fix")
        screen.keys("Enter")
        screen.wait("[y]")
        time.sleep(0.6)
        screen.keys("y")
        eventually(lambda: fixed(program))
        screen.wait(lambda shown: "answer." in "".join(shown.split()))


def test_a_paste_of_a_megabyte_is_one_mark_and_is_sent_whole(world: Open) -> None:
    """Every character of it."""
    program, server = world({"text": "received"})
    line = "0123456789 äöü 世界\n"
    text = (line * (1_000_000 // len(line.encode())))[:-1]
    with Screen(program) as screen:
        screen.ready()
        screen.paste(text)
        screen.wait("[pasted #1: ")
        screen.keys("Enter")
        screen.wait("received", seconds=120)

    assert last(server) == text


def test_pasted_line_ends_stay_and_send_nothing(world: Open) -> None:
    """Carriage returns, as terminals send them."""
    program, server = world({"text": "received"})
    with Screen(program) as screen:
        screen.ready()
        screen.paste("one\rtwo\rthree")
        screen.wait("│ three")
        assert server.requests == []
        screen.keys("Enter")
        screen.wait("received")
    assert last(server) == "one\ntwo\nthree"


def test_wide_and_combining_characters_stay_in_their_cells(world: Open) -> None:
    """Typed, removed by what one takes for a character, and in an answer."""
    program, server = world({"text": "世界 e\u0301 กำ finis", "delta": 1})
    with Screen(program) as screen:
        screen.ready()
        screen.type("a世e\u0301👨‍👩‍👧b")
        screen.keys("BSpace", "BSpace", "BSpace")
        screen.type("c")
        screen.wait("│ a世c")
        screen.keys("Enter")
        shown = screen.wait("finis")
    assert last(server) == "a世c"
    row = next(line for line in shown.splitlines() if "世界" in line)
    assert row.startswith("  世界 ")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131), (signal.SIGUSR1, 138)],
    ids=lambda value: value.name if isinstance(value, signal.Signals) else "",
)
def test_a_signal_restores_the_terminal(number: int, code: int, world: Open) -> None:
    """In the middle of an answer; the conversation is kept."""
    program, _ = world(SLOW)
    with Screen(program) as screen:
        ask(screen, "go")
        screen.wait("word word")
        os.kill(screen.pid(), number)

        assert screen.ended() == (code, "icanon")
    assert "go" in program.sessions()[0].read_text()


def test_after_a_kill_the_next_start_works_and_has_the_draft(world: Open) -> None:
    """No process can restore a terminal after SIGKILL; what was being written is not lost."""
    program, _ = world({"text": "answered"})
    with Screen(program) as screen:
        screen.ready()
        screen.type("half a thought")
        drafts = program.home / "state" / "drafts"
        eventually(
            lambda: drafts.is_dir() and any("half a thought" in f.read_text() for f in drafts.iterdir())
        )
        os.kill(screen.pid(), signal.SIGKILL)
    with Screen(program) as screen:
        screen.wait("│ half a thought")
        screen.keys("Enter")
        screen.wait("answered")
    assert list(drafts.iterdir()) == []


def test_a_host_that_cannot_be_opened_is_told_after_the_screen_is_gone(tmp_path: Path) -> None:
    """Exit code 3, as without the screen."""
    program = Program(tmp_path / "home", tmp_path / "work")
    with Screen(program, "--model", "nowhere/x") as screen:
        code, state = screen.ended()

        assert (code, state) == (3, "icanon")
        assert "nowhere" in screen.text()


BROKEN = """\
import asyncio
from wisp.frontends.tui.app import WispApp
from wisp.frontends.tui.run import run_app

class Broken(WispApp):
    def show_status(self):
        raise ValueError("boom")

    def on_resize(self):
        self.set_timer(0.2, self.show_status)

async def connect():
    await asyncio.sleep(600)

asyncio.run(run_app(Broken(connect)))
"""


@pytest.mark.parametrize(
    "code", [BROKEN, BROKEN.replace("await asyncio.sleep(600)", "raise ValueError('boom')")]
)
def test_what_breaks_is_told_with_the_terminal_restored(code: str, tmp_path: Path) -> None:
    """While drawing, and while connecting."""
    program = Program(tmp_path / "home", tmp_path / "work")
    with Screen(program, argv=[sys.executable, "-c", code]) as screen:
        assert screen.ended() == (1, "icanon")
        assert "ValueError: boom" in screen.text()


def test_text_of_the_model_cannot_drive_the_terminal(world: Open) -> None:
    """No title, no clipboard, no movement, no hidden text; in a question they are made visible."""
    evil = "safe\x1b]0;OWNED\x07\x1b]52;c;T1dORUQ=\x07\x1b[2J\x1b[1;1Hword \u202etxet"
    program, _ = world(
        {"text": evil, "calls": [{"name": "bash", "arguments": {"command": "rm -rf 'x\u00a0y'"}}]},
        {"text": "over"},
    )
    with Screen(program) as screen:
        ask(screen, "go")
        asked(screen)
        shown = screen.text()
        assert "safeword" in shown
        assert "rm -rf 'x" in shown
        assert "\\u{a0}" in shown
        assert "OWNED" not in screen._tmux("display-message", "-p", "#{pane_title}")
        screen.keys("n")
        screen.wait("over")


def test_commands_and_files_are_found_by_some_of_their_letters(world: Open) -> None:
    """The menu, and what Tab and Enter make of it."""
    program, server = world({"text": "seen"})
    with Screen(program) as screen:
        screen.ready()
        screen.type("/conte")
        screen.wait("what the next request holds")
        screen.keys("Enter")
        screen.wait("tokens")
        screen.type("look at @calc")
        screen.wait("❯ calculator.py")
        screen.keys("Tab")
        screen.wait("│ look at @calculator.py")
        screen.keys("Enter")
        screen.wait("seen")
    assert "look at @calculator.py" in said(server)


def test_a_question_of_the_model_is_answered_by_a_number_or_in_words(world: Open) -> None:
    """With options as keys; without them in the composer, whose draft is there again afterwards."""

    def call(**arguments: Any) -> dict[str, Any]:
        return {"text": "Asking.", "calls": [{"name": "ask_user", "arguments": arguments}]}

    program, server = world(
        call(question="Which colour?", options=["red", "green"]),
        call(question="Which name?"),
        {"text": "Thank you."},
    )
    with Screen(program) as screen:
        ask(screen, "paint it")
        screen.wait("[2] green")
        time.sleep(0.6)  # the guard, as above
        screen.keys("2")
        screen.wait("Which name?")
        screen.wait("your answer")
        screen.type("Ada")
        screen.wait("│ Ada")
        screen.keys("Enter")
        screen.wait("Thank you.")

    assert server.requests[1].last_result == "green"
    assert server.requests[2].last_result == "Ada"


def test_a_limit_that_is_reached_is_put_as_a_question(world: Open) -> None:
    """The run pauses; going on is a key."""
    program, _ = world(
        {"text": "One.", "calls": [{"name": "ls", "arguments": {}}]},
        {"text": "Two."},
    )
    with Screen(program, "--max-turns", "1") as screen:
        ask(screen, "begin")
        shown = screen.wait("The limit of requests is reached")
        assert "[1]" in shown
        time.sleep(0.6)  # the guard, as above
        screen.keys("1")
        screen.wait(lambda text: "Two." in text or "! " in text or "✗ " in text)


def test_suspending_gives_the_terminal_to_the_shell_and_back(world: Open, tmp_path: Path) -> None:
    """Ctrl+Z, then SIGCONT."""
    program, _ = world({"text": "answered"})
    with Screen(program) as screen:
        screen.ready()
        screen.type("before")
        screen.wait("│ before")
        pid = screen.pid()
        screen.keys("C-z")
        eventually(lambda: "State:\tT" in Path(f"/proc/{pid}/status").read_text())
        os.kill(pid, signal.SIGCONT)
        screen.wait("│ before")
        screen.keys("Enter")
        screen.wait("answered")


def test_words_are_found_in_what_is_shown(world: Open) -> None:
    """Ctrl+F, the next place upwards with Enter, Esc brings the draft back."""
    text = "\n\n".join(f"paragraph {n}" for n in range(60))
    program, _ = world({"text": f"needle one\n\n{text}"}, {"text": text})
    with Screen(program, "first") as screen:
        screen.wait("paragraph 59")
        screen.type("second")
        screen.keys("Enter")
        screen.wait("❯ second")
        screen.wait("paragraph 59")
        screen.type("a draft")
        screen.keys("C-f")
        screen.wait("words to look for")
        screen.type("needle")
        screen.keys("Enter")
        screen.wait("needle one")
        screen.keys("Escape")
        screen.wait("│ a draft")


def test_help_conversations_and_branches_are_screens_that_escape_leaves(world: Open) -> None:
    """F1, /resume, /tree."""
    program, _ = world({"text": "one"}, {"text": "two"}, {"text": "three"})
    with Screen(program, "about horses") as screen:
        screen.wait("one")
        leave(screen)
    with Screen(program, "about cats") as screen:
        screen.wait("two")
        screen.keys("F1")
        screen.wait("Keys and commands")
        screen.keys("Escape")
        screen.gone("Keys and commands")
        screen.type("/tree")
        screen.keys("Enter")
        screen.wait("● model: two")
        screen.keys("Escape")
        screen.gone("● model: two")
        screen.type("/resume")
        screen.keys("Enter")
        screen.wait("❯ about horses")
        screen.keys("Enter")
        screen.wait("❯ about horses")
        screen.gone("Conversations")
        screen.gone("two")
        screen.wait("one")


def test_no_colour_is_sent_where_none_is_wanted(world: Open) -> None:
    """NO_COLOR: greys alone."""
    program, _ = world({"text": "```python\nx = 'a'\n```\n\ndone"})
    with Screen(program, "go", env={"NO_COLOR": "1"}) as screen:
        screen.wait("done")
        styled = screen.text(styled=True)

    colours = [part.split("m")[0] for part in styled.split("[38;2;")[1:]]
    triples = [colour.split(";")[:3] for colour in colours]
    assert all(red == green == blue for red, green, blue in triples)


def test_the_inline_screen_leaves_what_was_above_it(world: Open) -> None:
    """Below the prompt; the scrollback is the shell's."""
    program, _ = world({"text": "answered"})
    with Screen(program, "--inline", "go") as screen:
        screen.wait("answered")
        screen.keys("C-c")
        screen.wait("again")
        screen.keys("C-c")

        assert screen.ended()[1] == "icanon"


@pytest.mark.parametrize(("width", "height"), [(100, 30), (40, 12)])
def test_what_the_terminal_moved_itself_is_what_would_have_been_drawn(
    width: int, height: int, world: Open
) -> None:
    """A reply with wide characters, code and tables runs through; then everything is drawn anew."""
    part = "## 漢字 heading\n\nSome *words* 👩‍🚀 with `code`.\n\n- one\n- two\n\n```python\nx = 1  # why\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    text = "".join(f"{number} {part}" for number in range(20)) + "the last words"
    program, _ = world({"text": text, "pause": 0.01, "delta": 40})
    with Screen(program, "go", width=width, height=height) as screen:
        screen.wait(lambda text: "the last words" in text and "esc stops" not in text)
        transcript = slice(0, height - 5)  # the composer below it has a cursor that blinks
        moved = screen.text(styled=True).split("\n")[transcript]
        screen.keys("C-l")
        time.sleep(0.5)

        assert screen.text(styled=True).split("\n")[transcript] == moved


def test_what_was_typed_before_the_program_was_up_is_said(world: Open) -> None:
    """A person types ahead: the text is neither lost nor needs a second Enter."""
    program, server = world({"text": "The answer."})
    argv = ["sh", "-c", 'sleep 1; exec "$@"', "sh", *program.argv]
    with Screen(program, argv=argv) as screen:
        screen.type("typed ahead\r")
        screen.wait("The answer.")

    assert "typed ahead" in said(server)


def test_a_paste_without_marks_is_one_paste_inline_too(world: Open) -> None:
    """1,300 characters with line feeds at once: nothing is sent until Enter is pressed, and nothing is lost."""
    program, server = world({"text": "understood"})
    text = "".join(f"line {number:03} of some text\r" for number in range(56))
    with Screen(program, "--inline") as screen:
        screen.ready()
        screen.type(text)
        screen.wait("[pasted #1: 57 lines]")
        assert server.requests == []
        screen.keys("Enter")
        screen.wait("understood")

    assert "line 000 of" in said(server) and "line 055 of" in said(server)
    assert len(server.requests) == 1
