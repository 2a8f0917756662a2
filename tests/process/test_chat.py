"""Plain chat in a real terminal: approvals, interrupts, leaving."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process


class Terminal:
    """A program on a pseudo-terminal, read as it comes."""

    def __init__(self, program: Program, *args: str) -> None:
        self._fd, child = pty.openpty()
        self.process = subprocess.Popen(
            [*program.argv, *args],
            cwd=program.project,
            env={**program.env, "TERM": "xterm"},
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
            preexec_fn=_control,
        )
        os.close(child)
        self.seen = ""

    def expect(self, text: str, seconds: float = 20) -> str:
        """Read until `text` appears; everything read since the last call is dropped with it."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, f"no {text!r} in {self.seen!r}"
            if select.select([self._fd], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self._fd, 65536).decode()
                except OSError:
                    break
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    def close(self) -> int:
        """Wait for the end."""
        try:
            return self.process.wait(20)
        finally:
            os.close(self._fd)


def _control() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


WRITE = [
    {
        "text": "I write.",
        "calls": [{"name": "write", "arguments": {"path": "new.txt", "content": "hello\n"}}],
    },
    {"text": "All done."},
]


@pytest.fixture
def server() -> Iterator[ServerThread]:
    """Writes a file, then is done; then does the same again."""
    with ServerThread([*WRITE, *WRITE]) as found:
        yield found


@pytest.fixture
def program(server: ServerThread, tmp_path: Path) -> Program:
    """A program that talks to that server."""
    return Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))


def test_a_paste_of_several_lines_is_one_message(tmp_path: Path) -> None:
    """In brackets, cut in the middle of its marks; sent by a line end of its own."""
    with ServerThread([{"text": "taken"}, {"text": "again"}], lenient=True) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        terminal = Terminal(program, "chat", "--plain")
        assert "\x1b[?2004h" in terminal.expect("> ")
        for part in ("\x1b[20", "0~one\rtwo\r", "three\x1b[2", "01~"):
            terminal.type(part)
            time.sleep(0.05)
        terminal.type(" and four\r")
        terminal.expect("taken")
        terminal.expect("> ")
        terminal.type("!!echo $((40+2))\r")
        terminal.expect("42")
        terminal.type("/quit\r")
        terminal.expect("\x1b[?2004l")
        assert terminal.close() == 0

    [request] = server.requests
    assert request.json["messages"][-1]["content"] == "one\ntwo\nthree and four"


def test_a_yes_runs_what_was_shown(program: Program) -> None:
    """The whole operation is shown; `y` is this once."""
    terminal = Terminal(program, "chat", "--plain")
    terminal.expect("> ")
    terminal.type("go\n")
    shown = terminal.expect("Allow?")
    assert "+hello" in shown
    terminal.expect("reason for no: ")
    terminal.type("y\n")
    terminal.expect("All done.")
    terminal.expect("> ")
    terminal.type("/quit\n")

    assert terminal.close() == 0
    assert (program.project / "new.txt").read_text() == "hello\n"


def test_a_no_with_a_reason_reaches_the_model(program: Program, server: ServerThread) -> None:
    """Anything but yes is a no, and its text is the reason."""
    terminal = Terminal(program, "chat", "--plain")
    terminal.expect("> ")
    terminal.type("go\n")
    terminal.expect("reason for no: ")
    terminal.type("use another name\n")
    terminal.expect("All done.")
    terminal.type("\x04")

    assert terminal.close() == 0
    assert not (program.project / "new.txt").exists()
    assert "use another name" in server.requests[1].last_result


def test_keys_typed_before_the_question_are_no_answer(program: Program, server: ServerThread) -> None:
    """Type-ahead cannot approve."""
    terminal = Terminal(program, "chat", "--plain")
    terminal.expect("> ")
    terminal.type("go\ny\ny\ny\n")
    terminal.expect("reason for no: ")
    time.sleep(0.3)
    assert not (program.project / "new.txt").exists()
    terminal.type("n\n")
    terminal.expect("All done.")
    terminal.type("/quit\n")
    terminal.close()

    assert not (program.project / "new.txt").exists()


