"""What stands beside a file's bytes, and files that nobody may change: kept by edit and undo, or all is as it was."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process

EVERYBODY = 0xFFFFFFFF
ENTRIES = ((1, 6, EVERYBODY), (2, 4, 1234), (4, 4, EVERYBODY), (16, 6, EVERYBODY), (32, 4, EVERYBODY))
ACL = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in ENTRIES)
"""user::rw- user:1234:r-- group::r-- mask::rw- other::r--, as Linux keeps it (acl(5), version 2)."""
KEPT = {"user.note": b"value", "system.posix_acl_access": ACL}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Two files with attributes and an access list; what is made immutable is freed at the end."""
    work = tmp_path / "work"
    work.mkdir()
    for name in ("a.txt", "b.txt"):
        (work / name).write_text("one\n")
        try:
            for attribute, value in KEPT.items():
                os.setxattr(work / name, attribute, value)
        except OSError as exc:
            pytest.skip(f"this file system keeps no attributes: {exc.strerror}")
    yield work
    subprocess.run(["chattr", "-R", "-ia", str(work)], capture_output=True, check=False)


def protect(path: Path, flag: str) -> None:
    done = subprocess.run(["chattr", flag, str(path)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("only root can make a file immutable, on some file systems")


def state(work: Path) -> dict[str, Any]:
    return {
        path.name: (path.read_text(), {name: os.getxattr(path, name) for name in os.listxattr(path)})
        for path in work.iterdir()
    }


def change(name: str) -> dict[str, Any]:
    return {"path": name, "old_text": "one", "new_text": "two"}


SINGLE = {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "two"}]}
BOTH = {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "two"}, change("b.txt")]}


def played(tmp_path: Path, calls: list[dict[str, Any]]) -> tuple[Program, list[str]]:
    """A run with these edits, and what the model was told of each."""
    steps = [{"text": "x", "calls": [{"name": "edit", "arguments": one}]} for one in calls]
    with ServerThread([*steps, {"text": "done"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "x", "--permission-mode", "full")
        assert done.returncode == 0, done.stderr
        return program, [request.last_result for request in server.requests[1:]]


@pytest.mark.parametrize("call", [SINGLE, BOTH], ids=["one file", "two files"])
def test_attributes_and_access_lists_stay_through_edit_undo_and_redo(
    folder: Path, tmp_path: Path, call: dict[str, Any]
) -> None:
    before = state(folder)
    program, _ = played(tmp_path, [call])
    edited = state(folder)
    assert edited["a.txt"] == ("two\n", KEPT)
    assert program.run("undo", "--yes").returncode == 0
    assert state(folder) == before
    assert program.run("redo", "--yes").returncode == 0
    assert state(folder) == edited


@pytest.mark.parametrize("flag", ["+i", "+a"])
@pytest.mark.parametrize("what", ["b.txt", "."])
def test_where_one_file_or_the_folder_cannot_be_changed_none_is(
    folder: Path, tmp_path: Path, what: str, flag: str
) -> None:
    before = state(folder)
    protect(folder / what, flag)
    _, told = played(tmp_path, [BOTH, SINGLE] if what == "." else [BOTH])
    assert [line.startswith("error (permission_denied): ") for line in told] == [True] * len(told), told
    assert state(folder) == before


def test_an_undo_that_meets_a_file_that_cannot_be_changed_changes_none(folder: Path, tmp_path: Path) -> None:
    program, _ = played(tmp_path, [BOTH])
    edited = state(folder)
    protect(folder / "b.txt", "+i")
    done = program.run("undo", "--yes")
    assert done.returncode == 1
    assert "b.txt: Operation not permitted; every file is as it was" in done.stderr
    assert state(folder) == edited
