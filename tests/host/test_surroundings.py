"""What a screen shows around a conversation: files, earlier messages, prompts, a draft."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread

from wisp.host.client import OpenRequest
from wisp.host.past import PastMessages
from wisp.host.surroundings import HostSurroundings
from wisp.messages.content import Text
from wisp.messages.message import UserMessage


class Session:
    """As much of a session host as is looked at."""

    def __init__(self, path: str, cwd: str) -> None:
        from wisp.session.open import seen

        self.where = path
        self.state = seen(path).state if path else None
        self.session = self
        self.cwd, self.session_path = cwd, path

    def snapshot(self) -> Session:
        return self


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A program whose home is this process's, too."""
    made = Program(tmp_path / "home", tmp_path / "work")
    monkeypatch.setenv("WISP_HOME", str(made.home))
    return made


def around(program: Program, path: str = "") -> HostSurroundings:
    session = Session(path, str(program.project))
    return HostSurroundings(
        OpenRequest(cwd=str(program.project)),
        lambda: session,  # type: ignore[arg-type,return-value]
        PastMessages(lambda: session),  # type: ignore[arg-type,return-value]
    )


async def test_files_are_those_that_are_not_ignored(program: Program) -> None:
    """As the model's own searches see them."""
    (program.project / ".git").mkdir()
    (program.project / ".gitignore").write_text("*.log\n")
    (program.project / "src").mkdir()
    for name in ("a.py", "b.log", "src/c d.py"):
        (program.project / name).write_text("x")

    assert sorted(await around(program).files()) == ["a.py", "src/c d.py"]


async def test_messages_come_from_any_place_of_a_long_conversation(program: Program) -> None:
    """From what is held, and from the file; fewer at the beginning."""
    from wisp.session.codec import encode
    from wisp.session.records import CompactionRecord, MessageRecord, Record, SessionHeader

    path = program.home / "long.jsonl"
    last = ""
    with open(path, "wb") as file:
        file.write(encode(Record(1, "h", "", "2026-01-01T00:00:00.000Z", SessionHeader("long", "/w"))))
        for n in range(3000):
            body = MessageRecord(UserMessage((Text(f"message {n} " + "x" * 4000),), f"m{n}"))
            file.write(encode(Record(2 * n + 2, f"m{n}", last, "2026-01-01T00:00:00.000Z", body)))
            last = f"m{n}"
            if n % 500 == 499:
                kept = CompactionRecord("so far", f"m{n}", (), "threshold")
                file.write(encode(Record(2 * n + 3, f"k{n}", last, "2026-01-01T00:00:00.000Z", kept)))
    found = around(program, str(path))

    async def numbers(before: int, count: int) -> list[int]:
        return [
            int(m.text.split()[1]) for m in await found.messages(before, count) if isinstance(m, UserMessage)
        ]

    try:
        assert await numbers(3000, 3) == [2997, 2998, 2999]
        assert await numbers(1000, 2) == [998, 999]
        assert await numbers(2, 100) == [0, 1]
    finally:
        found._past.close()


async def test_what_was_said_here_lately_is_offered_once_and_oldest_first(program: Program) -> None:
    """Over several conversations."""
    with ServerThread([{"text": "ok"}] * 4, lenient=True) as server:
        again = Program(program.home, program.project, url=server.base_url("openai-chat"))
        for words in ("first", "second", "first"):
            again.run("-p", words)

    assert await around(program).prompts() == ["second", "first"]


def test_a_draft_is_kept_for_the_person_alone_and_forgotten_when_it_is_empty(program: Program) -> None:
    """0600 in a folder of 0700; a place that cannot be written costs nothing."""
    found = around(program)
    assert found.draft() == ""
    found.keep_draft("half a thought\nä")
    [path] = (program.home / "state" / "drafts").iterdir()

    assert found.draft() == "half a thought\nä"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    found.keep_draft("  ")
    assert found.draft() == ""
    assert not path.exists()
    path.parent.rmdir()
    path.parent.write_text("no folder")
    found.keep_draft("lost")
    assert found.draft() == ""


def test_a_link_in_the_place_of_a_draft_is_replaced_and_never_written_through(program: Program) -> None:
    """Somebody else's file stays as it is."""
    found = around(program)
    found.keep_draft("one")
    [path] = (program.home / "state" / "drafts").iterdir()
    victim = program.home / "victim"
    victim.write_text("untouched")
    path.unlink()
    os.symlink(victim, path)
    found.keep_draft("two")

    assert victim.read_text() == "untouched"
    assert found.draft() == "two"
