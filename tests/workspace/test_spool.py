"""Output of any size costs bounded memory, and nothing of it is lost without saying so."""

from __future__ import annotations

import resource
import tracemalloc
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from wisp.workspace.spool import Spool

pieces = st.lists(st.binary(max_size=30) | st.sampled_from([b"\n", b"x\n", b"long line " * 3]), max_size=40)


@settings(deadline=None)
@given(pieces=pieces, tail_bytes=st.integers(1, 60), tail_lines=st.integers(1, 8))
def test_the_tail_is_the_end_and_the_log_is_everything(
    pieces: list[bytes], tail_bytes: int, tail_lines: int, tmp_path_factory: object
) -> None:
    folder = tmp_path_factory.mktemp("spool")  # type: ignore[attr-defined]
    spool = Spool(str(folder), "log", head_bytes=10, tail_bytes=tail_bytes, tail_lines=tail_lines)
    for piece in pieces:
        spool.write(piece)
    spool.close()
    everything = b"".join(pieces)
    tail, count = spool.tail()
    lines = everything.splitlines(keepends=True) if b"\r" not in everything else None
    assert everything.endswith(tail)
    assert len(tail) <= tail_bytes
    assert count == tail.count(b"\n") + (bool(tail) and not tail.endswith(b"\n")) <= tail_lines
    assert spool.total == len(everything)
    assert spool.head == everything[:10]
    assert spool.lines == everything.count(b"\n") + (bool(everything) and not everything.endswith(b"\n"))
    assert spool.cut == (len(everything) > tail_bytes or spool.lines > tail_lines)
    if spool.cut:
        assert Path(spool.log).read_bytes() == everything
        assert not spool.trouble
    else:
        assert tail == everything
        assert not spool.log, "no file for what fits"
    if lines and tail and len(tail) < len(everything) and count > 1:
        assert everything[-len(tail) - 1 : -len(tail)] == b"\n", "the tail begins at a line"


def test_a_gigabyte_in_one_line_stays_small(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), "log", log_bytes=1 << 20)
    piece = b"x" * (1 << 17)
    tracemalloc.start()
    for _ in range(1 << 13):
        spool.write(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert spool.total == 1 << 30
    assert peak < 4 << 20
    assert (tmp_path / "log").stat().st_size == 1 << 20
    assert "limit" in spool.trouble
    assert spool.tail() == (b"x" * 50_000, 1)
    spool.close()


def test_the_log_is_private_and_never_follows_a_planted_link(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("kept")
    (tmp_path / "log").symlink_to("victim")
    spool = Spool(str(tmp_path), "log", tail_bytes=4)
    spool.write(b"0123456789")
    assert "could not be made" in spool.trouble
    assert (tmp_path / "victim").read_text() == "kept"
    assert spool.tail() == (b"6789", 1)
    other = Spool(str(tmp_path / "new"), "log", tail_bytes=4)
    other.write(b"0123456789")
    other.close()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new" / "log").stat().st_mode & 0o777 == 0o600


def test_a_full_disk_leaves_memory_only_and_says_so(tmp_path: Path) -> None:
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    spool = Spool(str(tmp_path), "log", tail_bytes=100)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, old[1]))
    try:
        for number in range(100):
            spool.write(b"%049d\n" % number)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    spool.close()
    assert "file system" in spool.trouble
    assert spool.tail()[0] == b"%049d\n%049d\n" % (98, 99)
    assert spool.total == 5000
