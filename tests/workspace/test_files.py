"""A write leaves the whole new file or the whole old one."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from workspace.users import as_user

from wisp.workspace.errors import Refused
from wisp.workspace.files import ABSENT, digest, digest_of, read_whole, replace
from wisp.workspace.root import Workspace


@pytest.fixture
def workspace(public: Path) -> Workspace:
    return Workspace(str(public))


def put(workspace: Workspace, path: str, data: bytes, expected: str = "") -> str:
    place = workspace.place(path)
    with workspace.lock(place.path):
        return replace(workspace, place, data, expected)


def code_of(workspace: Workspace, path: str, expected: str = "") -> str:
    with pytest.raises(Refused) as caught:
        put(workspace, path, b"new", expected)
    return caught.value.code


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_new_file_gets_its_parents_and_the_usual_mode(workspace: Workspace, public: Path) -> None:
    old = os.umask(0o027)
    try:
        assert put(workspace, "a/b/c.txt", b"x") == digest(b"x")
    finally:
        os.umask(old)
    assert (public / "a/b/c.txt").read_bytes() == b"x"
    assert stat.S_IMODE((public / "a/b/c.txt").stat().st_mode) == 0o640
    assert names(public / "a/b") == ["c.txt"]


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o664])
def test_mode_owner_and_attributes_are_kept(workspace: Workspace, public: Path, mode: int) -> None:
    file = public / "f"
    file.write_text("old")
    file.chmod(mode)
    if os.geteuid() == 0:
        os.chown(file, 1234, 2345)
    try:
        os.setxattr(file, "user.note", b"kept")
        note = b"kept"
    except OSError:
        note = b""
    before = file.stat()
    put(workspace, "f", b"new")
    after = file.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino
    assert not note or os.getxattr(file, "user.note") == note


def test_links_hard_links_directories_and_fifos_are_never_replaced(
    workspace: Workspace, public: Path
) -> None:
    (public / "f").write_text("old")
    (public / "soft").symlink_to("f")
    os.link(public / "f", public / "hard")
    (public / "d").mkdir()
    os.mkfifo(public / "p")
    found = {name: code_of(workspace, name) for name in ("soft", "hard", "f", "d", "p")}
    assert found == {
        "soft": "is_link",
        "hard": "hard_linked",
        "f": "hard_linked",
        "d": "is_directory",
        "p": "not_regular",
    }
    assert (public / "f").read_text() == "old"
    assert names(public) == ["d", "f", "hard", "p", "soft"]


def test_the_real_cause_is_named_for_an_ordinary_user(public: Path) -> None:
    (public / "locked").mkdir()
    (public / "locked" / "f").write_text("old")
    (public / "read-only").write_text("old")
    (public / "read-only").chmod(0o444)
    (public / "locked").chmod(0o555)

    def work() -> None:
        workspace = Workspace(str(public))
        assert code_of(workspace, "locked/f") == "permission_denied"
        assert code_of(workspace, "locked/new") == "permission_denied"
        assert code_of(workspace, "read-only") == "permission_denied"

    as_user(work)
    assert (public / "read-only").read_text() == "old"


def test_an_ordinary_user_keeps_what_it_may_of_anothers_file(public: Path) -> None:
    (public / "f").write_text("old")
    (public / "f").chmod(0o666)

    def work() -> None:
        put(Workspace(str(public)), "f", b"new")

    as_user(work)
    assert (public / "f").read_text() == "new"
    assert stat.S_IMODE((public / "f").stat().st_mode) == 0o666


def test_what_changed_meanwhile_is_not_overwritten(workspace: Workspace, public: Path) -> None:
    (public / "f").write_text("theirs")
    assert code_of(workspace, "f", digest(b"mine")) == "stale_input"
    assert code_of(workspace, "f", ABSENT) == "stale_input"
    assert code_of(workspace, "gone", digest(b"mine")) == "stale_input"
    assert (public / "f").read_text() == "theirs"
    assert names(public) == ["f"]
    put(workspace, "f", b"new", digest(b"theirs"))
    put(workspace, "g", b"new", ABSENT)
    assert names(public) == ["f", "g"]


def test_a_full_disk_leaves_the_old_file_and_no_temporary(workspace: Workspace, public: Path) -> None:
    (public / "f").write_text("old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        with pytest.raises(Refused) as caught:
            put(workspace, "f", b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert caught.value.code == "disk_full"
    assert (public / "f").read_text() == "old"
    assert names(public) == ["f"]


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from wisp.workspace.files import replace
from wisp.workspace.root import Workspace
workspace = Workspace(sys.argv[2])
workspace.resolver
place = workspace.place(sys.argv[3])
left = int(sys.argv[4])
def step(frame, event, argument):
    global left
    if event in ("c_call", "c_return") and getattr(argument, "__module__", "") == "posix":
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.setprofile(step)
replace(workspace, place, b"n" * 1_000_000)
sys.setprofile(None)
"""


@pytest.mark.parametrize("name", ["f", "new"])
def test_killed_before_or_after_any_system_call_it_is_old_or_new_and_the_next_writer_tidies_up(
    public: Path, name: str
) -> None:
    source = str(Path(__file__).parents[2] / "src")
    (public / "f").write_bytes(b"old")
    ended = 0
    seen = set()
    for step in range(1, 200):
        if name == "new":
            (public / "new").unlink(missing_ok=True)
        else:
            (public / "f").write_bytes(b"old")
        code = subprocess.run(
            [sys.executable, "-I", "-S", "-c", KILLED, source, str(public), name, str(step)], check=False
        ).returncode
        found = (public / name).read_bytes() if (public / name).exists() else None
        assert found in (b"old" if name == "f" else None, b"n" * 1_000_000), step
        seen.add(found)
        if code == 0:
            ended = step
            break
        assert code == -signal.SIGKILL
    assert ended > 20, "it was really killed at every step"
    assert len(seen) == 2
    (public / "new").unlink(missing_ok=True)
    put(Workspace(str(public)), "g", b"x")
    assert names(public) == ["f", "g"], "no temporary is left"


def test_writers_of_one_path_take_turns(workspace: Workspace, public: Path) -> None:
    (public / "n").write_text("0")

    def add() -> None:
        for _ in range(25):
            place = workspace.place("./n")
            with workspace.lock(place.path):
                before = read_whole(workspace, place)
                replace(workspace, place, str(int(before.data) + 1).encode(), before.digest)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (public / "n").read_text() == "100"


def test_reading_counts_bytes_not_what_the_file_system_says(workspace: Workspace, public: Path) -> None:
    with (public / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(Refused) as caught:
        read_whole(workspace, workspace.place("sparse"), 1_000_000)
    assert caught.value.code == "too_large"
    assert digest_of(workspace, workspace.place("gone")) == ABSENT


def test_no_descriptor_is_left_open(workspace: Workspace, public: Path) -> None:
    (public / "soft").symlink_to("nowhere")
    before = len(os.listdir("/proc/self/fd"))
    for number in range(50):
        put(workspace, f"d{number % 3}/f", b"x")
        code_of(workspace, "soft")
        code_of(workspace, "d0")
        read_whole(workspace, workspace.place("d0/f"))
    assert len(os.listdir("/proc/self/fd")) == before
