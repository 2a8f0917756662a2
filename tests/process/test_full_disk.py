"""The disk is full or the home read-only: nothing is half-written, and a person or the exit code is told."""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread
from process.test_chat import Terminal

from wisp.session.journal import read_only

pytestmark = pytest.mark.process
LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.argv[1:] = sys.argv[2:]
from wisp.launch import entry
entry()
"""


class Limited(Program):
    """The program on a disk on which no file can grow beyond `most` bytes."""

    most = 3000

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-c", LIMITED, str(self.most)]


def program(tmp_path: Path, server: ServerThread) -> Limited:
    return Limited(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))


def test_headless_a_full_disk_ends_the_run_and_says_so(tmp_path: Path) -> None:
    """What was accepted before is whole, no half record is there, and the same session goes on later."""
    with ServerThread([{"text": "short"}, {"text": "long " * 2000}, {"text": "on"}]) as server:
        limited = program(tmp_path, server)
        limited.most = 1 << 30
        assert limited.run("-p", "one").returncode == 0
        limited.most = limited.sessions()[0].stat().st_size + 2_000  # less than the second answer
        done = limited.run("-p", "two", "--continue")
        assert done.returncode == 1
        assert "could not be written" in done.stderr
        assert "File too large" in done.stderr
        [path] = limited.sessions()
        assert read_only(str(path)).damage == ()
        limited.most = 1 << 30
        assert limited.run("-p", "three", "--continue").returncode == 0
        said = json.dumps(server.requests[-1].json["messages"])
        assert "one" in said
        assert "two" in said
    assert server.problems == []


@pytest.mark.parametrize("answer", ["again", "unkept", "stop"])
def test_in_a_conversation_the_run_pauses_with_a_choice(tmp_path: Path, answer: str) -> None:
    """Try again when there is space, go on without keeping, or stop; the file is whole in each case."""
    with ServerThread([{"text": "long " * 2000}, {"text": "next answer"}]) as server:
        limited = program(tmp_path, server)
        terminal = Terminal(limited, "chat", "--plain")
        try:
            terminal.expect("> ")
            terminal.type("go\n")
            terminal.expect("could not be written")
            terminal.expect("Answer: ")
            if answer == "again":
                unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                resource.prlimit(terminal.process.pid, resource.RLIMIT_FSIZE, unlimited)
            terminal.type(f"{answer}\n")
            terminal.expect("> ")
            if answer != "stop":
                terminal.type("and now\n")
                terminal.expect("next answer")
                terminal.expect("> ")
            terminal.type("/quit\n")
            assert terminal.process.wait(20) == 0
        finally:
            terminal.process.kill()
            terminal.close()
        [path] = limited.sessions()
        loaded = read_only(str(path))
    assert loaded.damage == ()
    kept = path.read_text()
    assert ("long long" in kept) == (answer == "again")
    assert "go" in kept


def test_a_read_only_home_is_said_before_anything_is_asked_of_a_model(tmp_path: Path) -> None:
    """With what to do instead; and with --no-session it works."""
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere; the case is tested with a file in the way")
    with ServerThread([{"text": "x"}]) as server:
        given = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        given.home.chmod(0o500)
        done = given.run("-p", "hi")
        assert done.returncode == 1
        assert "--no-session" in done.stderr
        assert server.requests == []


def test_a_state_folder_that_cannot_be_made_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    """A file stands where the folder should be: the same for root and for everybody."""
    with ServerThread([{"text": "x"}]) as server:
        given = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        (given.home / "state").write_text("in the way")
        done = given.run("-p", "hi")
        assert done.returncode == 1
        assert "--no-session" in done.stderr
        assert server.requests == []
        assert given.run("-p", "hi", "--no-session").returncode == 0
