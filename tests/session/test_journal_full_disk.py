"""A full disk: all or none of an append, the user is told, and when space returns the session goes on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import resource, signal, sys
from wisp.messages.message import user
from wisp.session.journal import FileJournal
from wisp.session.records import MessageRecord, Record
from wisp.session.storage import StorageFailed

def record(seq):
    return Record(seq, f"i{seq}", "", "t", MessageRecord(user("x" * 5000)))

path, limit = sys.argv[1], int(sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = FileJournal(path)
journal.load()
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
kept, failed = 0, 0
import os
for seq in range(1, 40):
    before = os.path.getsize(path)
    try:
        journal.append([record(kept + 1), record(kept + 2)], sync=seq % 2 == 0)
        kept += 2
    except StorageFailed as exc:
        failed += 1
        assert path in str(exc), exc
        assert os.path.getsize(path) == before, "half an append was left"
        if failed == 3:
            break
assert failed == 3, failed
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
else:
    os.remove(sys.argv[3])
journal.append([record(kept + 1)], sync=True)
journal.close()
print(kept + 1)
"""


def check(path: Path, *arguments: str) -> None:
    from wisp.session.journal import FileJournal

    done = subprocess.run(
        [sys.executable, "-c", CODE, str(path), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    journal = FileJournal(str(path))
    loaded = journal.load()
    journal.close()
    assert [r.seq for r in loaded.records] == list(range(1, int(done.stdout) + 1))
    assert loaded.damage == ()


@pytest.mark.parametrize("limit", [20_000, 33_333, 65_536])
def test_an_append_beyond_the_file_size_limit_leaves_nothing_behind(tmp_path: Path, limit: int) -> None:
    check(tmp_path / "s.jsonl", str(limit))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_an_append_to_a_full_file_system_leaves_nothing_behind(tmp_path: Path) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "wisp-test", str(tmp_path)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("no mounts in this container")
    try:
        filler = tmp_path / "filler"
        filler.write_bytes(b"x" * 40_000)
        check(tmp_path / "s.jsonl", "0", str(filler))
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
