"""Wisp's own ripgrep sees the folder it searches and nothing else, and cannot change it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from workspace.sandbox.test_escapes import USERS
from workspace.sandbox.test_escapes import place as place
from workspace.users import NOBODY, as_user

from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.hits import Query
from wisp.workspace.process import run
from wisp.workspace.root import Workspace
from wisp.workspace.search import Searcher
from wisp.workspace.stop import StopToken

SHELL = "/bin/bash"


def looked(folder: Path, search_path: str, command: str) -> tuple[int | None, str]:
    """Run a shell line where ripgrep would run."""
    workspace = Workspace(str(folder))
    box = Box(workspace, BoxSettings(), search_path, time.monotonic, time.time_ns)
    said = bytearray()
    boxed = box.look([SHELL, "-c", command], workspace.roots[0].fd, str(folder))
    assert boxed is not None, box.prove().reason
    try:
        ending = run(
            boxed.argv,
            cwd=workspace.roots[0].fd,
            env={"PATH": "/usr/bin:/bin"},
            timeout=20,
            stop=StopToken(),
            now=time.monotonic,
            output=said.extend,
            guarded=boxed.guarded,
            fds=boxed.fds,
        )
        return ending.code, said.decode()
    finally:
        os.close(boxed.fds[0])
        workspace.close()


@pytest.mark.parametrize("boxes", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("uid", USERS)
def test_what_only_looks_changes_nothing_and_reaches_nobody(
    uid: int, boxes: str, place: Callable[[int], str], need: Callable[[str], str]
) -> None:
    launcher = os.path.dirname(need("bwrap")) if boxes == "bubblewrap" else "/nonexistent"
    top = Path(place(uid))

    def work() -> None:
        if uid == NOBODY:
            sys.executable = "/usr/bin/python3"
        (top / "work").mkdir()
        (top / "out").mkdir()
        (top / "out" / "secret").write_text("canary")
        (top / "work" / "f").write_text("needle\n")
        tries = [
            "echo x > f", "echo x > new", "rm f", "mkdir d", f"echo x > {top}/out/new", "chmod 777 f", "mv f g",
            "exec 3<>/dev/tcp/127.0.0.1/80", f"kill -9 {os.getpid()}", "python3 -c 'import socket; socket.socket(2)'",
            "mount -o remount,rw / && echo x > f", "unshare -Ur true",
        ]  # fmt: skip
        if boxes == "bubblewrap":
            tries += [
                f"cat {top}/out/secret",
                "ls ~root",
                "ls /home/*",
                "cat /etc/passwd",
                "ls /proc/1/root",
                "ls /dev/sda",
            ]
        for command in tries:
            if boxes == "landlock" and command.startswith("chmod"):
                continue  # the floor does not know it
            code, said = looked(top / "work", launcher, command)
            assert code != 0, (command, said)
        assert looked(top / "work", launcher, "cat f") == (0, "needle\n")
        assert sorted(os.listdir(top / "work")) == ["f"] and os.listdir(top / "out") == ["secret"]

    as_user(work, uid)


def test_a_folder_swapped_for_a_link_while_it_is_searched_shows_nothing_outside(
    place: Callable[[int], str], need: Callable[[str], str]
) -> None:
    """The path is a name again inside, but nothing outside is there to be named."""
    top = Path(place(os.geteuid()))
    (top / "work" / "d").mkdir(parents=True)
    (top / "out").mkdir()
    (top / "out" / "f").write_text("needle outside\n")
    (top / "work" / "d" / "f").write_text("needle inside\n")
    workspace = Workspace(str(top / "work"))
    box = Box(workspace, BoxSettings(), os.path.dirname(need("bwrap")), time.monotonic, time.time_ns)
    searcher = Searcher(workspace, os.environ["PATH"], time.monotonic, engine=need("rg"), box=box)
    fd, path = workspace.open_directory(workspace.place("d"))
    (top / "work" / "d").rename(top / "work" / "moved")
    (top / "work" / "d").symlink_to("../out")
    boxed = box.look([need("rg"), "needle", "."], fd, path)
    assert boxed is not None
    said = bytearray()
    run(boxed.argv, cwd=fd, env={}, timeout=20, stop=StopToken(), now=time.monotonic, output=said.extend, fds=boxed.fds,
        guarded=False)  # fmt: skip
    os.close(boxed.fds[0])
    assert b"outside" not in said
    assert (
        searcher.grep(workspace.place("moved"), Query("needle"), StopToken()).hits[0].text == "needle inside"
    )
    os.close(fd)
    workspace.close()


def test_a_ripgrep_that_does_not_run_in_the_box_is_done_without(
    tmp_path: Path, need: Callable[[str], str]
) -> None:
    """It is never run outside instead."""
    outside = tmp_path / "elsewhere" / "rg"
    outside.parent.mkdir()
    outside.write_text(f"#!/bin/bash\n[ -e {tmp_path}/elsewhere/rg.data ] || exit 9\ntouch {tmp_path}/ran\n")
    outside.chmod(0o755)
    (tmp_path / "elsewhere" / "rg.data").write_text("")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "f").write_text("needle\n")
    workspace = Workspace(str(folder))
    box = Box(workspace, BoxSettings(), os.path.dirname(need("bwrap")), time.monotonic, time.time_ns)
    searcher = Searcher(workspace, "", time.monotonic, engine=str(outside), box=box)
    assert [hit.path for hit in searcher.grep(workspace.place("."), Query("needle"), StopToken()).hits] == [
        "f"
    ]
    assert searcher.rg is None and not (tmp_path / "ran").exists()
    workspace.close()
