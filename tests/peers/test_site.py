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
CHROMIUM = shutil.which("chromium")
STANDARD = (
    "index",
    "chapters/01_smallest_agent",
    "chapters/08_context_window",
    "case_studies/earning_a_native_boundary",
    "guide/sessions",
    "reference/settings",
)


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
    program = str(TOOLS / ".bin" / words[0])
    done = subprocess.run(
        [program, *words[1:]], cwd=cwd, env=environment, capture_output=True, text=True, timeout=400
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


def test_every_page_is_valid_html(site, tmp_path):
    (tmp_path / "rules.json").write_text(json.dumps({"extends": ["html-validate:standard"], "root": True}))
    pages = [str(path) for path in site.rglob("*.html") if "source" not in path.relative_to(site).parts]
    status, said = node("html-validate", "--config", str(tmp_path / "rules.json"), *pages)

    assert status == 0, said[:3_000]


def test_no_link_and_no_asset_is_dead(site):
    status, said = node("linkinator", str(site), "--recurse", "--skip", "^https?://(?!localhost|127)")

    assert status == 0, said[-3_000:]
    assert int(re.search(r"scanned (\d+) links", said)[1]) > 60


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", STANDARD)
def test_pages_are_accessible_in_both_themes(site, tmp_path, page, theme):
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("needs chromium")
    config = {
        "standard": "WCAG2AA",
        "runners": ["axe", "htmlcs"],
        "timeout": 90_000,
        "chromeLaunchConfig": {"executablePath": CHROMIUM, "args": ["--no-sandbox"]},
    }
    (tmp_path / "pa.json").write_text(json.dumps(config))
    status, said = node(
        "pa11y", "--config", str(tmp_path / "pa.json"), f"file://{site}/{page}.html?theme={theme}"
    )

    assert status == 0, said[-3_000:]


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

    assert "Step 8 of 8" in page, "the trace viewer did not start"
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
