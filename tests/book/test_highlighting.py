"""Listings are split into lines for narrow windows; what one reads and copies must still be the source."""

import re
import sys
from html import unescape
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "book"))

from changes import changes_before  # noqa: E402
from highlighting import highlighted  # noqa: E402

SOURCES = sorted((CHECKOUT / "examples/crafting_agents").glob("*.py"))


def text_of(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", html))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_text_of_a_listing_is_the_source_and_each_line_an_element(path):
    code = path.read_text()
    html = highlighted(code, "python")
    assert text_of(html) == code.strip("\n") + "\n"
    rows = re.findall(r'<span class="row d(\d+)">', html)
    lines = code.strip("\n").split("\n")
    assert [int(depth) for depth in rows] == [len(line) - len(line.lstrip(" ")) for line in lines]


def test_no_line_of_what_changed_is_followed_by_an_empty_one_that_is_not_in_it():
    html = changes_before(2)
    between = re.search(r"<code>(.*?)</code>", html[html.index("<pre") :], re.DOTALL)[1]
    assert re.sub(r'<span class="row [^>]*>[^<]*\n</span>', "", between) == ""


def test_a_drawing_is_left_as_it_is():
    drawing = "+--+\n|  |\n+--+"
    assert (
        "row" not in highlighted(drawing, "console") and text_of(highlighted(drawing, "console")) == drawing
    )


def test_an_option_of_a_command_is_one_piece():
    assert '<span class="option">--scenario</span>' in highlighted("$ wisp --scenario x\n--no\n", "console")
