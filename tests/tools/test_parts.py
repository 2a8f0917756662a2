"""A change of which a person takes only some hunks is what a patch tool makes of those hunks."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
from tools.conftest import Bench

from wisp.messages.tool import ToolFailure


def _patched(tmp_path: Path, name: str, before: bytes, diff: str, chosen: set[int]) -> bytes:
    """What `git apply` makes of some hunks of a diff."""
    head, *hunks = re.split(r"(?m)^(?=@@ -)", diff)
    folder = tmp_path / "peer"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(before)
    patch = head + "".join(hunk for number, hunk in enumerate(hunks) if number in chosen)
    done = subprocess.run(
        ["git", "apply", "--recount", "--unidiff-zero", "-"], cwd=folder, input=patch.encode(), check=False
    )
    assert done.returncode == 0, patch
    return (folder / name).read_bytes()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("tool", ["edit", "write"])
def test_the_chosen_hunks_alone_are_made(bench: Bench, tmp_path: Path, seed: int, tool: str) -> None:
    """Against `git apply`, for random files and choices."""
    rng = random.Random(seed)
    lines = [f"line {n} {rng.choice('abc')}\n" for n in range(80)]
    end = rng.choice(["last", "last\n"])
    before = "".join(lines) + end
    after = list(lines)
    for place in sorted(rng.sample(range(80), 6), reverse=True):
        after[place : place + 1] = [f"new {place}-{n}\n" for n in range(rng.choice([0, 1, 2]))]
    (bench.folder / "f.txt").write_text(before)
    changed = "".join(after) + end
    if tool == "edit":
        prepared = bench.prepare("edit", path="f.txt", edits=[{"old_text": before, "new_text": changed}])
    else:
        bench.call("read", path="f.txt")
        prepared = bench.prepare("write", path="f.txt", content=changed)
    assert prepared.parts == len(re.findall(r"(?m)^@@ -", prepared.preview)) > 1
    chosen = set(rng.sample(range(prepared.parts), rng.randint(1, prepared.parts - 1)))
    expected = _patched(tmp_path, "f.txt", before.encode(), prepared.preview, chosen)

    assert prepared.only is not None
    some = prepared.only(frozenset(chosen))
    assert some.digest() != prepared.digest()
    outcome = bench.run(some)

    assert not outcome.is_error, outcome.text
    assert (bench.folder / "f.txt").read_bytes() == expected


def test_line_ends_and_encodings_outside_the_chosen_hunks_stay(bench: Bench) -> None:
    """Bytes that no chosen hunk has are the same afterwards."""
    before = b"\xef\xbb\xbfa\r\n" + b"x\n" * 20 + "b ü\r\n".encode()
    (bench.folder / "f.txt").write_bytes(before)
    edits = [{"old_text": "a", "new_text": "A"}, {"old_text": "b ü", "new_text": "B"}]
    prepared = bench.prepare("edit", path="f.txt", edits=edits)
    assert prepared.parts == 2 and prepared.only is not None

    bench.run(prepared.only(frozenset({1})))

    assert (bench.folder / "f.txt").read_bytes() == before.replace("b ü".encode(), b"B")


def test_hunks_of_several_files_are_counted_through_and_a_file_without_any_stays(bench: Bench) -> None:
    """As the preview shows them."""
    for name in ("a", "b"):
        (bench.folder / name).write_text("one\n" + "x\n" * 20 + "two\n")
    edits = [
        {"path": name, "old_text": word, "new_text": word.upper()}
        for name in ("a", "b")
        for word in ("one", "two")
    ]
    prepared = bench.prepare("edit", path="a", edits=edits)
    assert prepared.parts == 4 and prepared.only is not None

    some = prepared.only(frozenset({3}))
    assert some.summary == "edit 1 files (+1 -1): b"
    bench.run(some)

    assert (bench.folder / "a").read_text().startswith("one\n")
    assert (bench.folder / "b").read_text() == "one\n" + "x\n" * 20 + "TWO\n"


def test_a_file_that_changed_since_is_not_written_in_part_either(bench: Bench) -> None:
    """The fingerprint of the whole is that of its parts."""
    (bench.folder / "f").write_text("one\n" + "x\n" * 20 + "two\n")
    edits = [{"old_text": "one", "new_text": "1"}, {"old_text": "two", "new_text": "2"}]
    prepared = bench.prepare("edit", path="f", edits=edits)
    assert prepared.only is not None
    some = prepared.only(frozenset({0}))
    (bench.folder / "f").write_text("other\n")

    assert bench.run(some).code == "stale_input"
    with pytest.raises(ToolFailure):
        prepared.only(frozenset({7}))


def test_a_change_of_one_hunk_has_no_parts(bench: Bench) -> None:
    """There is nothing to choose."""
    (bench.folder / "f").write_text("one\n@@ -1 +1 @@\n")
    prepared = bench.prepare("edit", path="f", edits=[{"old_text": "one", "new_text": "@@ -2 +2 @@"}])

    assert prepared.parts == 0
