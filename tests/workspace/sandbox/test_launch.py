"""Starting a command in a box: nothing runs in half a box, and each stream is told apart."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from wisp.workspace.sandbox import seccomp
from wisp.workspace.sandbox.bubblewrap import Mount, Spec, arguments, packed
from wisp.workspace.sandbox.launch import Job, NotStarted, launch
from wisp.workspace.stop import StopToken


def _spec(folder: Path) -> Spec:
    hidden = folder / "hidden"
    hidden.mkdir(exist_ok=True)
    mounts = [Mount(str(folder), "write"), Mount("/run", "empty"), Mount(str(hidden), "hide")]
    return Spec(mounts, str(folder), {"PATH": "/usr/bin:/bin", "WISP_BOX": "mine"}, False, os.geteuid() == 0)


def _run(
    launcher: Callable[[list[str]], list[str]],
    folder: Path,
    command: str,
    errors: Callable[[bytes], object] | None = None,
) -> tuple[int | None, bytes]:
    said = bytearray()
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        ending = launch(
            launcher,
            lambda: _spec(folder),
            seccomp.build(os.uname().machine),
            Job(["/bin/sh", "-c", command], {}, 30, StopToken(), said.extend, errors),
            folder=fd,
            now=time.monotonic,
        )
    finally:
        os.close(fd)
    return ending.code, bytes(said)


def _cut(bwrap: str, size: int) -> Callable[[list[str]], list[str]]:
    """The launcher as it is left by an agent that was killed when it had said `size` bytes."""

    def made(options: list[str]) -> list[str]:
        at = options.index("--args")
        words = [*options[:at], "--args", "0", *options[at + 2 :]]
        script = f'head -c {size} <&{options[at + 1]} | exec "$@"'
        return ["/bin/bash", "-c", script, "cut", bwrap, *words]

    return made


def test_nothing_runs_unless_the_launcher_was_told_everything(
    tmp_path: Path, need: Callable[[str], str]
) -> None:
    bwrap, ran = need("bwrap"), tmp_path / "ran"
    told = packed([*arguments(_spec(tmp_path)), "--setenv", "WISP_BOX", 16 * "x"])
    ends = [place for place in range(len(told)) if told[place - 1 : place] == b"\0"]
    for size in (0, *ends, *(end + 3 for end in ends), len(told) - 1):
        if size < len(told) - 1:
            with pytest.raises(NotStarted):
                _run(_cut(bwrap, size), tmp_path, "echo x >ran")
            assert not ran.exists(), told[:size]
    assert _run(_cut(bwrap, len(told)), tmp_path, "echo x >ran; echo $WISP_BOX") == (0, b"\n")
    assert ran.exists()


def test_standard_error_is_taken_apart_where_that_is_wanted(
    tmp_path: Path, need: Callable[[str], str]
) -> None:
    bwrap, errors = need("bwrap"), bytearray()

    def launcher(options: list[str]) -> list[str]:
        return [bwrap, *options]

    command = "echo out; echo err >&2; exit 7"
    assert _run(launcher, tmp_path, command, errors=errors.extend) == (7, b"out\n")
    assert errors == b"err\n"
    assert _run(launcher, tmp_path, command) == (7, b"out\nerr\n")


def test_a_command_has_no_descriptor_but_the_usual_three(tmp_path: Path, need: Callable[[str], str]) -> None:
    """Else it could say in our watcher's name that nothing is left."""
    bwrap = need("bwrap")
    code, said = _run(lambda options: [bwrap, *options], tmp_path, "ls /proc/self/fd")
    assert (code, said.split()) == (0, [b"0", b"1", b"2", b"3"])  # 3 is the folder that is listed
