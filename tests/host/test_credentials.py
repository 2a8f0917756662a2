"""The file of credentials: private or refused, whole or unchanged, and the same for everyone who looks."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from wisp.host import credentials
from wisp.host.credentials import BadCredentialFile, CredentialFile, Stored

KEY = "sk-canary-0123456789"


@pytest.fixture
def file(tmp_path: Path) -> CredentialFile:
    return CredentialFile(str(tmp_path / "state" / "credentials.json"))


def python(code: str, *argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_what_is_stored_is_read_back_and_the_others_stay(file: CredentialFile) -> None:
    file.put("a", Stored("key", KEY))
    file.put("b", Stored("oauth", "t", "r", 5.0, "s"))
    assert file.read() == {"a": Stored("key", KEY), "b": Stored("oauth", "t", "r", 5.0, "s")}
    assert (file.remove("a"), file.remove("a")) == (True, False)
    assert list(file.read()) == ["b"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_nobody_else_can_open_it_whatever_the_umask(file: CredentialFile, umask: int) -> None:
    before = os.umask(umask)
    try:
        os.makedirs(os.path.dirname(os.path.dirname(file.path)), exist_ok=True)
        if umask != 0o777 or os.geteuid() == 0:
            file.put("a", Stored("key", KEY))
    finally:
        os.umask(before)
    if os.path.exists(file.path):
        assert os.stat(file.path).st_mode & 0o777 == 0o600
        assert os.stat(os.path.dirname(file.path)).st_mode & 0o077 == 0


def test_nothing_is_left_beside_it(file: CredentialFile) -> None:
    file.put("a", Stored("key", KEY))
    assert sorted(os.listdir(os.path.dirname(file.path))) == ["credentials.json", "credentials.json.lock"]
    assert KEY not in Path(file.path + ".lock").read_text()


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_link, "it is a link"),
        (lambda path: os.link(path, path.with_name("second")), "second name"),
        (lambda path: path.chmod(0o640), "chmod 600"),
        (lambda path: path.chmod(0o604), "chmod 600"),
        (lambda path: (path.unlink(), os.mkfifo(path, 0o600)), "not a regular file"),
        (lambda path: (path.unlink(), path.mkdir(0o700)), ""),
        (lambda path: path.write_text('{"v":1,"providers":{"a":{"secret":"' + KEY), "damaged"),
        (lambda path: path.write_text('{"v":2,"providers":{}}'), "later wisp"),
        (lambda path: path.write_text(""), "damaged"),
    ],
)
def test_a_file_that_is_not_private_and_whole_is_refused_and_left_as_it_is(
    file: CredentialFile, spoil: object, words: str
) -> None:
    file.put("a", Stored("key", KEY))
    path = Path(file.path)
    spoil(path)  # type: ignore[operator]
    before = path.read_bytes() if path.is_file() else None
    for attempt in (file.read, lambda: file.put("b", Stored("key", "k")), lambda: file.remove("a")):
        with pytest.raises(OSError) as caught:
            attempt()
        assert words in str(caught.value)
        assert KEY not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_another_users_file_is_refused(file: CredentialFile) -> None:
    file.put("a", Stored("key", KEY))
    os.chown(file.path, 65534, -1)
    with pytest.raises(BadCredentialFile, match="another user"):
        file.read()


def test_a_planted_lock_is_refused(file: CredentialFile) -> None:
    file.put("a", Stored("key", KEY))
    os.unlink(file.path + ".lock")
    victim = Path(file.path).with_name("victim")
    victim.write_text("precious")
    os.symlink(victim, file.path + ".lock")
    with pytest.raises(OSError):
        file.put("b", Stored("key", "k"))
    assert victim.read_text() == "precious"


def test_twenty_processes_at_once_lose_nothing_and_misread_nothing(file: CredentialFile) -> None:
    """Each stores a key of its own five times over while it reads one that was always there."""
    file.put("first", Stored("key", KEY))
    code = """
        import sys
        from wisp.host.credentials import CredentialFile, Stored
        file = CredentialFile(sys.argv[1])
        for turn in range(5):
            file.put(sys.argv[2], Stored("key", f"{sys.argv[2]}-{turn}"))
            found = file.read()
            assert found["first"].secret == sys.argv[3], found
            assert found[sys.argv[2]].secret == f"{sys.argv[2]}-{turn}", found
    """
    running = [python(code, file.path, f"p{n}", KEY) for n in range(20)]
    for process in running:
        _, said = process.communicate(timeout=90)
        assert process.returncode == 0, said
    found = file.read()
    assert {name: stored.secret for name, stored in found.items()} == {
        "first": KEY,
        **{f"p{n}": f"p{n}-4" for n in range(20)},
    }


def test_a_lock_whose_holder_was_killed_holds_nobody_up(file: CredentialFile) -> None:
    holder = python(
        """
        import sys, time
        from wisp.host.credentials import CredentialFile
        assert CredentialFile(sys.argv[1]).try_lock() is not None
        print("held", flush=True)
        time.sleep(60)
        """,
        file.path,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert file.try_lock() is None
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    file.put("a", Stored("key", KEY))
    assert file.get("a") == Stored("key", KEY)


def test_a_stale_lock_file_and_a_half_written_copy_are_in_nobodys_way(file: CredentialFile) -> None:
    os.makedirs(os.path.dirname(file.path))
    Path(file.path + ".lock").write_text("process 1 on nowhere\n")
    os.chmod(file.path + ".lock", 0o600)
    Path(f"{file.path}.{os.getpid()}.new").write_text("half")
    file.put("a", Stored("key", KEY))
    assert file.get("a") == Stored("key", KEY)


def test_a_lock_file_that_was_removed_under_its_holder_locks_again(file: CredentialFile) -> None:
    """Two processes with two lock files of one name would both believe they are alone."""
    first = file.try_lock()
    assert first is not None
    os.unlink(file.path + ".lock")
    second = file.try_lock()
    assert second is not None
    assert file.try_lock() is None
    os.close(second)
    os.close(first)


def test_it_waits_longer_each_time_and_gives_up_in_the_end(file: CredentialFile) -> None:
    pauses: list[float] = []
    held = file.try_lock()
    assert held is not None
    waiting = CredentialFile(file.path, sleep=pauses.append)
    with pytest.raises(OSError, match="another wisp has been changing it"):
        waiting.put("a", Stored("key", KEY))
    assert pauses == sorted(pauses)
    assert credentials.PATIENCE <= sum(pauses) < credentials.PATIENCE + 1
    os.close(held)
    waiting.put("a", Stored("key", KEY))


def test_a_full_disk_leaves_the_old_file(file: CredentialFile) -> None:
    file.put("a", Stored("key", KEY))
    code = """
        import resource, signal, sys
        from wisp.host.credentials import CredentialFile, Stored
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
        CredentialFile(sys.argv[1]).put("b", Stored("key", "x" * 100))
    """
    process = python(code, file.path)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "OSError" in said
    assert file.read() == {"a": Stored("key", KEY)}
    assert not [name for name in os.listdir(os.path.dirname(file.path)) if name.endswith(".new")]


def test_a_credential_shows_itself_to_nobody() -> None:
    stored = Stored("oauth", KEY, "refresh-" + KEY)
    assert KEY not in repr(stored) + str(stored) + f"{stored}" + repr({"a": stored})