def test_a_paste_that_is_on_its_way_when_the_question_appears_is_no_answer(
    program: Program, server: ServerThread
) -> None:
    """Its last line may happen to be a yes."""
    terminal = Terminal(program, "chat", "--plain")
    terminal.expect("> ")
    terminal.type("go\n")
    terminal.expect("+hello")
    for line in ("some pasted text\n", "ending in\n", "y\n"):
        terminal.type(line)
    terminal.expect("reason for no: ")
    time.sleep(0.3)
    assert not (program.project / "new.txt").exists()
    terminal.type("n\n")
    terminal.expect("All done.")
    terminal.type("/quit\n")
    terminal.close()

    assert not (program.project / "new.txt").exists()


def test_ctrl_c_stops_the_run_and_twice_leaves(program: Program) -> None:
    """The question goes away with the run; the second press ends the program."""
    terminal = Terminal(program, "chat", "--plain")
    terminal.expect("> ")
    terminal.type("go\n")
    terminal.expect("reason for no: ")
    terminal.type("\x03")
    terminal.expect("stopping")
    terminal.expect("> ")
    time.sleep(2.1)
    terminal.type("\x03")
    terminal.expect("again to leave")
    terminal.type("\x03")

    assert terminal.close() in (0, 130)
    assert not (program.project / "new.txt").exists()


def test_the_mode_can_be_shown_and_changed(program: Program) -> None:
    """In full mode nothing is asked."""
    terminal = Terminal(program, "chat", "--plain")
    terminal.expect("> ")
    terminal.type("/permissions\n")
    terminal.expect("permission mode: ask")
    terminal.type("/permissions full\n")
    terminal.expect("permission mode: full")
    terminal.type("go\n")
    terminal.expect("All done.")
    terminal.type("/nonsense\n")
    terminal.expect("no command")
    terminal.type("/quit\n")

    assert terminal.close() == 0
    assert (program.project / "new.txt").exists()


def test_a_chat_put_into_plan_mode_changes_nothing_and_keeps_the_plan(program: Program) -> None:
    """The same file as with `--permission-mode plan`."""
    terminal = Terminal(program, "chat", "--plain")
    terminal.expect("> ")
    terminal.type("/permissions plan\n")
    terminal.expect("permission mode: plan")
    terminal.type("go\n")
    terminal.expect("All done.")
    terminal.expect("> ")
    terminal.type("/quit\n")

    assert terminal.close() == 0
    [plan] = (program.home / "state" / "plans").glob("*")
    assert plan.read_text() == "All done.\n"
    assert not (program.project / "new.txt").exists()


def test_a_conversation_works_through_pipes_too(program: Program) -> None:
    """Lines in, text out, end of input ends it."""
    done = program.run("chat", "--plain", "--permission-mode", "full", stdin="go\n")

    assert done.returncode == 0, done.stderr
    assert "All done." in done.stdout
    assert (program.project / "new.txt").exists()


def test_a_headless_text_run_on_a_terminal_asks(program: Program) -> None:
    """`-p` on a terminal puts the same plain question."""
    terminal = Terminal(program, "-p", "go")
    terminal.expect("+hello")
    terminal.expect("reason for no: ")
    terminal.type("y\n")
    terminal.expect("All done.")

    assert terminal.close() == 0
    assert (program.project / "new.txt").exists()


SLOW = {
    "text": "",
    "calls": [{"name": "bash", "arguments": {"command": "while [ ! -e go ]; do sleep 0.05; done"}}],
}


def _steered(tmp_path: Path, steps: list[dict[str, object]]) -> tuple[ServerThread, Program]:
    server = ServerThread(steps)
    return server, Program(tmp_path / "home", tmp_path / "work", url=server_url(server))


def server_url(server: ServerThread) -> str:
    server.__enter__()
    return server.base_url("openai-chat")


