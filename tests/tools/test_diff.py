"""Every diff shown gives the same bytes when git or GNU patch applies it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wisp.tools.diff import Span, unified, whole

lines = st.lists(
    st.sampled_from(
        ["a\n", "b\n", "c\n", "\n", "a\r\n", " d\n", "-e\n", "+f\n", "x\ry\n", "é界\n", "\\ No\n"]
    ),
    max_size=30,
)
text = st.tuples(lines, st.sampled_from(["", "", "end", "a", "\r"])).map(
    lambda made: "".join(made[0]) + made[1]
)


def apply(tool: str, folder: Path, name: str, old: str | None, diff: str) -> bytes:
    if not shutil.which(tool) and os.environ.get("CI") != "true":
        pytest.skip(f"there is no {tool} to apply it with")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if old is not None:
        (folder / name).write_bytes(old.encode())
    argv = {
        "git": ["git", "apply", "--whitespace=nowarn", "-"],
        "patch": ["patch", "-p1", "-s", "--binary", "-f"],
    }[tool]
    done = subprocess.run(argv, cwd=folder, input=diff.encode(), capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr, diff)
    return (folder / name).read_bytes()


@pytest.mark.parametrize("tool", ["git", "patch"])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=text, new=text)
def test_whole_files(tool: str, old: str, new: str, tmp_path: Path) -> None:
    diff = whole(old, new, "f.txt")
    if old == new:
        assert diff.text == ""
        return
    if old or tool == "patch":
        assert apply(tool, tmp_path / "w", "f.txt", old, diff.text) == new.encode()


@pytest.mark.parametrize("tool", ["git", "patch"])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    old=text.filter(bool),
    cuts=st.lists(st.integers(0, 200), max_size=8),
    news=st.lists(
        st.sampled_from(["", "new", "new\n", "two\nlines\n", "\r\n", "x\ny"]), min_size=4, max_size=4
    ),
)
def test_edits(tool: str, old: str, cuts: list[int], news: list[str], tmp_path: Path) -> None:
    places = sorted({min(cut, len(old)) for cut in cuts})
    pairs = list(zip(places[::2], places[1::2], strict=False))
    spans = [Span(start, end, new) for (start, end), new in zip(pairs, news, strict=False)]
    new, at = "", 0
    for span in spans:
        new += old[at : span.start] + span.new
        at = span.end
    new += old[at:]
    diff = unified(old, spans, "a b.txt")
    assert sum(row.startswith("+") for row in diff.text.split("\n")[2:]) >= bool(diff.added)
    if new == old:
        assert diff.text == ""
    else:
        assert apply(tool, tmp_path / "e", "a b.txt", old, diff.text) == new.encode()


@pytest.mark.parametrize("tool", ["git", "patch"])
@pytest.mark.parametrize("name", ["new.txt", "sp ace.txt", "é.txt", 'q"uote.txt', "tab\t.txt", "back\\slash"])
@pytest.mark.parametrize("content", ["", "x", "x\n", "a\r\nb\r\n"])
def test_new_files_with_any_name(tool: str, name: str, content: str, tmp_path: Path) -> None:
    diff = unified("", [Span(0, 0, content)] if content else [], name, created=True)
    assert apply(tool, tmp_path / "n", name, None, diff.text) == content.encode()


def test_figures_and_hunks() -> None:
    old = "".join(f"{n}\n" for n in range(1, 31))
    diff = whole(old, old.replace("\n5\n", "\nfive\n").replace("\n25\n", "\n"), "f")
    assert (diff.added, diff.removed) == (1, 2)
    assert [row for row in diff.text.split("\n") if row.startswith("@@")] == [
        "@@ -2,7 +2,7 @@",
        "@@ -22,7 +22,6 @@",
    ]


def test_a_changed_file_of_any_size_costs_little() -> None:
    old = "".join(f"line {n}\n" for n in range(200_000))
    new = old.replace("1", "2")
    diff = whole(old, new, "f")
    assert len(diff.text) < 2_100_000
    assert "left out" in diff.text
