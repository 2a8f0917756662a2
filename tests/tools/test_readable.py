"""The readable text of a page: what a person would read of it, and nothing that only a browser runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.tools.readable import Page


def test_headings_lists_tables_code_and_links_are_kept() -> None:
    html = (
        "<html><head><title> A  page </title><style>x{}</style></head><body><h1>Top</h1>"
        "<p>One <b>bold</b>\n   word &amp; a <a href='/b'>link</a>.</p>"
        "<ol><li>first</li><li>second<ul><li>inner</li></ul></li></ol>"
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
        "<pre><code>def f():\n    return  1\n</code></pre></body></html>"
    )
    page = Page(html, "https://e.org/x/y")
    assert page.title == "A page"
    assert page.text == (
        "# Top\n\nOne bold word & a link (https://e.org/b).\n\n1. first\n\n2. second\n\n  - inner\n\n"
        "a | b\n\n1 | 2\n\n```\ndef f():\n    return  1\n\n```"
    )


@pytest.mark.parametrize("tag", ["script", "style", "noscript", "template", "svg", "nav", "footer", "form"])
def test_what_is_not_the_text_is_not_read(tag: str) -> None:
    assert Page(f"<p>before</p><{tag}>HIDDEN<b>HIDDEN</b></{tag}><p>after</p>").text == "before\n\nafter"


def test_the_main_part_stands_for_the_page_where_there_is_one() -> None:
    words = "word " * 60
    assert Page(f"<div>menu</div><main><p>{words}</p></main><div>ads</div>").text == words.strip()
    assert "menu" in Page("<div>menu</div><main></main><div>text</div>").text


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "#here", "file:///etc/passwd"])
def test_a_link_that_is_no_page_is_only_its_words(link: str) -> None:
    assert Page(f"<a href='{link}'>word</a>", "https://e.org").text == "word"


@given(st.text(alphabet="<>/abpreli &;\"'=!-\n", max_size=300))
def test_no_page_is_too_broken_to_be_read(html: str) -> None:
    text = Page(html).text
    assert "\x00" not in text
    assert "\x01" not in text