def test_what_is_typed_during_a_run_is_said_before_the_next_request_or_at_the_end(tmp_path: Path) -> None:
    """A line steers; /later waits for the end; /queue changes what waits; /model says that it cannot."""
    server, program = _steered(tmp_path, [SLOW, {"text": "Second."}, {"text": "Third."}])
    try:
        terminal = Terminal(program, "chat", "--plain", "--permission-mode", "full")
        terminal.expect("> ")
        terminal.type("begin\n")
        terminal.type("use tabs\n")
        terminal.expect("before the next request")
        terminal.type("to be dropped\n")
        terminal.expect("before the next request")
        terminal.type("/later and tidy up\n")
        terminal.expect("when the run would stop")
        terminal.type("/queue drop 2\n")
        terminal.type("/queue edit 1 use spaces\n")
        terminal.expect("1. next: use spaces")
        terminal.type("/model other\n")
        terminal.expect("cannot be used while a run is in progress")
        (program.project / "go").write_text("")
        terminal.expect("Third.")
        terminal.expect("> ")
        terminal.type("/quit\n")
        assert terminal.close() == 0
        said = [[m["content"] for m in r.json["messages"] if m["role"] == "user"] for r in server.requests]
    finally:
        server.__exit__()

    assert [[str(text) for text in one] for one in said] == [
        ["begin"],
        ["begin", "use spaces"],
        ["begin", "use spaces", "and tidy up"],
    ]


def test_a_limit_asks_in_a_conversation_and_goes_on_as_told(tmp_path: Path) -> None:
    """One more turn for a yes; a no ends the run as the limit would."""
    step = {"text": "", "calls": [{"name": "ls", "arguments": {"path": "."}}]}
    server, program = _steered(tmp_path, [step, step, step])
    try:
        terminal = Terminal(program, "chat", "--plain", "--max-turns", "1")
        terminal.expect("> ")
        terminal.type("begin\n")
        terminal.expect("the limit of 1 turns is used up. Go on?")
        terminal.expect("Answer: ")
        terminal.type("perhaps\n")
        terminal.expect("answer with one of: go on, stop")
        terminal.type("1\n")
        terminal.expect("Go on?")
        terminal.expect("Answer: ")
        terminal.type("2\n")
        terminal.expect("is used up")
        terminal.expect("> ")
        terminal.type("/quit\n")
        assert terminal.close() == 0
    finally:
        server.__exit__()

    assert len(server.requests) == 2


def test_the_model_can_ask_and_gets_the_answer(tmp_path: Path) -> None:
    """An option by its number."""
    ask = {"name": "ask_user", "arguments": {"question": "Which?", "options": ["red", "blue"]}}
    server, program = _steered(tmp_path, [{"text": "", "calls": [ask]}, {"text": "Blue then."}])
    try:
        terminal = Terminal(program, "chat", "--plain")
        terminal.expect("> ")
        terminal.type("begin\n")
        terminal.expect("2. blue")
        terminal.expect("Answer: ")
        terminal.type("2\n")
        terminal.expect("Blue then.")
        terminal.type("/quit\n")
        assert terminal.close() == 0
        results = [m["content"] for m in server.requests[1].json["messages"] if m["role"] == "tool"]
    finally:
        server.__exit__()

    assert results == ["blue"]


def test_a_conversation_can_be_left_and_taken_up_and_its_settings_changed(tmp_path: Path) -> None:
    """/new, /resume, /plan, /effort and /cost through one pipe; the history is that of the session."""
    server, program = _steered(tmp_path, [{"text": f"Answer {n}."} for n in range(4)])
    try:
        first = program.run("chat", "--plain", stdin="one\n/new\ntwo\n/cost\n/history\n/plan\n/permissions\n")
        newest, oldest = (path.stem for path in reversed(program.sessions()))
        program.run("chat", "--plain", stdin=f"/resume {oldest}\nthree\n/context\n")
        sent = [
            [str(m["content"]) for m in r.json["messages"] if m["role"] == "user"] for r in server.requests
        ]
    finally:
        server.__exit__()

    assert newest != oldest
    assert sent == [["one"], ["two"], ["one", "three"]]
    assert "this session: 1 requests" in first.stdout
    assert "1. two" in first.stdout
    assert "permission mode: plan" in first.stdout
