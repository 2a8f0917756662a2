"""Streaming Markdown: the same lines however the text arrives, each as wide as the screen."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wisp.frontends.tui.look import DARK
from wisp.frontends.tui.markdown import Streamed, blocks

PIECES = [
    "# Title\n\n",
    "Some *text* with `code`,\nand more.\n\n",
    "- one\n- two\n  - three\n\n",
    "1. x\n1. y\n1. z\n\n",
    "9. nine\n10. ten\n",
    "> quote\n> more\n\n",
    "```python\ndef f():\n    return '''a\nb'''\n```\n",
    "~~~\nplain\n\n\ncode\n~~~\n\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "世界 e\u0301 👩‍👩‍👧 🇩🇪\n\n",
    "---\n\n",
    "Setext\n======\n",
    "    indented\n\n",
    "<b>html</b>\n\n",
    "\x1b]0;title\x07 and \x1b[31mred\n\n",
    "* other\n+ list\n",
    "```\n```x\nstill code\n```\n",
    "```\nnever closed",
    "  ```py\n  x = 1\n    y = 2\n z\n  ```\n",
    "````\n```\n````\n\n\n",
    "\n \n\n",
]
TEXT = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


def seen(streamed: Streamed) -> list[list[tuple[str, str]]]:
    """Every line with its colours."""
    return [[(part.text, str(part.style)) for part in line] for line in streamed.lines(60, DARK)]


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(TEXT, st.lists(st.integers(1, 40), min_size=1, max_size=30))
def test_the_lines_do_not_depend_on_how_the_text_was_cut(text: str, sizes: list[int]) -> None:
    """What was frozen early is what the whole text gives."""
    streamed, at, turn = Streamed(), 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        streamed.append(text[at : at + size])
        streamed.lines(60, DARK)
        at, turn = at + size, turn + 1
    streamed.finish(text)

    assert seen(streamed) == seen(Streamed(text, whole=True))


@settings(deadline=None, max_examples=60)
@given(TEXT, st.integers(1, 120))
def test_every_line_is_exactly_as_wide_as_it_was_told(text: str, width: int) -> None:
    """Wide and combining characters included; also one cell is enough."""
    widths = {line.cell_length for line in Streamed(text, whole=True).lines(width, DARK)}

    assert widths <= {width}


@settings(deadline=None)
@given(TEXT)
def test_nothing_that_drives_a_terminal_is_drawn(text: str) -> None:
    """No control character reaches a line."""
    shown = "".join(line.text for line in Streamed(text, whole=True).lines(60, DARK))

    assert not [char for char in shown if ord(char) < 32 or 127 <= ord(char) < 160]


@given(TEXT, TEXT)
def test_blocks_before_the_last_stay_when_text_follows(text: str, more: str) -> None:
    """The promise on which freezing rests."""
    before, after = blocks(text), blocks(text + more)

    assert before[:-1] == after[: max(0, len(before) - 1)]


def test_a_list_counts_on_across_items_that_were_frozen() -> None:
    """CommonMark: only the first number counts."""
    lines = Streamed("3. a\n3. b\n3. c\n", whole=True).lines(60, DARK)
    assert [line.text for line in lines] == [f"{f' {n} {c}':60}" for n, c in ((3, "a"), (4, "b"), (5, "c"))]


def test_a_link_that_is_explained_later_is_a_link_in_the_end() -> None:
    """The whole text is drawn again where it explains links."""
    streamed = Streamed()
    for piece in ("See [the page][1].\n\n", "More.\n\n", "[1]: https://example.org/x\n"):
        streamed.append(piece)
        streamed.lines(60, DARK)
    streamed.finish(streamed.text)

    assert "the page (https://example.org/x)" in streamed.lines(60, DARK)[0].text


@pytest.mark.slow
@pytest.mark.parametrize(
    "block", [PIECES[1], PIECES[2], "```python\n" + "x = [1, 2]  # note\n" * 20 + "```\n"]
)
def test_twice_the_text_costs_about_twice_the_lines_drawn(block: str) -> None:
    """Work grows with the length of a reply, not with its square.  Counted in CPU time of one process."""

    def cost(times: int) -> float:
        text, streamed = block * times, Streamed()
        begin = time.process_time()
        for at in range(0, len(text), 40):
            streamed.append(text[at : at + 40])
            streamed.lines(80, DARK)
        return time.process_time() - begin

    cost(5)
    small, large = min(cost(20) for _ in range(2)), min(cost(80) for _ in range(2))

    assert large < small * 4 * 2.2  # four times the text; a square would be sixteen times the work
