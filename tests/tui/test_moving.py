"""What the terminal is made to move and what is drawn again: the same rows as if all were drawn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from wisp.frontends.tui.transcript import different, distance

WIDE = 12
STYLES = [Style.parse(name) for name in ("red", "bold", "on blue")]


def strip(pieces: list[tuple[str, Style]]) -> Strip:
    """A row of `WIDE` cells."""
    segments = [Segment(text, style) for text, style in pieces if text]
    return Strip(segments).adjust_cell_length(WIDE, STYLES[0]).simplify()


def cells(row: Strip | None) -> list[tuple[str, str]]:
    """Each cell's character and style; a wide character's second cell is empty."""
    out: list[tuple[str, str]] = []
    for segment in row or []:
        for char in segment.text:
            out += [(char, str(segment.style)), *[("", str(segment.style))] * (Segment(char).cell_length - 1)]
    return out


rows = st.lists(
    st.tuples(st.text("ab 漢é", max_size=8), st.sampled_from(STYLES)), min_size=1, max_size=4
).map(strip)


@given(rows, rows)
def test_a_row_of_which_only_the_different_cells_are_drawn_is_the_new_row(old: Strip, new: Strip) -> None:
    """Whatever stood there before; what is left over on the right is the same in both."""
    end = different(old, new)
    drawn = cells(new.crop(0, end)) + cells(old)[end:]

    assert drawn == cells(new)


def test_a_row_to_which_a_word_was_added_is_drawn_to_its_last_letter() -> None:
    """What is empty after it is not written again."""
    red = STYLES[0]

    assert different(strip([("one", red)]), strip([("one two", red)])) == 7
    assert different(strip([("one", red)]), strip([("one", red)])) == 0


@given(
    st.lists(st.integers(0, 5), min_size=8, max_size=8),
    st.integers(0, 8),
    st.integers(0, 1),
)
def test_rows_that_went_up_are_known_by_their_distance(start: list[int], count: int, first: int) -> None:
    """And where most went up by none, nothing is said to have moved."""
    before = [strip([(f"{number}", STYLES[0])]) for number in start]
    new = [strip([("new", STYLES[1])]) for _ in range(count)]
    after = [*before[:first], *before[first + count :], *new][: len(before)]
    kept = len(before) - first - count

    assert distance(before, after, first) == (count if kept > len(before) / 3 else 0)
