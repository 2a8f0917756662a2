"""An edit changes what it names and nothing else, byte for byte."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tools.conftest import Bench

from wisp.messages.tool import ToolFailure
from wisp.tools.edit import Change
from wisp.tools.planning import plan_edits
from wisp.workspace.errors import Refused
from wisp.workspace.text import DEFAULT_FALLBACKS, decode

SOAK = os.environ.get("WISP_SOAK") == "1"


def edited(data: bytes, *edits: tuple[str, str], fallbacks: tuple[str, ...] = DEFAULT_FALLBACKS) -> bytes:
    return plan_edits(data, [Change(old, new) for old, new in edits], "f", fallbacks).data


def code_of(data: bytes, *edits: tuple[str, str], fallbacks: tuple[str, ...] = DEFAULT_FALLBACKS) -> str:
    with pytest.raises(ToolFailure) as caught:
        edited(data, *edits, fallbacks=fallbacks)
    return caught.value.code


CASES = {
    "crlf file, lf text": (
        b"def a():\r\n    return 1\r\n",
        "def a():\n    return 1",
        "def a():\n    return 2",
        b"def a():\r\n    return 2\r\n",
    ),
    "crlf inside the replacement": (b"a\r\nb\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\n"),
    "lf file, crlf text": (b"a\nb\n", "a\r\nb\r\n", "a\r\nc\r\n", b"a\nc\n"),
    "mixed breaks and a bare cr stay": (
        b"a\r\nb\nprogress 1%\rprogress 2%\nend\n",
        "end",
        "END",
        b"a\r\nb\nprogress 1%\rprogress 2%\nEND\n",
    ),
    "mixed: the style of the span": (b"a\r\nb\r\nc\nd\n", "b", "b\nB", b"a\r\nb\r\nB\r\nc\nd\n"),
    "mixed: the style of the other span": (b"a\r\nb\r\nc\nd\n", "c", "c\nC", b"a\r\nb\r\nc\nC\nd\n"),
    "mark kept": (b"\xef\xbb\xbflet k = 7;\n", "let k = 7", "let k = 8", b"\xef\xbb\xbflet k = 8;\n"),
    "utf-16": (
        b"\xff\xfe" + "a=1\r\n".encode("utf-16-le"),
        "a=1",
        "a=2",
        b"\xff\xfe" + "a=2\r\n".encode("utf-16-le"),
    ),
    "curly quotes as they are": (
        "He wrote: “Yes.”\n".encode(),
        "“Yes.”",
        "“No.”",
        "He wrote: “No.”\n".encode(),
    ),
    "curly quotes found by straight ones": (
        "He wrote: “Yes.”\n".encode(),
        '"Yes."',
        "“No.”",
        "He wrote: “No.”\n".encode(),
    ),
    "straight to curly is a change": (b"'x'\n", "'x'", "‘x’", "‘x’\n".encode()),
    "no dollar patterns": (
        b"X\n",
        "X",
        "re = '^ab[cd]$' $& $1 $$ \\1 \\g<0>",
        b"re = '^ab[cd]$' $& $1 $$ \\1 \\g<0>\n",
    ),
    "no unescaping": (b"X\n", "X", "sep = '\\t' + '\\n'", b"sep = '\\t' + '\\n'\n"),
    "the tail keeps its characters": (
        "size\u00a0of = 3  # 大きさ（３）ｶﾅ — memo\n".encode(),
        "size of = 3",
        "size of = 4",
        "size of = 4  # 大きさ（３）ｶﾅ — memo\n".encode(),
    ),
    "trailing blanks in the file": (b"one  \ntwo\t\nthree\n", "one\ntwo", "1\n2", b"1\n2\t\nthree\n"),
    "trailing blanks in the text": (b"one\ntwo\n", "one  \ntwo", "1\n2", b"1\n2\n"),
    "decomposed letters": ("cafe\u0301 = 1\n".encode(), "café = 1", "café = 2", "café = 2\n".encode()),
    "composed letters": ("café = 1\n".encode(), "cafe\u0301 = 1", "x", b"x\n"),
    "less indentation": (b"if a:\n  b()\n  c()\n", "    b()\n", "    d()\n", b"if a:\n  d()\n  c()\n"),
    "more indentation": (
        b"class A:\n    def f():\n        return 1\n",
        "def f():\n    return 1\n",
        "def f():\n    return 2\n",
        b"class A:\n    def f():\n        return 2\n",
    ),
    "a missing tab": (
        b"\t\tfoo()\n\t\tbar()\n",
        "\tfoo()\n\tbar()",
        "\tfoo()\n\t\tbaz()",
        b"\t\tfoo()\n\t\t\tbaz()\n",
    ),
    "blanks for tabs": (
        b"\tif x:\n\t\tfoo()\n",
        "    if x:\n        foo()\n",
        "    if y:\n        bar()\n",
        b"\tif y:\n\t\tbar()\n",
    ),
    "tabs for blanks": (
        b"  if x:\n    foo()\n",
        "\tif x:\n\t\tfoo()\n",
        "\tif y:\n\t\tbar()\n",
        b"  if y:\n    bar()\n",
    ),
    "no final newline stays so": (b"a\n  b()", "    b()\n", "    c()\n", b"a\n  c()"),
    "deleting a line": (b"a\nb\nc\n", "b\n", "", b"a\nc\n"),
    "old mac": (b"a\rb\rc", "b", "x\ny", b"a\rx\ry\rc"),
}


@pytest.mark.parametrize("name", CASES)
def test_byte_true(name: str) -> None:
    before, old, new, after = CASES[name]
    assert edited(before, (old, new)) == after


@pytest.mark.parametrize(
    ("before", "edits", "code"),
    [
        (b"aXbXc\n", [("X", "Y")], "not_unique"),
        (b"aaa\n", [("aa", "b")], "not_unique"),
        (b"abc\n", [("abd", "x")], "not_found"),
        (b"abc\n", [("", "x")], "invalid_arguments"),
        (b"a  b\n", [("  ", "x")], "invalid_arguments"),
        (b"abc\n", [("b", "b")], "no_change"),
        (b"abcd\n", [("abc", "x"), ("cd", "y")], "overlapping"),
        (b"ab\n", [("a", "b"), ("a", "c")], "overlapping"),
        (b"a\0b\n", [("a", "c")], "binary"),
        (b"  one\n    two\n  three\n", [("one\ntwo", "1\n2")], "not_found"),
        ("naïve\n".encode("latin-1"), [("na", "中")], "unencodable"),
        (b"if a:\n  b()\n", [("    b()\n", "c()\n")], "not_found"),
        (b"1ab2ab\n", [("1ab", "1"), ("2ab", "ab2ab")], "no_change"),
        (b"a\n", [], "invalid_arguments"),
    ],
)
def test_refused(before: bytes, edits: list[tuple[str, str]], code: str) -> None:
    assert code_of(before, *edits) == code


def test_all_edits_are_found_in_the_original() -> None:
    assert edited(b"a b c\n", ("c", "a"), ("a", "c")) == b"c b a\n"


def test_replace_all_takes_every_place_apart() -> None:
    plan = plan_edits(b"aXbXX\n", [Change("X", "YY", True)], "f", ())
    assert (plan.data, plan.spans) == (b"aYYbYYYY\n", 3)
    assert plan_edits(b"aaa\n", [Change("aa", "b", True)], "f", ()).data == b"ba\n"


def test_refusals_say_where_to_look() -> None:
    with pytest.raises(ToolFailure, match=r"occurs 2 times in f \(lines 1, 3\)"):
        edited(b"x = 1\ny\nx = 1\n", ("x = 1", "x = 2"))
    with pytest.raises(ToolFailure, match=r"2: def total\(items, tax\):"):
        edited(b"import os\ndef total(items, tax):\n    pass\n", ("def total(items):", "def total():"))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "gbk", "shift_jis"])
def test_legacy_encodings_are_kept(encoding: str) -> None:
    words = {"latin-1": "naïve ÿ", "cp1252": "naïve €", "gbk": "中文字", "shift_jis": "日本語"}[encoding]
    before = f"# {words}\nx = 1\n# {words}\n".encode(encoding)
    fallbacks = (encoding,)
    assert edited(
        before, ("x = 1", f"x = '{words}'"), fallbacks=fallbacks
    ) == f"# {words}\nx = '{words}'\n# {words}\n".encode(encoding)


lines = st.lists(
    st.sampled_from(["a", "b", " ", "\t", "é", "“", "\u00a0", "\n", "\r\n", "\r", "界", "e\u0301"]),
    max_size=40,
).map("".join)


@pytest.mark.timeout(3600)
@settings(max_examples=100_000 if SOAK else 2000, deadline=None)
@given(
    before=lines,
    middle=lines,
    after=lines,
    new=lines,
    form=st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe"]),
)
def test_everything_outside_the_span_is_identical(
    before: str, middle: str, after: str, new: str, form: bytes
) -> None:
    encoding = "utf-16-le" if form == b"\xff\xfe" else "utf-8"
    data = form + (before + middle + after).encode(encoding)
    assume(middle.strip() and middle != new)
    try:
        result = edited(data, (middle, new), fallbacks=())
    except ToolFailure as failure:
        assert failure.code in ("not_unique", "no_change")
        return
    head, tail = form + before.encode(encoding), after.encode(encoding)
    assert result.startswith(head)
    assert result.endswith(tail)
    written = result[len(head) : len(result) - len(tail)].decode(encoding)
    assert written.replace("\r\n", "\n") == new.replace("\r\n", "\n") or "\r" in before + middle + after + new
    assert written.replace("\r", "").replace("\n", "") == new.replace("\r", "").replace("\n", "")


@settings(max_examples=1000, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["foo()", "“bar”", "x = 1  ", "", "y - z"])),
        min_size=1,
        max_size=8,
    ),
    style=st.sampled_from(["\n", "\r\n"]),
    cut=st.tuples(st.integers(0, 7), st.integers(1, 3)),
    shift=st.integers(-1, 1),
)
def test_a_tolerant_match_never_touches_other_lines(
    rows: list[tuple[int, str]], style: str, cut: tuple[int, int], shift: int
) -> None:
    rows = [(depth, words and f"{words}{number}") for number, (depth, words) in enumerate(rows)]
    texts = ["  " * depth + words for depth, words in rows]
    data = "".join(text + style for text in texts).encode()
    first, last = cut[0] % len(texts), min(len(texts), cut[0] % len(texts) + cut[1])
    old = "".join(
        "  " * max(0, d + shift) + w.replace("“", '"').replace("”", '"').rstrip() + "\n"
        for d, w in rows[first:last]
    )
    assume(old.strip())
    try:
        result = edited(data, (old, "NEW\n"), fallbacks=())
    except ToolFailure as failure:
        assert failure.code in ("not_unique", "not_found", "no_change")
        return
    assert result.startswith("".join(text + style for text in texts[:first]).encode())
    assert result.endswith("".join(text + style for text in texts[last:]).encode())


contents = st.one_of(
    st.binary(max_size=40),
    st.tuples(lines, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1", "gbk"])).map(
        lambda made: made[0].encode(made[1], "ignore")
    ),
)


@pytest.mark.timeout(3600)
@settings(max_examples=100_000 if SOAK else 2000, deadline=None)
@given(data=contents, first=st.integers(0, 40), length=st.integers(1, 12), new=lines)
def test_an_edit_and_its_inverse_restore_the_file(data: bytes, first: int, length: int, new: str) -> None:
    """Of any bytes: refused, or nothing else differs, and the way back leads back."""
    try:
        decoded = decode(data)
    except Refused as refused:
        with pytest.raises(ToolFailure) as caught:
            edited(data, ("a", "b"))
        assert caught.value.code == refused.code
        return
    first = first % (len(decoded.text) + 1)
    old = decoded.text[first : first + length]
    new = new.replace("\r", "")
    assume(old.strip() and "\r" not in decoded.text)
    try:
        there = edited(data, (old, new))
    except ToolFailure as failure:
        assert failure.code in ("not_unique", "no_change", "unencodable")
        return
    head, tail = data[: decoded.offset(first)], data[decoded.offset(first + len(old)) :]
    assert there.startswith(head) and there.endswith(tail) and len(there) >= len(head) + len(tail)
    written = there[len(head) : len(there) - len(tail)]
    assert written == new.encode(decoded.form.encoding)
    try:
        again = decode(there).form == decoded.form  # what remains may look like another encoding
        back = edited(there, (new, old)) if again and new.strip() else data
    except (Refused, ToolFailure):
        return
    assert back == data


def test_a_hundred_megabytes_are_edited_in_place_exactly(bench: Bench) -> None:
    block = b"line of text, nothing special about it\n" * 25_000
    data = block * 50 + b"needle here\n" + block * 50
    (bench.folder / "big.txt").write_bytes(data)
    outcome = bench.edit("big.txt", "needle here", "found it")
    assert not outcome.is_error, outcome.text
    assert (bench.folder / "big.txt").read_bytes() == block * 50 + b"found it\n" + block * 50
    assert "@@ -1249998,7 +1249998,7 @@" in outcome.text


def test_mode_is_kept_and_links_are_refused_by_name(bench: Bench) -> None:
    (bench.folder / "run.sh").write_text("echo a\n")
    (bench.folder / "run.sh").chmod(0o755)
    (bench.folder / "link").symlink_to("run.sh")
    assert not bench.edit("run.sh", "echo a", "echo b").is_error
    assert (bench.folder / "run.sh").stat().st_mode & 0o777 == 0o755
    outcome = bench.edit("link", "echo b", "echo c")
    assert (outcome.code, "run.sh" in outcome.text) == ("is_link", True)


def test_a_file_changed_since_it_was_read_is_refused_until_read_again(bench: Bench) -> None:
    file = bench.folder / "f"
    file.write_text("one\ntwo\n")
    assert not bench.edit("f", "one", "1").is_error, "never read: the old text is proof enough"
    assert not bench.edit("f", "two", "2").is_error, "our own change is known"
    file.write_text("1\n2\n3\n")
    for outcome in (bench.edit("f", "1", "x"), bench.call("write", path="f", content="x")):
        assert outcome.code == "stale_input"
        assert "read it again" in outcome.text
    bench.call("read", path="f")
    assert not bench.edit("f", "1", "x").is_error


def test_preparing_changes_nothing_and_is_bound_to_what_it_saw(bench: Bench) -> None:
    file = bench.folder / "f"
    file.write_text("one\n")
    before = file.stat()
    prepared = bench.prepare("edit", path="f", edits=[{"old_text": "one", "new_text": "two"}])
    assert file.stat() == before
    assert os.listdir(bench.folder) == ["f"]
    assert prepared.summary == "edit f (+1 -1)"
    assert prepared.preview == "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two\n"
    (effect,) = prepared.effects
    assert (effect.kind, effect.target, effect.inside, effect.exists) == ("write", str(file), True, True)
    assert prepared.resources == (str(file),)
    file.write_text("one \n")
    outcome = bench.run(prepared)
    assert outcome.code == "stale_input"
    assert file.read_text() == "one \n"


def test_two_edits_in_turn_both_stay(bench: Bench) -> None:
    (bench.folder / "a.txt").write_text("a b\n")
    bench.edit("a.txt", "a", "A")
    bench.edit("./a.txt", "b", "B")
    assert (bench.folder / "a.txt").read_text() == "A B\n"


def test_misspelt_arguments_are_understood(bench: Bench) -> None:
    file = bench.folder / "f"
    for arguments in (
        {"file_path": "f", "old_string": "one", "new_string": "two"},
        {"filePath": "f", "oldText": "two", "newText": "three", "replaceAll": True},
        {"path": "f", "edits": '[{"oldText": "three", "newText": "four"}]'},
        {"path": "f", "edits": {"old_text": "four", "new_text": "five"}},
        {"path": "f", "edits": [{"old_str": "five", "new_str": "six", "replace_all": "true"}]},
    ):
        file.write_text("one\n") if not file.exists() else None
        outcome = bench.call("edit", **arguments)
        assert not outcome.is_error, outcome.text
    assert file.read_text() == "six\n"


def test_a_full_disk_changes_nothing(bench: Bench) -> None:
    (bench.folder / "f").write_text("x" * 3000 + "old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        outcome = bench.edit("f", "old", "new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert outcome.code == "disk_full"
    assert (bench.folder / "f").read_text().endswith("old")
    assert os.listdir(bench.folder) == ["f"]


def test_outside_files_are_not_looked_at_before_they_are_allowed(bench: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the code is 1234\n")
    prepared = bench.prepare("edit", path=str(secret), edits=[{"old_text": "the code is 9", "new_text": "x"}])
    assert prepared.effects[0].inside is False
    assert "1234" not in prepared.preview
    assert bench.run(prepared).code == "not_found", "allowed, it is tried, and now it may say so"
    allowed = bench.prepare("edit", path=str(secret), edits=[{"old_text": "1234", "new_text": "5678"}])
    assert not bench.run(allowed).is_error
    assert secret.read_text() == "the code is 5678\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_more_places_than_are_looked_for_are_refused_and_not_left_behind(end: str) -> None:
    """All or nothing: never the first ten thousand, reported as if they were all."""

    def replaced(times: int) -> bytes:
        edit = Change(f"foo{end}", f"bar{end}", replace_all=True)
        return plan_edits(f"foo{end}".encode() * times, [edit], "f", DEFAULT_FALLBACKS).data

    assert replaced(10_000) == f"bar{end}".encode() * 10_000
    with pytest.raises(ToolFailure, match="more than 10,000 times") as caught:
        replaced(10_001)
    assert caught.value.code == "too_large"
    with pytest.raises(ToolFailure, match="occurs more than 10,000 times"):
        plan_edits(b"foo\n" * 10_001, [Change("foo", "bar")], "f", DEFAULT_FALLBACKS)


def test_places_beyond_many_that_only_look_alike_are_found_too() -> None:
    """An ellipsis is three dots to the search and one character of the file: half of it is no place."""
    text = "\u201c.x " + "\u201c\u2026 " * 12_000 + "\u201c.y"
    with pytest.raises(ToolFailure) as caught:
        plan_edits(text.encode(), [Change('".', "!")], "f", DEFAULT_FALLBACKS)
    assert caught.value.code == "not_unique"
    plan = plan_edits(text.encode(), [Change('".', "!", replace_all=True)], "f", DEFAULT_FALLBACKS)
    assert plan.data.decode() == "!x " + "\u201c\u2026 " * 12_000 + "!y"


@pytest.mark.parametrize("calls", [1, 2])
def test_a_name_that_differs_only_in_its_unicode_form_or_spaces_is_the_file_that_is_there(
    bench: Bench, calls: int
) -> None:
    """As for reading: macOS writes other forms and spaces than a model does."""
    names = {"u\u0308ber.txt": "\u00fcber.txt", "at 3\u202fPM.txt": "at 3 PM.txt"}
    for there, said in names.items():
        (bench.folder / there).write_text("one\n")
        other = "other of " + said
        (bench.folder / other).write_text("one\n")
        edits: list[dict[str, Any]] = [{"old_text": "one", "new_text": "two"}]
        if calls == 2:
            edits.append({"old_text": "one", "new_text": "two", "path": other})
        outcome = bench.call("edit", path=said, edits=edits)
        assert not outcome.is_error, outcome.text
        assert (bench.folder / there).read_text() == "two\n"
    assert sorted(os.listdir(bench.folder)) == sorted(
        [*names, *(f"other of {said}" for said in names.values())]
    )


def test_a_file_that_is_not_there_is_refused_with_names_that_come_near(bench: Bench) -> None:
    (bench.folder / "settings.py").write_text("one\n")
    outcome = bench.edit("setings.py", "one", "two")
    assert (outcome.code, outcome.text) == (
        "not_found",
        "error (not_found): setings.py does not exist; did you mean settings.py?",
    )
    assert bench.edit("else", "one", "two").text.endswith("use write to create it")
