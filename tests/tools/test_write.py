"""Writing makes exactly the file asked for, or leaves everything as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools.conftest import Bench


def test_a_new_file_with_its_parents(bench: Bench) -> None:
    prepared = bench.prepare("write", path="a/b.py", content="x = 1\n")
    assert os.listdir(bench.folder) == []
    assert prepared.summary == "create a/b.py (+1 -0)"
    assert prepared.fingerprint == "absent"
    assert prepared.preview == "--- /dev/null\n+++ b/a/b.py\n@@ -0,0 +1 @@\n+x = 1\n"
    assert prepared.effects[0].exists is False
    outcome = bench.run(prepared)
    assert outcome.text == "created a/b.py (6 bytes, +1 -0 lines)"
    assert (bench.folder / "a/b.py").read_bytes() == b"x = 1\n"


@pytest.mark.parametrize("content", ["", "no newline", "a\r\nb\n", "tabs\t\x0b", "é界\n"])
def test_content_is_literal(bench: Bench, content: str) -> None:
    assert not bench.call("write", path="f", content=content).is_error
    assert (bench.folder / "f").read_bytes() == content.encode()


def test_marked_encodings_are_kept(bench: Bench) -> None:
    (bench.folder / "w").write_bytes(b"\xff\xfe" + "a\n".encode("utf-16-le"))
    (bench.folder / "b").write_bytes(b"\xef\xbb\xbfa\n")
    bench.call("write", path="w", content="ü\n")
    bench.call("write", path="b", content="ü\n")
    assert (bench.folder / "w").read_bytes() == b"\xff\xfe" + "ü\n".encode("utf-16-le")
    assert (bench.folder / "b").read_bytes() == b"\xef\xbb\xbf" + "ü\n".encode()


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_an_encoding_without_a_mark_is_kept_or_refused_before_anything_is_written(
    bench: Bench, encoding: str
) -> None:
    """A line that the diff does not show keeps its very bytes."""
    old = "naïve\x81 ÿ\n1\n" if encoding == "latin-1" else "naïve € ÿ\n1\n"
    (bench.folder / "f").write_bytes(old.encode(encoding))
    assert bench.call("read", path="f").text.startswith(old.split("\n")[0])
    done = bench.call("write", path="f", content=old.replace("1", "é"))
    assert (bench.folder / "f").read_bytes() == old.replace("1", "é").encode(encoding)
    assert done.details["diff"].splitlines()[3:] == [f" {old.split(chr(10))[0]}", "-1", "+é"]
    refused = bench.call("write", path="f", content="中\n")
    assert refused.code == "unencodable" and "delete it first" in refused.text
    assert (bench.folder / "f").read_bytes() == old.replace("1", "é").encode(encoding)


def test_a_file_that_appears_or_changes_after_preparing_is_kept(bench: Bench) -> None:
    new = bench.prepare("write", path="f", content="mine\n")
    (bench.folder / "f").write_text("theirs\n")
    assert bench.run(new).code == "stale_input"
    over = bench.prepare("write", path="f", content="mine\n")
    (bench.folder / "f").unlink()
    assert bench.run(over).code == "stale_input"
    assert os.listdir(bench.folder) == []


def test_the_same_content_is_not_written_again(bench: Bench) -> None:
    (bench.folder / "f").write_text("x\n")
    before = (bench.folder / "f").stat()
    outcome = bench.call("write", path="f", content="x\n")
    assert not outcome.is_error
    assert (bench.folder / "f").stat() == before


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (".", "is_directory"),
        ("d", "is_directory"),
        ("l/x", "is_link"),
        ("s", "is_link"),
        ("a\0b", "invalid_arguments"),
        ("d/x/../..", "is_directory"),
    ],
)
def test_refused_places(bench: Bench, path: str, code: str) -> None:
    (bench.folder / "d").mkdir()
    (bench.folder / "l").symlink_to("d")
    (bench.folder / "s").symlink_to("../new")
    assert bench.call("write", path=path, content="x").code == code
    assert not (bench.folder.parent / "new").exists()


def test_protected_names_are_marked_as_such(bench: Bench) -> None:
    for path in (".git/config", ".GIT/hooks/x", ".wisp/settings.toml", ".vscode/tasks.json", ".envrc"):
        assert bench.prepare("write", path=path, content="x").effects[0].protected, path
    assert not bench.prepare("write", path="src/x.py", content="x").effects[0].protected


def test_outside_is_declared(bench: Bench, tmp_path: Path) -> None:
    prepared = bench.prepare("write", path="../x.txt", content="x\n")
    assert (prepared.effects[0].inside, prepared.effects[0].target) == (False, str(tmp_path / "x.txt"))
    assert prepared.preview == "x\n"
    assert not bench.run(prepared).is_error
    assert (tmp_path / "x.txt").read_text() == "x\n"
