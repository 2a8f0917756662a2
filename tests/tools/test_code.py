"""Code is found by its structure and outlined by rank, in bounds; without the extra nothing is offered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools.conftest import Bench

from wisp.tools.code import _ENDINGS, DEFINITIONS, Source, definitions

APP = """
class Engine:
    def start(self, key):
        return helper(key,
                      2)

def helper(a, b):
    return a
"""


@pytest.fixture
def code(tmp_path: Path) -> Bench:
    (tmp_path / "w" / "sub").mkdir(parents=True)
    bench = Bench(tmp_path / "w", tmp_path / "spool", code=True)
    (bench.folder / "app.py").write_text(APP)
    (bench.folder / "sub" / "one.py").write_text("from app import helper\nhelper(1, 2)\n")
    (bench.folder / "sub" / "two.py").write_text("import app\napp.helper( 3,4 )\ndef lonely(): pass\n")
    (bench.folder / "x.js").write_text("function helper(a, b) { return 1 }\n")
    return bench


def test_a_pattern_finds_calls_whatever_their_layout_in_its_language_alone(code: Bench) -> None:
    """The expected places are where the text says so; a call over two lines is one match."""
    text = code.call("code_search", pattern="helper($$$)", language="python").text

    assert text.split("\n") == ["app.py:4: helper(key,  [+1 line]", "sub/one.py:2: helper(1, 2)"]
    assert code.call("code_search", pattern="helper($A, $B)", language="python", path="sub/one.py").text == (
        "sub/one.py:2: helper(1, 2)"
    )
    found = code.call("code_search", pattern="function $F($$$) { $$$ }", language="javascript").text
    assert found == "x.js:1: function helper(a, b) { return 1 }"


def test_results_are_limited_and_that_is_said(code: Bench) -> None:
    """One of many."""
    (code.folder / "many.py").write_text("print(1)\n" * 500)

    rows = code.call("code_search", pattern="print($A)", language="python", max_results=3).text.split("\n")

    assert rows == [
        *(f"many.py:{n}: print(1)" for n in (1, 2, 3)),
        "[the first 3; narrow the pattern or path]",
    ]


@pytest.mark.parametrize("language", ["objc", "nonsense", "", "Python", "../x"])
def test_an_unknown_language_is_refused_before_the_library_hears_of_it(code: Bench, language: str) -> None:
    """It would end the thread."""
    outcome = code.call("code_search", pattern="x", language=language)

    assert outcome.code == "invalid_arguments"


def test_ignored_protected_large_and_undecodable_files_are_left_out(code: Bench) -> None:
    """As for grep."""
    (code.folder / ".gitignore").write_text("ignored/\n")
    (code.folder / "ignored").mkdir()
    for path, data in {
        "ignored/a.py": b"secret(1)\n",
        "big.py": b"secret(1)\n" * 200_000,
        "latin.py": b"secret(1) # \xff\n",
        "good.py": b"secret(1)\n",
    }.items():
        (code.folder / path).write_bytes(data)

    assert code.call("code_search", pattern="secret($A)", language="python").text == "good.py:1: secret(1)"


def test_the_map_shows_what_most_files_name_first_and_keeps_to_its_budget(code: Bench) -> None:
    """`helper` is named in four files, `lonely` in one."""
    whole = code.call("code_map").text
    assert whole.split("\n")[0] == "app.py"
    assert (
        "  7: def helper(a, b)" in whole
        and "  2: class Engine" in whole
        and "  3: def lonely(): pass" in whole
    )

    (code.folder / "many.py").write_text("".join(f"def function_{n}(argument): pass\n" for n in range(2000)))
    small = code.call("code_map", tokens=100).text
    assert len(small) <= 400
    assert "def helper(a, b)" in small and "definitions more" in small


@pytest.mark.parametrize("language", sorted(DEFINITIONS))
def test_every_language_of_the_map_knows_its_kinds(language: str) -> None:
    """A wrong name of a kind would be refused by the library."""
    assert language in _ENDINGS
    definitions(Source("f", language, "x"))


def test_deep_nesting_ends_neither_the_thread_nor_the_program(code: Bench) -> None:
    """Open brackets by the hundred thousand."""
    (code.folder / "deep.py").write_text("f(" * 100_000 + ")" * 100_000)

    outcome = code.call("code_search", pattern="helper($$$)", language="python")

    assert "app.py:4" in outcome.text


def test_the_library_is_not_loaded_before_a_call(tmp_path: Path) -> None:
    """Offering the tools costs no import of it."""
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from pathlib import Path
from tools.conftest import Bench
bench = Bench(Path({str(tmp_path)!r}), Path({str(tmp_path / "spool")!r}), code=True)
assert {{"code_search", "code_map"}} <= set(bench.tools)
print("ast_grep_py" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
