"""The built site, judged by programs that nobody here wrote: HTML, links, accessibility, offline, print."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.peer

CHECKOUT = Path(__file__).resolve().parents[2]
NODE = CHECKOUT / ".venv/peers/node/bin"
TOOLS = CHECKOUT / ".venv/peers/site/node_modules"
SOAK = os.environ.get("WISP_SOAK") == "1"
CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run(
        [sys.executable, "book/build.py", "--out", str(out)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return out


def node(*words: str, cwd: Path | None = None) -> tuple[int, str]:
    if not TOOLS.is_dir():
        if os.environ.get("CI"):
            pytest.fail("the site's checkers are not installed: make peers-installed")
        pytest.skip("make peers-installed brings the site's checkers")
    environment = {**os.environ, "PATH": f"{NODE}:{os.environ['PATH']}"}
    program = words[0] if words[0] == "node" else str(TOOLS / ".bin" / words[0])
    done = subprocess.run(
        [program, *words[1:]], cwd=cwd, env=environment, capture_output=True, text=True, timeout=850
    )
    return done.returncode, done.stdout + done.stderr


def chromium(*words: str) -> str:
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("chromium is not installed")
        pytest.skip("needs chromium")
    # A network namespace of its own, with nothing in it: a page that asks for anything outside fails.
    command = ["unshare", "-rn", CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def pages_of(site: Path, sources: int | None = None) -> list[str]:
    """Every page; of the listings of the source, which come from one template, as many as wanted, the largest."""
    every = sorted(site.rglob("*.html"))
    listings = [path for path in every if path.relative_to(site).parts[0] == "source"]
    listings.sort(key=lambda path: -path.stat().st_size)
    return [str(path) for path in every if path not in listings] + [str(path) for path in listings[:sources]]


def test_every_page_is_valid_html(site, tmp_path):
    (tmp_path / "rules.json").write_text(json.dumps({"extends": ["html-validate:standard"], "root": True}))
    status, said = node("html-validate", "--config", str(tmp_path / "rules.json"), *pages_of(site))

    assert status == 0, said[:3_000]


def test_no_link_and_no_asset_is_dead(site):
    status, said = node("linkinator", str(site), "--recurse", "--skip", "^https?://(?!localhost|127)")

    assert status == 0, said[-3_000:]
    assert int(re.search(r"scanned (\d+) links", said)[1]) > 60


@pytest.mark.timeout(900)  # fifty pages, one of them the whole book: 90 seconds on two idle cores
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_is_accessible_and_fits_320_pixels(site, theme):
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("needs chromium")
    addresses = [f"file://{page}?theme={theme}" for page in pages_of(site, 10_000 if SOAK else 3)]
    script = str(CHECKOUT / "tests/peers/accessibility.mjs")
    status, said = node("node", script, str(TOOLS), str(CHROMIUM), *addresses)

    assert status == 0, said[-3_000:]
    seen = {one["address"]: one["issues"] for one in map(json.loads, said.splitlines())}
    assert {address: issues for address, issues in seen.items() if issues} == {}
    assert sorted(seen) == sorted(addresses)
    assert len(seen) >= 50


def test_the_check_of_accessibility_finds_what_is_wrong(tmp_path):
    """One mistake for each of the two programs and for the two questions that we ask ourselves."""
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("needs chromium")
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><html lang=en><title>A page</title><main><h1>A page</h1><img src=a.png>"
        "<p style='color: #bbb; background: #fff'>pale</p><p style='width: 400px'>wide</p>"
        "<p><button style='width: 9px; height: 9px; padding: 0'>a</button><button style='width: 9px;"
        " height: 9px; padding: 0'>b</button></p></main></html>"
    )
    script = str(CHECKOUT / "tests/peers/accessibility.mjs")
    status, said = node("node", script, str(TOOLS), str(CHROMIUM), page.as_uri())

    assert status == 0, said[-3_000:]
    issues = "\n".join(json.loads(said)["issues"])
    for expected in ("image-alt", "1_4_3", "target-size", "at 320 px the page is"):
        assert expected in issues


def test_every_word_of_the_pages_is_in_a_british_dictionary_or_in_our_list(tmp_path):
    config = CHECKOUT / "book/cspell.json"
    options = ("--no-progress", "--no-must-find-files", "--config", str(config), "--root")
    status, said = node(
        "cspell", *options, str(CHECKOUT), *json.loads(config.read_text())["files"], cwd=CHECKOUT
    )
    assert status == 0, said[-3_000:]
    assert int(re.search(r"Files checked: (\d+)", said)[1]) > 50
    planted = tmp_path / "page.md"
    text = (CHECKOUT / "book/glossary.md").read_text()
    assert "Letting a summary stand" in text
    # A slip that no list of common mistakes has.
    planted.write_text(text.replace("Letting a summary stand", "Letting a sumnary stamd"))
    status, said = node("cspell", *options, str(tmp_path), str(planted))

    assert status == 1
    assert "sumnary" in said and "stamd" in said


def test_a_page_works_without_a_network(site):
    page = chromium(
        "--virtual-time-budget=3000", "--dump-dom", f"file://{site}/chapters/01_smallest_agent.html"
    )

    assert "Step 11 of 11" in page, "the trace viewer did not start"
    assert page.count('class="copy"') > 5


def test_the_print_page_becomes_a_pdf_with_numbered_pages(site, tmp_path):
    out = tmp_path / "book.pdf"
    chromium("--no-pdf-header-footer", f"--print-to-pdf={out}", f"file://{site}/print.html")
    from pypdf import PdfReader

    pages = [page.extract_text() for page in PdfReader(out).pages]
    assert len(pages) > 60
    # Which line the number comes out as depends on what else stands on the page.
    numbered = [number for number, text in enumerate(pages, 1) if str(number) in text.split()]
    assert len(numbered) == len(pages)
    text = "\n".join(pages)
    assert "history = [*(Message" in text
    assert "1. The smallest coding agent" in text and "10. Knowing whether it works" in text
    # Nothing can be unfolded on paper: solutions stand at the end, and not before.
    chapters, _, solutions = text.partition("\nAnswers and solutions\n")
    assert "waiting = [call.id for call in row.tool_calls]" in solutions
    assert "waiting = [call.id for call in row.tool_calls]" not in chapters
    # The longest line that there is stands in one piece.
    longest = max((CHECKOUT / "examples/crafting_agents/core.py").read_text().splitlines(), key=len)
    assert len(longest) > 105
    assert any(" ".join(line.split()) == " ".join(longest.split()) for line in text.split("\n"))
