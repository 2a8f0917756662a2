"""Output of any size costs bounded memory, and nothing of it is lost without saying so."""

from __future__ import annotations

import hashlib
import os
import resource
import tracemalloc
from collections.abc import Collection
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from wisp.workspace.outputs import count, keep, prune
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
    assert Path(spool.log).stat().st_size == 1 << 20
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
    assert Path(other.log).stat().st_mode & 0o777 == 0o600


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


def spooled(folder: Path, name: str, data: bytes, *, told: bool = False) -> tuple[str, str]:
    """Where an output was while it was written, as far as somebody asked, and where it is now."""
    spool = Spool(str(folder), name, tail_bytes=4)
    half = len(data) // 2
    spool.write(data[:half])
    before = spool.log if told else ""
    spool.write(data[half:])
    spool.close()
    assert not spool.trouble
    return before, spool.log


def test_equal_outputs_stand_once_under_their_sha256(tmp_path: Path) -> None:
    data = os.urandom(100_000)
    digest = hashlib.sha256(data).hexdigest()
    places = {spooled(tmp_path, f"run-{number}", data)[1] for number in range(3)}
    assert places == {str(tmp_path / f"sha256-{digest}.log")} == {keep(str(tmp_path), data)}
    assert spooled(tmp_path, "other", data + b"x")[1] not in places
    visible = [name for name in os.listdir(tmp_path) if not name.startswith(".")]
    assert len(visible) == 2
    assert Path(places.pop()).read_bytes() == data


def test_a_name_that_was_told_while_the_output_was_written_stays_good(tmp_path: Path) -> None:
    """At no cost: it is another name of the same file."""
    data = os.urandom(50_000)
    for number in range(2):
        told, lasting = spooled(tmp_path, f"run-{number}", data, told=True)
        assert (told, Path(told).read_bytes()) == (str(tmp_path / f"run-{number}"), data)
        assert os.path.samefile(told, lasting)
        assert count(str(tmp_path))[1] == 50_000 * (number + 1), "two names of a file count once"


def test_half_an_output_never_has_the_name_of_a_whole_one(tmp_path: Path) -> None:
    """A power cut may have left one; the next equal output puts it right."""
    data = os.urandom(50_000)
    place = Path(keep(str(tmp_path), data))
    place.write_bytes(data[:1000])
    assert spooled(tmp_path, "again", data)[1] == str(place)
    assert place.read_bytes() == data


def test_what_was_printed_again_while_outputs_are_pruned_stays(tmp_path: Path) -> None:
    """Whoever prunes asks who refers to it; meanwhile another process prints the same."""
    data = os.urandom(50_000)
    place = keep(str(tmp_path), data)
    os.utime(place, (1e9, 1e9))

    def nobody_but_slowly(names: Collection[str]) -> set[str]:
        assert names == {os.path.basename(place)}
        keep(str(tmp_path), data)
        return set()

    assert prune(str(tmp_path), 1.1e9, 1, 0, nobody_but_slowly).gone == 0
    assert Path(place).read_bytes() == data
    os.utime(place, (1e9, 1e9))
    assert prune(str(tmp_path), 1e9 + 3000, 0, 0, lambda names: set()).gone == 0, "within the hour"
    assert prune(str(tmp_path), 1e9 + 4000, 0, 0, lambda names: set()) == (0, 0, 50_000)
