"""Words: a term is written in one way, and a misspelling is found, in the pages and in the code."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
TERMS = CHECKOUT / "book" / "terms.py"
CODESPELL = Path(sys.executable).with_name("codespell")

pytestmark = pytest.mark.process


def run(*words: str | Path) -> tuple[int, str]:
    done = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_page_writes_the_terms_as_the_glossary_does():
    assert run(sys.executable, TERMS) == (0, "")


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("the front-end sends", "front end"),
        ("Two frontends look", "front end"),
        ("a tool-call and its result", "tool call"),
        ("ToolCalls in prose", "tool call"),
        ("a followup comes", "follow-up"),
        ("one follow\nup more", "follow-up"),
        ("the Audit-log says", "audit log"),
        ("a filesystem", "file system"),
    ],
)
def test_a_term_that_is_written_otherwise_is_named_with_its_line(tmp_path, written, right):
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\nThe line before.\n{written}.\n")
    status, said = run(sys.executable, TERMS, page)

    assert (status, said.splitlines()[0].partition(": ")[0]) == (1, f"{page}:4")
    assert f"is written {right!r}" in said


def test_code_and_links_may_hold_any_name(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "`frontends` and [a module](../src/wisp/frontends/wire.py).\n\n```text\ntool-call\n```\n\nA tool call.\n"
    )

    assert run(sys.executable, TERMS, page) == (0, "")


def test_code_and_pages_hold_no_known_misspelling():
    assert run(CODESPELL) == (0, "")


@pytest.mark.parametrize("file", ["book/chapters/01_smallest_agent.md", "examples/crafting_agents/core.py"])
def test_a_planted_misspelling_makes_the_check_fail(tmp_path, file):
    text = (CHECKOUT / file).read_text()
    assert "receive" not in text
    planted = tmp_path / Path(file).name
    planted.write_text(f"{text}\n# We shall recieve it.\n")
    status, said = run(CODESPELL, "--toml", CHECKOUT / "pyproject.toml", planted)

    assert status != 0
    assert "recieve ==> receive" in said
