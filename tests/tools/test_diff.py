"""Every diff shown gives the same bytes when git or GNU patch applies it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.conftest import Bench

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
    return applied_to(tool, folder, name, None if old is None else old.encode(), diff.encode())


def applied_to(tool: str, folder: Path, name: str, old: bytes | None, diff: bytes) -> bytes:
    if not shutil.which(tool) and os.environ.get("CI") != "true":
        pytest.skip(f"there is no {tool} to apply it with")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    if old is not None:
        (folder / name).write_bytes(old)
    argv = {
        "git": ["git", "apply", "--whitespace=nowarn", "-"],
        "patch": ["patch", "-p1", "-s", "--binary", "-f"],
    }[tool]
    done = subprocess.run(argv, cwd=folder, input=diff, capture_output=True, check=False)
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
@pytest.mark.parametrize(
    "name",
    ["new.txt", "sp ace.txt", "é.txt", 'q"uote.txt', "tab\t.txt", "back\\slash", "new\nline", "no\udcffutf"],
)
@pytest.mark.parametrize("content", ["", "x", "x\n", "a\r\nb\r\n"])
def test_new_files_with_any_name(tool: str, name: str, content: str, tmp_path: Path) -> None:
    diff = unified("", [Span(0, 0, content)] if content else [], name, created=True)
    assert apply(tool, tmp_path / "n", name, None, diff.text) == content.encode()


@pytest.mark.parametrize("tool", ["git", "patch"])
@pytest.mark.parametrize("name", ["f.txt", "sp ace.txt", "new\nline", "no\udcffutf"])
@pytest.mark.parametrize("content", ["", "x", "x\n", "a\r\nb\r\n"])
def test_deleted_files_with_any_name(tool: str, name: str, content: str, tmp_path: Path) -> None:
    diff = whole(content, "", name, deleted=True)
    with pytest.raises(FileNotFoundError):
        apply(tool, tmp_path / "d", name, content, diff.text)


CONTENTS = {
    "utf-8": "é 中\nold\nlast", "bom": "\ufeffé\r\nold\r\nlast\r\n", "crlf": "a\r\nold\r\n\r\nb\r\n",
    "cp1252": "naïve €\nold\nlast", "latin-1": "ÿ\x81\nold\n", "gbk": "中文\nold\n", "utf-16-le": "中\nold\n",
}  # fmt: skip


@pytest.mark.parametrize("tool", ["git", "patch"])
@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("name", ["f.txt", "sp ace/new\nline\t.txt", 'é"\\.txt'])
def test_the_diff_that_a_tool_shows_gives_the_bytes_that_it_wrote(
    tool: str, kind: str, name: str, tmp_path: Path
) -> None:
    """Through the tools; in the encoding of the file, UTF-16 (no text to git) as its text."""
    encoding = {"bom": "utf-8", "crlf": "utf-8"}.get(kind, kind)
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    folder = tmp_path / "work"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_bytes(mark + CONTENTS[kind].encode(encoding))
    bench = Bench(folder, tmp_path / "spool", encodings=("latin-1" if mark else encoding, "latin-1"))
    bench.call("read", path=name)
    try:
        calls = [
            ("edit", {"path": name, "edits": [{"old_text": "old", "new_text": "new"}]}),
            (
                "write",
                {"path": name, "content": CONTENTS[kind].removeprefix("\ufeff").replace("old", "newer")},
            ),
        ]
        for place, (called, arguments) in enumerate(calls):
            before = (folder / name).read_bytes().removeprefix(mark)
            done = bench.call(called, **arguments)
            after = (folder / name).read_bytes().removeprefix(mark)
            used = "utf-8" if mark else encoding
            diff = done.details["diff"]
            if mark:
                before, after = before.decode(encoding).encode(), after.decode(encoding).encode()
            target = tmp_path / f"apply{place}"
            assert applied_to(tool, target, name, before, diff.encode(used, "surrogateescape")) == after
            assert after != before
    finally:
        bench.workspace.close()


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
