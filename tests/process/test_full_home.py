"""A disk that is full while something small is kept: the old file as it was, nothing beside it, the file named."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process

SAID = (
    '{"type":"user","message":{"role":"user","content":"hello"},"uuid":"1","sessionId":"x",'
    '"timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}\n'
)
CHANGES = [
    ("config", "set", "max_turns", "9"),
    ("config", "unset", "max_turns"),
    ("trust", "revoke"),
    ("login", "anthropic"),
    ("logout", "openai"),
    ("mcp", "add", "x", "--", "true"),
    ("sessions", "clone", "0"),
    ("sessions", "fork", "0"),
    ("sessions", "import", "said.jsonl"),
    ("sessions", "export", "0", "--output", "DISK/out.md"),
]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=755", "none", str(place)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("only root can mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Not a byte of room."""
    with open(disk / "fill", "ab", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass
    try:
        yield
    finally:
        (disk / "fill").unlink()


def held(folder: Path) -> dict[str, bytes]:
    """What is kept; locks hold nothing."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.name != "fill"}


def test_what_cannot_be_kept_is_as_it_was_and_the_file_is_named(disk: Path, tmp_path: Path) -> None:
    with ServerThread([{"text": "done"}]) as server:
        program = Program(disk / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        (program.project / "AGENTS.md").write_text("hi")
        (program.project / "said.jsonl").write_text(SAID)
        for words in (
            ("-p", "hello"),
            ("config", "set", "max_turns", "5"),
            ("trust", "allow"),
            ("login", "openai"),
        ):
            program.run(*words, stdin="sk-test-0123456789\n" if words[0] == "login" else None)
        before = held(disk)
        for words in CHANGES:
            words = tuple(word.replace("DISK", str(disk)) for word in words)
            with full(disk):
                done = program.run(*words, stdin="sk-other-0123456789\n" if words[0] == "login" else None)
            assert done.returncode in (1, 3), (words, done.stdout, done.stderr)
            assert done.stderr.startswith(f"wisp: {disk}/"), (words, done.stderr)
            assert done.stderr.endswith(": No space left on device\n"), (words, done.stderr)
            assert held(disk) == before, words


def test_on_a_full_disk_sessions_can_still_be_put_away(disk: Path, tmp_path: Path) -> None:
    """The lock has no room to say who holds it, which is no reason not to."""
    with ServerThread([{"text": "done"}] * 2) as server:
        program = Program(disk / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        program.run("-p", "hello")
        program.run("-p", "again")
        one, two = program.sessions()
        with full(disk):
            for words in (("archive", one.stem), ("rm", two.stem, "--yes")):
                done = program.run("sessions", *words)
                assert done.returncode == 0, done.stderr
    assert not one.exists()
    assert not two.exists()
