"""Searching gives the same answers in the same order with every ripgrep and with none."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from workspace.users import as_user

from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.errors import Refused
from wisp.workspace.hits import Query
from wisp.workspace.ripgrep import find_ripgrep
from wisp.workspace.root import Workspace
from wisp.workspace.search import Searcher
from wisp.workspace.stop import Stopped, StopToken

ENGINES = sorted(
    {
        path
        for path in (shutil.which("rg"), os.path.join(os.path.dirname(sys.executable), "rg"))
        if path and os.path.exists(path)
    }
)
if not ENGINES and os.environ.get("CI") == "true":
    raise RuntimeError("there is no ripgrep to compare with")
BOXED = ["boxed"] if ENGINES and shutil.which("bwrap") else []
ALL = ["python", *ENGINES, *BOXED]


def searcher(workspace: Workspace, engine: str, seconds: float = 20) -> Searcher:
    if engine == "boxed":
        box = Box(workspace, BoxSettings(), os.environ["PATH"], time.monotonic, time.time_ns)
        return Searcher(
            workspace, os.environ["PATH"], time.monotonic, engine=ENGINES[-1], seconds=seconds, box=box
        )
    return Searcher(workspace, os.environ["PATH"], time.monotonic, engine=engine, seconds=seconds)


def grep(folder: Path, engine: str, query: Query, path: str = ".") -> list[tuple[str, int, str, bool]]:
    workspace = Workspace(str(folder))
    try:
        answer = searcher(workspace, engine).grep(workspace.place(path), query, StopToken())
        return [tuple(hit) for hit in answer.hits]  # type: ignore[misc]
    finally:
        workspace.close()


def find(folder: Path, engine: str, pattern: str, path: str = ".", most: int = 1000) -> list[str]:
    workspace = Workspace(str(folder))
    try:
        return searcher(workspace, engine).find(workspace.place(path), pattern, most, StopToken()).paths
    finally:
        workspace.close()


names = st.sampled_from(["a", "b", "x.log", "y.py", ".hid", "build", "keep", "a b", "ü", "node_modules", "Z"])
patterns = st.sampled_from(
    [
        "*.log",
        "!x.log",
        "/a",
        "a/",
        "build/",
        "!build/",
        "**/b",
        "a/**",
        "/a/*",
        "!/a/b",
        "#no",
        "\\#x",
        "x.*",
        ".hid",
        "!.hid",
        "[ab]",
        "[!a]",
        "*",
        "!*/",
        "!*.py",
        "a b",
        "a b\\ ",
        "keep ",
        "{a,b}",
        "b/x.log",
        "**",
        "a/**/b",
        "?",
        "",
        "ü",
        "*.{log,py}",
        "[",
        "/*/b",
        "!y.py",
        "node_modules",
    ]
)
rules = st.lists(patterns, min_size=1, max_size=4).map("\n".join)
tree = st.recursive(
    st.sampled_from(
        [
            "needle\n",
            "x\nneedle y\nz\n",
            "nothing\n",
            "needle\r\nq\r\n",
            "a\0needle\n",
            "",
            "no newline needle",
            "caf\xe9 needle \x81\nneedle\xff\n".encode("latin-1"),
            "\u4e2d needle\nneedle \u6587\n".encode("gbk"),
            "\u4e2d needle\nneedle \u6587\n".encode(),
            b"\xff\xfe" + "\xe9 needle\r\nneedle \ud83d\ude00\n".encode("utf-16-le", "surrogatepass"),
            b"\xfe\xff" + "\xe9 needle\nq".encode("utf-16-be"),
            b"\xef\xbb\xbfneedle\n\xc3\xa9 needle\n",
            b"\xc3(needle\nne\xe2\x80edle needle\n\xf0\x9f needle",
            b"one\rneedle\rtwo\n",
        ]
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(["a", "b", "x.log", "y.py", ".hid", "build", "keep", "a b", "ü", "Z"], inner),
    ).flatmap(
        lambda entries: st.fixed_dictionaries(
            {},
            optional={
                ".gitignore": rules,
                ".ignore": rules,
                ".rgignore": rules,
                ".git": st.just({"info": {"exclude": "*.py\n!a\n"}}),
            },
        ).map(lambda extra: {**entries, **extra})
    ),
    max_leaves=14,
).filter(lambda made: isinstance(made, dict))


def grow(folder: Path, entries: dict[str, object]) -> None:
    folder.mkdir()
    for name, entry in entries.items():
        if isinstance(entry, dict):
            grow(folder / name, entry)
        else:
            (folder / name).write_bytes(entry if isinstance(entry, bytes) else str(entry).encode())
    if len(entries) % 3 == 0:
        (folder / "loop").symlink_to("..")
        (folder / "link.py").symlink_to("y.py")
        os.mkfifo(folder / "fifo.log")


@pytest.mark.skipif(not ENGINES, reason="no ripgrep to compare with")
@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@example(
    entries={".gitignore": "!*/", "a": {".git": {"info": {"exclude": "needle"}}, "y.py": "needle"}},
    glob="",
    below=False,
)
@given(
    entries=tree,
    glob=st.sampled_from(["", "*.py", "a/**", "!*.log", "*.{py,log}", "**/b", ".hid", "/a"]),
    below=st.booleans(),
)
def test_every_tree_gives_the_same_answers(
    entries: dict[str, object], glob: str, below: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    top = tmp_path_factory.mktemp("tree") / "t"
    grow(top, entries)
    path = "a" if below and (top / "a").is_dir() else "."
    query = Query("ne+dle", glob=glob, context=1 if below else 0)
    expected = grep(top, ENGINES[-1], query, path)
    listed = sorted(find(top, ENGINES[-1], "**", path))
    for engine in ("python", *BOXED):
        assert grep(top, engine, query, path) == expected
        assert sorted(find(top, engine, "**", path)) == listed
    shutil.rmtree(top)


@pytest.mark.skipif(not ENGINES, reason="no ripgrep to compare with")
@pytest.mark.parametrize(
    "pattern",
    ["def \\w+\\(", "import os$", "^class ", "[[:upper:]]{6,}", "(?i)RAISE", "\\bself\\b.*\\bNone", "é|ü"],
)
@pytest.mark.parametrize("package", ["email", "xml", "asyncio"])
def test_real_sources_give_the_same_answers(package: str, pattern: str) -> None:
    top = Path(os.__file__).parent / package
    query = Query(pattern, most=500)
    expected = grep(top, ENGINES[0], query)
    for engine in ALL:
        assert grep(top, engine, query) == expected


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("a", "b", "sub/deep", ".github"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a/.gitignore").write_text("*.log\n")
    (tmp_path / "a/x.log").write_text("needle a\n")
    (tmp_path / "b/y.log").write_text("needle b\n")
    (tmp_path / ".github/ci.yml").write_text("needle ci\n")
    (tmp_path / ".env").write_text("KEY=needle\n")
    (tmp_path / "server.pem").write_text("needle\n")
    (tmp_path / "sub/deep/long.txt").write_text("x" * 3000 + "needle" + "y" * 3000 + "\n")
    return tmp_path


@pytest.mark.parametrize("engine", ALL)
def test_ignore_files_act_on_their_own_subtree_also_without_git(project: Path, engine: str) -> None:
    assert find(project, engine, "*.log") == ["b/y.log"]
    assert [hit[0] for hit in grep(project, engine, Query("needle"))] == ["b/y.log", "sub/deep/long.txt"]


@pytest.mark.parametrize("engine", ALL)
def test_hidden_names_are_found_when_they_are_named(project: Path, engine: str) -> None:
    assert find(project, engine, ".github/**") == [".github/ci.yml"]
    assert find(project, engine, "*.yml") == []
    assert find(project, engine, "*.yml", ".github") == ["ci.yml"]
    assert [hit[0] for hit in grep(project, engine, Query("needle", glob=".github/**"))] == [".github/ci.yml"]


@pytest.mark.parametrize("engine", ALL)
def test_files_that_hold_secrets_are_shown_only_when_named_themselves(project: Path, engine: str) -> None:
    for glob in ("", "*.pem", ".env", "**/.env*"):
        assert not [
            hit
            for hit in grep(project, engine, Query("needle", glob=glob))
            if "pem" in hit[0] or "env" in hit[0]
        ]
    assert grep(project, engine, Query("needle"), ".env") == [(".env", 1, "KEY=needle", True)]


@pytest.mark.parametrize("engine", ALL)
def test_long_lines_are_cut_around_the_match(project: Path, engine: str) -> None:
    (hit,) = grep(project, engine, Query("needle", glob="*.txt"))
    assert "xneedley" in hit[2]
    assert hit[2].startswith("[2753 more chars]...")
    assert hit[2].endswith("...[+2753 more chars]")


@pytest.mark.parametrize("engine", ALL)
@pytest.mark.parametrize("pattern", ["--pre=touch pwned", "-f", "--", "-e", "-x rm"])
def test_a_pattern_is_never_an_option(project: Path, engine: str, pattern: str) -> None:
    (project / "note.txt").write_text(f"has {pattern} inside\n")
    assert [hit[0] for hit in grep(project, engine, Query(pattern, literal=True))] == ["note.txt"]
    assert [hit[0] for hit in grep(project, engine, Query(pattern))] == ["note.txt"]
    assert find(project, engine, pattern) == []
    assert not (project / "pwned").exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_no_configuration_file_is_read(project: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".ripgreprc").write_text("--pre=./p\n--hidden\n")
    (project / "p").write_text("#!/bin/sh\ntouch pwned\n")
    (project / "p").chmod(0o755)
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(project / ".ripgreprc"))
    assert [hit[0] for hit in grep(project, engine, Query("needle"))] == ["b/y.log", "sub/deep/long.txt"]
    assert not (project / "pwned").exists()


@pytest.mark.parametrize("engine", ALL)
def test_the_first_hits_in_path_order_and_a_word_that_there_are_more(tmp_path: Path, engine: str) -> None:
    for name in ("c", "a", "b"):
        (tmp_path / name).write_text("hit\n" * 4)
    workspace = Workspace(str(tmp_path))
    for most, expected, more in (
        (6, ["a"] * 4 + ["b"] * 2, True),
        (12, ["a"] * 4 + ["b"] * 4 + ["c"] * 4, False),
    ):
        answer = searcher(workspace, engine).grep(workspace.place("."), Query("hit", most=most), StopToken())
        assert [hit.path for hit in answer.hits] == expected
        assert answer.more is more
    workspace.close()


@pytest.mark.parametrize("engine", ALL)
@pytest.mark.parametrize("lines", [1, 5, 40])
def test_however_often_it_is_found_the_first_hits_are_those_of_the_first_files(
    tmp_path: Path, engine: str, lines: int
) -> None:
    """Many files at once or one after the other: 64 files, of which the first hits are wanted."""
    names = [
        f"{top}/{sub}{number}.txt" for top in ("b", "a", "a-b", "ab") for sub in "xy" for number in range(8)
    ]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"hit {number}\n" for number in range(lines)))
    expected = [
        (name, line) for name in sorted(names, key=lambda n: n.split("/")) for line in range(1, lines + 1)
    ]
    for most in (1, 10, 100, 10_000):
        found = grep(tmp_path, engine, Query("hit", most=most))
        assert [(path, line) for path, line, _, _ in found] == expected[:most]


@pytest.mark.parametrize("engine", ALL)
def test_names_come_newest_first(tmp_path: Path, engine: str) -> None:
    for age, name in enumerate(["new", "b", "a", "old"]):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1000 - min(age, 1) - (age > 2), 1000 - min(age, 1) - (age > 2)))
    assert find(tmp_path, engine, "*") == ["new", "a", "b", "old"]
    assert find(tmp_path, engine, "*", most=2) == ["new", "a"]


@pytest.mark.parametrize("engine", ALL)
def test_marked_utf16_is_searched_and_crlf_does_not_hide_the_end(tmp_path: Path, engine: str) -> None:
    (tmp_path / "w.txt").write_bytes(b"\xff\xfe" + "über needle\r\n".encode("utf-16-le"))
    (tmp_path / "m.txt").write_bytes(b"\xef\xbb\xbfneedle\r\n")
    found = grep(tmp_path, engine, Query("needle$"))
    assert found == [("m.txt", 1, "needle", True), ("w.txt", 1, "über needle", True)]
    assert grep(tmp_path, engine, Query("^needle")) == found[:1]


@pytest.mark.parametrize("engine", ALL)
@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "(?=x)", "(?<!x)y", "(a)\\1", "a\nb", "a\\nb", "*"])
def test_patterns_that_cannot_be_searched_for_are_refused(tmp_path: Path, engine: str, pattern: str) -> None:
    with pytest.raises(Refused) as caught:
        grep(tmp_path, engine, Query(pattern))
    assert caught.value.code == "invalid_pattern"


@pytest.mark.parametrize("engine", ALL)
def test_a_bad_glob_is_refused(tmp_path: Path, engine: str) -> None:
    for work in (lambda: find(tmp_path, engine, "[a"), lambda: grep(tmp_path, engine, Query("x", glob="{a"))):
        with pytest.raises(Refused):
            work()


@pytest.mark.parametrize("engine", ALL)
def test_a_search_stops_when_told_and_when_its_time_is_up(tmp_path: Path, engine: str) -> None:
    for number in range(300):
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number}/f").write_text("e\n" * 200)
    workspace = Workspace(str(tmp_path))
    stop = StopToken()
    stop.stop()
    with pytest.raises(Stopped):
        searcher(workspace, engine).grep(workspace.place("."), Query("e"), stop)
    if engine == "python":
        assert searcher(workspace, engine, -1).grep(workspace.place("."), Query("zz"), StopToken()).partial
    before = len(os.listdir("/proc/self/fd"))
    late = StopToken()
    threading.Timer(0.02, late.stop).start()
    begun = time.monotonic()
    try:
        searcher(workspace, engine).grep(workspace.place("."), Query("zz"), late)
    except Stopped:
        pass
    assert time.monotonic() - begun < 1
    assert len(os.listdir("/proc/self/fd")) == before
    workspace.close()


def test_a_ripgrep_inside_the_project_is_never_used(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/rg").write_text("#!/bin/sh\n")
    (tmp_path / "bin/rg").chmod(0o755)
    path = f"{tmp_path}/bin:relative:"
    assert find_ripgrep(path, (str(tmp_path),)) != f"{tmp_path}/bin/rg"
    assert find_ripgrep(path) == f"{tmp_path}/bin/rg"


@pytest.mark.parametrize("engine", ALL)
def test_a_line_that_is_not_utf8_is_shown_as_read_shows_it_and_found_by_its_bytes(
    tmp_path: Path, engine: str
) -> None:
    """As ripgrep: a letter beyond ASCII in a pattern means its UTF-8."""
    (tmp_path / "l.txt").write_bytes("naïve needle “x”\n".encode("cp1252"))
    (tmp_path / "u.txt").write_text("naïve needle “x”\n")
    rows = [("l.txt", 1, "naïve needle “x”", True), ("u.txt", 1, "naïve needle “x”", True)]
    assert grep(tmp_path, engine, Query("needle")) == rows
    assert grep(tmp_path, engine, Query("naïve")) == rows[1:]
    (tmp_path / "long").write_bytes(("é" * 900 + "needle" + "ü" * 900).encode("cp1252"))
    shown = grep(tmp_path, engine, Query("needle"), "long")[0][2]
    assert shown == f"[653 more chars]...{'é' * 247}needle{'ü' * 247}...[+653 more chars]"
    gbk = tmp_path / "g"
    gbk.mkdir()
    (gbk / "g.txt").write_bytes("中文 needle\n".encode("gbk"))
    workspace = Workspace(str(gbk))
    try:
        program = ENGINES[-1] if engine == "boxed" else engine
        of_gbk = Searcher(workspace, os.environ["PATH"], time.monotonic, engine=program, encodings=("gbk",))
        hits = of_gbk.grep(workspace.place("."), Query("needle"), StopToken()).hits
        assert [hit.text for hit in hits] == ["中文 needle"]
    finally:
        workspace.close()


@pytest.mark.parametrize("engine", ALL)
def test_a_file_of_a_hundred_megabytes_is_searched_and_one_that_is_not_is_no_empty_answer(
    tmp_path: Path, engine: str
) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.write(b"a line of text\n" * 7_000_000 + b"the needle\n")
        assert file.tell() > 100 << 20
    assert grep(tmp_path, engine, Query("need.e")) == [("big", 7_000_001, "the needle", True)]
    os.truncate(tmp_path / "big", (256 << 20) + 1)
    with pytest.raises(Refused) as caught:
        grep(tmp_path, engine, Query("need.e"), "big")
    assert caught.value.code == "too_large"


@pytest.mark.parametrize("engine", ALL)
def test_odd_names_and_bytes_survive(tmp_path: Path, engine: str) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")).write_bytes(b"caf\xe9 needle\n")
    (tmp_path / "new\nline.txt").write_text("needle\n")
    found = grep(tmp_path, engine, Query("needle"))
    assert [hit[0] for hit in found] == [os.fsdecode(b"caf\xe9.txt"), "new\nline.txt"]
    assert found[0][2] == "café needle"
    assert len(find(tmp_path, engine, "*.txt")) == 2
    (tmp_path / "bytes").write_bytes(b"\xe9\xe8 ok\nab\xe9\n\xe9\n")
    for pattern, lines in (
        ("[^x]*ok", [1]),
        ("ab$", []),
        ("ab.", []),
        ("^ab", [2]),
        ("[^a-z ]", []),
        ("", [1, 2, 3]),
    ):
        assert [hit[1] for hit in grep(tmp_path, engine, Query(pattern), "bytes")] == lines, pattern


@pytest.mark.parametrize("pattern", ["(a+)+$", "(\\w+\\s)*x", "((a*))*"])
def test_without_ripgrep_a_pattern_that_may_never_end_is_refused(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "f").write_text("a" * 5000 + "!\n")
    with pytest.raises(Refused, match="without ripgrep"):
        grep(tmp_path, "python", Query(pattern))
    assert grep(tmp_path, "python", Query("a+b+|a{2,9}!"))


@pytest.mark.parametrize("engine", ALL)
def test_credentials_below_a_searched_git_directory_stay_hidden(tmp_path: Path, engine: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text("needle\n")
    (tmp_path / ".git/HEAD").write_text("needle\n")
    assert [hit[0] for hit in grep(tmp_path, engine, Query("needle"), ".git")] == ["HEAD"]


def test_a_ripgrep_that_cannot_be_started_is_done_without(project: Path) -> None:
    broken = project / "rg"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    workspace = Workspace(str(project))
    tried = searcher(workspace, str(broken))
    assert tried.find(workspace.place("."), "*.log", 9, StopToken()).paths == ["b/y.log"]
    tried = searcher(workspace, str(broken))
    assert [hit.path for hit in tried.grep(workspace.place("b"), Query("needle"), StopToken()).hits] == [
        "y.log"
    ]
    workspace.close()


def no_rules(path: Path, kind: str) -> None:
    """Something under the name of an ignore file that says nothing, and may never end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to a pipe":
        os.mkfifo(path.parent / "pipe")
        path.symlink_to("pipe")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(path))  # the absolute one may be too long
    elif kind == "folder":
        path.mkdir()
    elif kind == "four gigabytes":
        path.touch()
        os.truncate(path, 4 << 30)
    else:
        path.symlink_to(kind)


