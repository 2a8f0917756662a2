"""Nothing runs in a box whose folders were exchanged for others between our look and the launcher's."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from wisp.workspace.sandbox import seccomp
from wisp.workspace.sandbox.bubblewrap import Kind, Mount, Spec
from wisp.workspace.sandbox.launch import Job, NotStarted, launch
from wisp.workspace.sandbox.mounted import astray
from wisp.workspace.sandbox.standins import STAMP, Standins
from wisp.workspace.stop import StopToken


def _run(bwrap: str, top: Path, mounts: list[Mount], command: str, meanwhile: Callable[[], object]) -> bytes:
    said = bytearray()
    spec = Spec(mounts, str(top), {"PATH": "/usr/bin:/bin"}, False, os.geteuid() == 0)

    def planned() -> Spec:
        meanwhile()
        return spec

    fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        launch(
            lambda options: [bwrap, *options],
            planned,
            seccomp.build(os.uname().machine),
            Job(["/bin/sh", "-c", command], {}, 30, StopToken(), said.extend),
            folder=fd,
            now=time.monotonic,
        )
    finally:
        os.close(fd)
    return bytes(said)


@pytest.mark.parametrize("target", ["../outside", "other", "nothing"])
@pytest.mark.parametrize("kind", ["write", "read", "empty", "hide"])
def test_a_link_in_the_place_of_a_folder_that_is_mounted_leads_nowhere(
    tmp_path: Path, need: Callable[[str], str], kind: Kind, target: str
) -> None:
    top, outside = tmp_path / "a b\\c", tmp_path / "outside"
    for folder in (top / "n", top / "other", outside):
        folder.mkdir(parents=True)
    mounts = [Mount(str(top), "write"), Mount(str(top / "n"), kind)]
    harm = "echo ran; echo x > n/x; echo x > ../outside/x; true"

    def exchange() -> None:
        (top / "n").rename(top / "away")
        (top / "n").symlink_to(target)

    bwrap = need("bwrap")
    assert _run(bwrap, top, mounts, harm, lambda: None).startswith(b"ran\n")
    assert (top / "n/x").exists() == (kind == "write")
    with pytest.raises(NotStarted):
        _run(bwrap, top, mounts, harm, exchange)
    assert not (outside / "x").exists()
    assert not (top / "other/x").exists()


def test_nothing_is_made_to_stand_in_or_taken_away_through_a_link(tmp_path: Path) -> None:
    for name in ("n", "outside"):
        (tmp_path / name).mkdir()
    with Standins() as standins:
        assert standins.folder(str(tmp_path / "n/kept"))
        (tmp_path / "outside/kept").mkdir()
        os.utime(tmp_path / "outside/kept", ns=(STAMP, STAMP))
        (tmp_path / "n").rename(tmp_path / "away")
        (tmp_path / "n").symlink_to("outside")
        assert not standins.folder(str(tmp_path / "n/x"))
        assert not standins.file(str(tmp_path / "n/y"), b"")
    assert os.listdir(tmp_path / "outside") == ["kept"]


def test_another_file_system_below_a_folder_is_no_exchange() -> None:
    """What is mounted is compared with what is there outside of the box, not with the folder above alone."""
    mounts = [Mount("/dev", "write"), Mount("/dev/shm", "write")]
    if not os.path.ismount("/dev/shm"):
        pytest.skip("no file system below /dev here")
    assert astray(os.getpid(), mounts) == ""
    assert astray(os.getpid(), [*mounts, Mount("/dev/shm/none", "write")]) == "/dev/shm/none"
