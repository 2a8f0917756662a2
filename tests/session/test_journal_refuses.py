"""One writer, on a private regular file of its own: everything else is refused at once, by name."""

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wisp.session.journal import FileJournal, read_only
from wisp.session.lock import Locked
from wisp.session.whole import NotASession

HOLD = """
import sys, time
from wisp.session.journal import FileJournal
journal = FileJournal(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path / "s.jsonl"


@contextlib.contextmanager
def holder(path: Path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_second_writer_is_refused_within_100_ms_naming_the_holder(path: Path) -> None:
    with holder(path) as process:
        began = time.monotonic()
        with pytest.raises(Locked, match=f"process {process.pid} on"):
            FileJournal(str(path))
        assert time.monotonic() - began < 0.1


def test_a_holder_that_was_killed_frees_the_session(path: Path) -> None:
    with holder(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        FileJournal(str(path)).close()


def test_two_writers_in_one_process_exclude_each_other(path: Path) -> None:
    first = FileJournal(str(path))
    with pytest.raises(Locked, match=f"process {os.getpid()} on"):
        FileJournal(str(path))
    first.close()
    FileJournal(str(path)).close()


def test_reading_needs_no_lock(path: Path) -> None:
    first = FileJournal(str(path))
    assert read_only(str(path)).records == ()
    first.close()


def test_a_child_that_outlives_its_parents_hold_does_not_keep_the_lock(path: Path) -> None:
    first = FileJournal(str(path))
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        first.close()
        FileJournal(str(path)).close()
    finally:
        child.communicate(b"")


def link(path: Path) -> None:
    (path.parent / "target").write_text("precious")
    path.symlink_to(path.parent / "target")


def dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def hard(path: Path) -> None:
    (path.parent / "target").write_text("precious")
    os.link(path.parent / "target", path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


WRONG = {
    "link": link,
    "dangling": dangling,
    "hard link": hard,
    "fifo": os.mkfifo,
    "folder": Path.mkdir,
    "socket": listening,
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_private_regular_file_is_refused_and_unchanged(path: Path, name: str) -> None:
    WRONG[name](path)
    with pytest.raises(NotASession, match="not a private regular file"):
        FileJournal(str(path))
    target = path.parent / "target"
    assert not target.exists() or target.read_text() == "precious"
    assert not (path.parent / "nowhere").exists()
    again = path.parent / "other.jsonl"
    FileJournal(str(again)).close()


@pytest.mark.parametrize("name", ["link", "fifo", "folder", "socket"])
def test_reading_such_a_path_is_an_error_that_does_not_hang(path: Path, name: str) -> None:
    WRONG[name](path)
    with pytest.raises(OSError):
        read_only(str(path))


@pytest.mark.parametrize("name", WRONG)
def test_a_lock_file_that_is_something_else_is_refused(path: Path, name: str) -> None:
    lock = Path(str(path) + ".lock")
    WRONG[name](lock)
    with pytest.raises(OSError):
        FileJournal(str(path))
    target = path.parent / "target"
    assert not target.exists() or target.read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
def test_another_users_file_is_refused_as_root_and_as_nobody(path: Path) -> None:
    path.write_text("")
    os.chown(path, 12345, 12345)
    with pytest.raises(NotASession):
        FileJournal(str(path))
    code = (
        "import os, sys\n"
        "from wisp.session.journal import FileJournal\n"
        "os.chdir(sys.argv[1]); os.setgid(65534); os.setuid(65534)\n"
        "for name in ('theirs.jsonl', 'own.jsonl'):\n"
        "    try:\n"
        "        FileJournal(name).close(); print(name, 'opened')\n"
        "    except OSError as exc:\n"
        "        print(name, exc.errno)\n"
    )
    folder = path.parent / "shared"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    theirs = folder / "theirs.jsonl"
    theirs.write_text("")
    theirs.chmod(0o666)
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [f"theirs.jsonl {errno.EINVAL}", "own.jsonl opened"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a device")
def test_a_device_is_refused(path: Path) -> None:
    try:
        os.mknod(path, 0o020600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no devices in this container")
    with pytest.raises(OSError):
        FileJournal(str(path))


def test_a_folder_that_cannot_be_written_is_an_error_not_a_lock(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        FileJournal(str(tmp_path / "missing" / "s.jsonl"))