ODD = ["pipe", "link to a pipe", "socket", "folder", "/dev/zero", "/dev/tty", "four gigabytes", "nowhere"]
PLACES = [".ignore", ".rgignore", "a/b/.ignore", "a/b/.rgignore", ".git/info/exclude", "a/.git/info/exclude"]
CASES = [(".gitignore", kind) for kind in ODD] + [
    ("a/b/.gitignore", kind) for kind in ("pipe", "/dev/zero", "four gigabytes")
]
CASES += [(place, "pipe") for place in PLACES]


@pytest.mark.parametrize("engine", ALL)
@pytest.mark.parametrize(("place", "kind"), CASES)
def test_what_is_no_file_says_nothing_of_what_to_leave_out_and_holds_nobody_up(
    public: Path, engine: str, place: str, kind: str
) -> None:
    for name in ("one.txt", "a/two.txt", "a/b/three.txt", "a/b/left.txt"):
        (public / name).parent.mkdir(parents=True, exist_ok=True)
        (public / name).write_text("hit\n")
    (public / "a" / ".ignore").write_text("left.txt\n")
    no_rules(public / place, kind)

    def work() -> None:
        begun = time.monotonic()
        assert [hit[0] for hit in grep(public, engine, Query("hit"))] == wanted
        assert sorted(find(public, engine, "*.txt")) == wanted
        assert time.monotonic() - begun < 15, "ripgrep alone would take 20 s each"

    wanted = ["a/b/three.txt", "a/two.txt", "one.txt"]
    work()
    if kind == "pipe":
        as_user(work)


@pytest.mark.parametrize("engine", ALL)
def test_a_repository_that_is_said_to_be_elsewhere_holds_nobody_up(tmp_path: Path, engine: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.txt").write_text("hit\n")
    (tmp_path / "a" / ".git").write_text("gitdir: ../b\n")
    no_rules(tmp_path / "b" / "commondir", "pipe")
    begun = time.monotonic()
    assert [hit[0] for hit in grep(tmp_path, engine, Query("hit"))] == ["a/one.txt"]
    assert time.monotonic() - begun < 10


def test_without_ripgrep_too_a_search_among_many_rules_ends_in_time(tmp_path: Path) -> None:
    """Each name is held against each rule: it is not enough to look at the clock once a folder."""
    (tmp_path / ".gitignore").write_text("".join(f"{number}x*y\n" for number in range(3000)))
    for number in range(5000):
        (tmp_path / f"{number}.txt").touch()
    workspace = Workspace(str(tmp_path))
    begun = time.monotonic()
    found = searcher(workspace, "python", 0.5).find(workspace.place("."), "*.txt", 10, StopToken())
    workspace.close()
    assert found.partial
    assert time.monotonic() - begun < 3
