"""Pages agree with the code: stale listings, transcripts, regions and links make the build fail."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
AGENT = "examples/crafting_agents"

pytestmark = pytest.mark.process


@pytest.fixture(scope="session")
def pristine(tmp_path_factory):
    """What the pages are built from."""
    root = tmp_path_factory.mktemp("book") / "checkout"
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in ("book", "docs", "examples", "src"):
        shutil.copytree(CHECKOUT / name, root / name, ignore=ignore)
    return root


@pytest.fixture
def checkout(pristine, tmp_path):
    """A copy that a test may spoil; files are linked until they are replaced."""
    root = tmp_path / "checkout"
    shutil.copytree(pristine, root, copy_function=os.link)
    return root


def replace(root: Path, file: str, old: str, new: str) -> None:
    path = root / file
    text = path.read_text()
    assert text.count(old) >= 1, f"{file} has no {old!r}"
    path.unlink()
    path.write_text(text.replace(old, new, 1))


def run(root: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, *words], cwd=root, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def test_every_listing_and_transcript_is_fresh():
    status, said = run(CHECKOUT, "book/weave.py", "check")

    assert status == 0, said


def test_every_executable_line_of_the_teaching_agent_is_in_some_chapter():
    status, said = run(CHECKOUT, "book/weave.py", "coverage")

    assert (status, said) == (0, "0 executable lines are in no chapter\n")


SPOILED = {
    "a listed line": (f"{AGENT}/core.py", "history.append(answer)", "history.append( answer)"),
    "a listed comment": (f"{AGENT}/core.py", "# A copy, so", "# One copy, so"),
    "a region's name": (f"{AGENT}/workbench.py", "# region: exact edit", "# region: edit"),
    "a region's end": (f"{AGENT}/side_effects.py", "# endregion: policy", "# endregion: rules"),
    "a function's name": (f"{AGENT}/window.py", "def choose_cut(", "def choose_a_cut("),
    "what a command prints": (f"{AGENT}/checkpoint_01.py", 'print(f"stopped: ', 'print(f"ended: '),
    "a transcript": ("book/chapters/01_smallest_agent.md", "stopped: model_finished", "stopped: solved"),
    "a listing on the page": ("book/chapters/05_side_effects.md", "class Policy:", "class Rules:"),
    "a selector on the page": ("book/chapters/02_reading_editing_testing.md", "#dispatch", "#despatch"),
    "an exercise": (f"{AGENT}/exercises/1.1/starter.py", "Locate the function.", "Find the function."),
    "a link to a source": ("book/chapters/01_smallest_agent.md", "#run_agent_loop", "#run_loop"),
    "a symbol of the product": (
        "src/wisp/loop/runner.py",
        "async def run_agent_loop(",
        "async def agent_loop(",
    ),
    "a link to a page": ("book/index.md", "chapters/03_useful_context.md", "chapters/03_context.md"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", SPOILED)
def test_changing_this_makes_the_build_fail_and_names_the_page(checkout, tmp_path, what):
    file, old, new = SPOILED[what]
    replace(checkout, file, old, new)
    # What only a run can show is looked for on one page; the build runs the commands of all of them.
    one_page = ("book/weave.py", "check", "book/chapters/01_smallest_agent.md")
    build = ("book/build.py", "--out", str(tmp_path / "site"))
    status, said = run(checkout, *(one_page if "command" in what or what == "a transcript" else build))

    assert status == 1, said
    assert ".md" in said
    assert "Traceback" not in said


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("built") / "site"
    status, said = run(CHECKOUT, "book/build.py", "--out", str(out))
    assert status == 0, said
    return out


def test_ten_chapters_two_studies_guide_and_reference_are_pages(site):
    chapters = sorted(path.name[:2] for path in (site / "chapters").glob("*.html"))

    assert chapters == [f"{number:02}" for number in range(1, 11)]
    assert len(list((site / "case_studies").glob("*.html"))) == 2
    assert {path.stem for path in (site / "guide").glob("*.html")} >= {"sandbox", "providers"}
    assert {path.stem for path in (site / "reference").glob("*.html")} >= {"cli", "settings", "events"}


def test_no_page_asks_for_anything_from_outside(site):
    asked = re.compile(
        r"""(?:src|srcset|data|poster)=["']?(?:https?:)?//|<link[^>]+href=["']?(?:https?:)?//|@import|url\(["']?(?:https?:)?//"""
    )
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css", ".js", ".svg")]

    assert len(files) > 40
    assert [path.name for path in files if asked.search(path.read_text())] == []


def test_every_internal_link_and_anchor_exists(site):
    missing = []
    anchors = {path: set(re.findall(r'\bid="([^"]+)"', path.read_text())) for path in site.rglob("*.html")}
    for path in anchors:
        for target in re.findall(r'(?:href|src)="([^"]+)"', path.read_text()):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            other = (path.parent / name).resolve() if name else path
            if not other.is_file() or (anchor and other.suffix == ".html" and anchor not in anchors[other]):
                missing.append((path.name, target))

    assert missing == []


def test_each_chapter_reads_in_twenty_to_forty_minutes(site):
    for path in sorted((site / "chapters").glob("*.html")):
        minutes = int(re.search(r"About (\d+) minutes", path.read_text())[1])
        assert 20 <= minutes <= 40, (path.name, minutes)


def test_each_chapter_has_the_six_parts_and_retires_an_item_of_the_last_list():
    parts = [
        "## A problem",
        "## The mechanism",
        "## The trace",
        "## Break an assumption",
        "## Wisp's choice",
        "## Checkpoint",
    ]
    for path in sorted((CHECKOUT / "book/chapters").glob("*.md")):
        text = path.read_text()
        places = [text.index(f"\n{part}") for part in parts]
        assert places == sorted(places)
        assert "### Not yet guaranteed" in text[places[-1] :]
        if not path.name.startswith("01"):
            assert re.search(r"last list|the list of|two things off", text[: places[1]]), path.name


def test_a_listing_is_followed_by_prose():
    for path in sorted((CHECKOUT / "book/chapters").glob("*.md")):
        text = path.read_text()
        for found in re.finditer(r"^```python listing=.*?^```\n", text, re.MULTILINE | re.DOTALL):
            after = text[found.end() :].lstrip("\n")
            assert not after.startswith(("```python", "#", "<!--")), f"{path.name}: {found[0][:60]}"


def test_a_listing_has_no_line_that_a_window_of_1280_pixels_would_cut():
    """110 characters fit beside the list of pages, which the style sheet is made for."""
    for path in sorted((CHECKOUT / "book/chapters").glob("*.md")):
        for found in re.finditer(r"^```python .*?^```\n", path.read_text(), re.MULTILINE | re.DOTALL):
            assert [line for line in found[0].splitlines() if len(line) > 110] == [], path.name


def test_traces_are_whole_tables_without_a_script(site):
    page = (site / "chapters/01_smallest_agent.html").read_text()
    table = page[page.index('<div class="trace"') :]
    table = table[: table.index("</table>")]

    assert table.count("<tr>") == 1 + 11
    assert "use read with path=&#x27;calculator.py&#x27;" in table
