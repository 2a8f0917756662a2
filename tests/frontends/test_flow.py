"""Markdown on a terminal as it arrives: nothing printed changes, nothing is lost, and marks mean what they mean."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from wisp.frontends.cli.flow import HOLD, Flow

SGR = re.compile("\x1b\\[[0-9;]*m")


def shown(*pieces: str, width: int = 80) -> str:
    flow = Flow(width)
    return "".join(map(flow.feed, pieces)) + flow.close()


def bare(text: str) -> str:
    return SGR.sub("", text)


def cells(text: str) -> list[tuple[str, str]]:
    """Each character with the style it is printed in: what a terminal would hold."""
    found, style, place = [], "", 0
    for match in SGR.finditer(text):
        found += [(char, style) for char in text[place : match.start()]]
        style = "" if match[0] == "\x1b[0m" else match[0]
        place = match.end()
    assert style == "", "it leaves the terminal as it found it"
    return found + [(char, "") for char in text[place:]]


MARKED = st.lists(
    st.sampled_from(
        ["word", " ", " ", "\n", "\n\n", "*", "**", "***", "_", "__", "`", "``", "~~", "[", "](", ")", "!", "\\", "|", "a", "1. ",
         "- ", "# ", "> ", "```", "```\n", "| a | b |\n", "|---|:-:|\n", "---\n", "漢字", "snake_case", "2*3"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@settings(deadline=None, max_examples=400)
@given(MARKED, st.randoms(use_true_random=False))
def test_it_does_not_matter_in_which_pieces_it_arrives(text: str, chance: object) -> None:
    """Down to single characters: what is printed early is what would be printed late."""
    cuts = sorted(chance.sample(range(len(text) + 1), min(len(text), 5)))  # type: ignore[attr-defined]
    pieces = [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert cells(shown(*pieces)) == cells(shown(text)) == cells(shown(*text))


@settings(deadline=None)
@given(MARKED)
def test_no_word_is_lost_or_made_up(text: str) -> None:
    """Letters and digits come out in their order, whatever the marks."""
    letters = re.compile(r"[^\W_]")
    assert letters.findall(bare(shown(text))) == letters.findall(text)


@given(
    st.text(
        st.characters(exclude_characters="\\`*_~[]!#-+>|0123456789\n", exclude_categories=["Cc", "Cs", "Zs"]),
        max_size=200,
    )
)
def test_text_without_marks_is_left_as_it_is(text: str) -> None:
    assert shown(text) == text


WORD = st.text("abcde", min_size=1, max_size=5)
INLINE = st.recursive(
    WORD,
    lambda inner: st.one_of(
        inner.map(lambda x: f"**{x}**"), WORD.map(lambda x: f"`{x}`"), WORD.map(lambda x: f"[{x}](http://h/{x})"),
        WORD.map(lambda x: f"*{x}*"), WORD.map(lambda x: f"~~{x}~~"), WORD.map(lambda x: f"_{x}_"),
    ),
    max_leaves=3,
)  # fmt: skip
PARAGRAPH = st.lists(INLINE, min_size=1, max_size=6).map(" ".join)


def reference(text: str) -> list[tuple[str, frozenset[str]]]:
    """The words and their styles as `markdown-it` reads them, one letter a style."""
    out, on = list[tuple[str, frozenset[str]]](), set[str]()
    [inline] = [t for t in MarkdownIt("commonmark").enable("strikethrough").parse(text) if t.type == "inline"]
    link = ""
    for token in inline.children or []:
        kind, _, end = token.type.rpartition("_")
        if token.type == "link_open":
            link = str(token.attrs["href"])
        if end == "open":
            on.add(kind)
        elif end == "close":
            on.discard(kind)
            if kind == "link":
                out += [(char, frozenset({"dim"})) for char in f" ({link})"]
        elif token.type in ("text", "code_inline"):
            more = {"code"} if token.type == "code_inline" else set()
            out += [(char, frozenset(on | more)) for char in token.content]
    return out


NAMED = {"1": "strong", "3": "em", "9": "s", "36": "code", "4": "link", "2": "dim"}


@settings(deadline=None, max_examples=300)
@given(PARAGRAPH)
def test_emphasis_code_and_links_are_what_the_reference_says(text: str) -> None:
    """The reference is `markdown-it`; nested marks of one kind are left to it."""
    ours = [
        (char, frozenset(NAMED[code] for code in style[2:-1].split(";") if code))
        for char, style in cells(shown(text))
    ]
    if not re.search(r"\*{3,}|\*\*[^ ]*\*\*[^ ]*\*\*", text):
        assert ours == reference(text)


def test_a_plain_word_is_printed_at_once_and_a_mark_when_it_is_closed() -> None:
    flow = Flow(80)
    assert flow.feed("The ") == "The "
    assert flow.feed("file `a") == "file "
    assert flow.feed(".py` is") == "\x1b[36ma.py\x1b[0m is"
    assert flow.feed(" here\n# T") == " here\n\x1b[1;4mT\x1b[0m"


def test_a_mark_that_is_never_closed_does_not_hold_the_answer_back_for_ever() -> None:
    flow = Flow(80)
    printed = flow.feed("`" + "word " * (HOLD // 5 + 2))
    assert printed.startswith("`word word")


def test_code_is_printed_as_it_is_and_its_fence_stays() -> None:
    """Marks mean nothing in it, and a longer fence is not closed by a shorter one."""
    text = "````python\nx = 2 **3** # `a`\n```\n| a |\n````\n**b**\n"
    assert bare(shown(text)) == text.replace("**b**", "b")
    assert bare(shown(*text)) == bare(shown(text))


def test_a_table_is_aligned_where_it_fits_and_left_alone_where_it_does_not() -> None:
    """Widths are columns: a Chinese character takes two."""
    text = "| a | name |\n|---|---|\n| 22 | **x** |\n| 漢字 | y |\n\nafter"
    assert bare(shown(*text)).split("\n") == ["a    │ name", "─────┼─────", "22   │ x", "漢字 │ y", "", "after"]  # fmt: skip
    assert bare(shown(text, width=10)) == text.replace("**", "")


@pytest.mark.parametrize(
    "text", ["a\\*b", "2 * 3 * 4", "snake_case_name", "** not **", "`open", "[x] y", "[x](", "!"]
)
def test_what_is_no_mark_stays(text: str) -> None:
    assert bare(shown(text)) == text.replace("\\*", "*")
