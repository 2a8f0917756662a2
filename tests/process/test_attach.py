"""Files with a prompt: `--attach FILE` and `@path`."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from process.program import Program, result_of
from process.server import ServerThread

pytestmark = pytest.mark.process


def png() -> bytes:
    """A picture of one point, made after the PNG specification."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        whole = kind + data
        return len(data).to_bytes(4, "big") + whole + zlib.crc32(whole).to_bytes(4, "big")

    head = (1).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0\1\2\3"))
        + chunk(b"IEND", b"")
    )


def asked(tmp_path: Path, *options: str, stdin: str | None = None) -> tuple[Any, list[Any]]:
    """What a run with `options` sends as its prompt."""
    with ServerThread([{"text": "done"}]) as server:
        program = Program(
            tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"), more="images = true"
        )
        (program.project / "notes.txt").write_text("NOTES\n")
        (program.project / "my file.txt").write_text("BLANK\n")
        (program.project / ".env").write_text("TOKEN=hidden-1\n")
        (program.project / "dot.png").write_bytes(png())
        (tmp_path / "outside.txt").write_text("OUTSIDE\n")
        done = program.run(*options, "--output-format", "json", stdin=stdin)
        if not server.requests:
            return done, []
        messages = json.loads(server.requests[0].body)["messages"]
    content = messages[-1]["content"]
    return done, content if isinstance(content, list) else [{"type": "text", "text": content}]


def words(content: list[Any]) -> str:
    return "".join(part.get("text", "") for part in content)


def test_a_mentioned_file_goes_along(tmp_path: Path) -> None:
    _, content = asked(tmp_path, "-p", 'sum up @notes.txt, and @"my file.txt"')

    assert '<file path="notes.txt">' in words(content)
    assert "NOTES" in words(content)
    assert "BLANK" in words(content)


@pytest.mark.parametrize("path", ["../outside.txt", ".env", "nowhere.txt", "../home/config/settings.toml"])
def test_what_would_be_asked_or_is_not_there_is_only_a_word(tmp_path: Path, path: str) -> None:
    done, content = asked(tmp_path, "-p", f"look at @{path}")

    assert done.returncode == 0
    assert words(content) == f"look at @{path}"


def test_what_is_denied_does_not_go_along(tmp_path: Path) -> None:
    _, content = asked(tmp_path, "-p", "look at @notes.txt", "--deny", "read(notes.txt)")

    assert "NOTES" not in words(content)


def test_piped_text_mentions_nothing(tmp_path: Path) -> None:
    _, content = asked(tmp_path, "-p", "explain", stdin="log: @notes.txt failed\n")

    assert "log: @notes.txt failed" in words(content)
    assert "NOTES" not in words(content)


def test_an_attached_file_goes_along_wherever_it_is(tmp_path: Path) -> None:
    _, content = asked(
        tmp_path, "-p", "explain", "--attach", str(tmp_path / "outside.txt"), "--attach", "notes.txt"
    )

    assert words(content).startswith("explain")
    assert words(content).index("OUTSIDE") < words(content).index("NOTES")


def test_a_picture_goes_along_as_a_picture(tmp_path: Path) -> None:
    _, content = asked(tmp_path, "-p", "what is on it?", "--attach", "dot.png")
    pictures = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]

    assert len(pictures) == 1
    assert base64.b64decode(pictures[0].partition(",")[2]).startswith(b"\x89PNG")


def test_a_file_that_cannot_be_attached_is_named_and_nothing_is_sent(tmp_path: Path) -> None:
    done, content = asked(tmp_path, "-p", "explain", "--attach", "nowhere.txt")

    assert (done.returncode, content) == (2, [])
    assert "nowhere.txt" in done.stderr
    assert result_of(done)["exit_code"] == 2
