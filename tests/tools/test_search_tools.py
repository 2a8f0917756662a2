"""grep, find and ls: what they show, in which order, and what they say about the rest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.conftest import Bench


@pytest.fixture(params=["auto", "python"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    folder = tmp_path / "ws"
    folder.mkdir()
    made = Bench(folder, tmp_path / "spool", search_engine=request.param)
    yield made
    made.workspace.close()


def test_grep_rows_context_and_paths_that_can_be_read(bench: Bench) -> None:
    (bench.folder / "src").mkdir()
    (bench.folder / "src/a.py").write_text("one\ntwo\nthree\nfour\nfive\nsix\ntwo\n")
    assert bench.call("grep", pattern="two").text == "src/a.py:2:two\nsrc/a.py:7:two"
    assert bench.call("grep", pattern="two", path="src/a.py").text == "src/a.py:2:two\nsrc/a.py:7:two"
    context = bench.call("grep", pattern="two", path="src", context=1).text
    assert context.split("\n") == [
        "src/a.py-1-one", "src/a.py:2:two", "src/a.py-3-three", "--", "src/a.py-6-six", "src/a.py:7:two",
    ]  # fmt: skip
    assert bench.call("grep", pattern="TWO").text == "no matches"
    assert bench.call("grep", pattern="TWO", ignore_case=True, glob="*.py").details["hits"] == 2
    assert bench.call("grep", pattern="t.o", literal=True).text == "no matches"


def test_grep_stops_at_a_hundred_hits_and_says_so(bench: Bench) -> None:
    (bench.folder / "f").write_text("x\n" * 150)
    rows = bench.call("grep", pattern="x", max_results=5000).text.split("\n")
    assert len(rows) == 101
    assert rows[-1].startswith("[the first 100 hits; there are more")
    assert bench.call("grep", pattern="x", max_results=3).text.split("\n")[2] == "f:3:x"


def test_a_bad_pattern_says_why(bench: Bench) -> None:
    outcome = bench.call("grep", pattern="(")
    assert outcome.code == "invalid_arguments"
    assert bench.call("grep", pattern="x", path="nope").code == "not_found"
    assert bench.call("find", pattern="[").code == "invalid_arguments"


def test_find_is_newest_first_and_says_when_cut(bench: Bench) -> None:
    for number in range(5):
        (bench.folder / f"{number}.py").write_text("")
        os.utime(bench.folder / f"{number}.py", (number, number))
    assert bench.call("find", pattern="*.py").text == "4.py\n3.py\n2.py\n1.py\n0.py"
    cut = bench.call("find", pattern="*.py", max_results=2).text.split("\n")
    assert cut == ["4.py", "3.py", "[the newest 2 of 5 files; narrow the pattern or path]"]
    assert bench.call("find", pattern="*.rs").text == "no files"


def test_find_below_a_folder_gives_paths_from_the_top(bench: Bench) -> None:
    (bench.folder / "a/b").mkdir(parents=True)
    (bench.folder / "a/b/x.py").write_text("")
    assert bench.call("find", pattern="*.py", path="a").text == "a/b/x.py"
    assert bench.call("find", pattern="b/*.py", path="a").text == "a/b/x.py"
    assert bench.call("find", pattern="**/x.py").text == "a/b/x.py"


def test_ls(bench: Bench) -> None:
    (bench.folder / "d").mkdir()
    (bench.folder / ".h").write_text("")
    (bench.folder / "new\nline").write_text("")
    (bench.folder / "l").symlink_to("d")
    assert bench.call("ls").text == "d/\nl -> d\nnew\\nline"
    assert bench.call("ls", path=".", all=True).text.startswith(".h\n")
    assert bench.call("ls", path="d", all=True).text == "[the directory is empty]"
    assert bench.call("ls", path="new\nline").code == "not_directory"
    for number in range(2100):
        (bench.folder / f"d/{number:04}").write_text("")
    assert bench.call("ls", path="d").text.endswith(
        "[the first 2,000 of 2,100 names; use find with a pattern]"
    )


def test_searching_outside_is_declared(bench: Bench, tmp_path: Path) -> None:
    for tool, arguments in (("grep", {"pattern": "x"}), ("find", {"pattern": "*"}), ("ls", {})):
        prepared = bench.prepare(tool, path="..", **arguments)
        assert (prepared.effects[0].inside, prepared.effects[0].target) == (False, str(tmp_path))
        assert not bench.run(prepared).is_error
