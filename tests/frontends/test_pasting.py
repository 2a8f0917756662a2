"""Lines of a terminal: a paste in brackets is one line, whatever it holds and however it is cut."""

from __future__ import annotations

import random

from wisp.frontends.cli.pasting import BEGIN, END, Lines


def _all(lines: Lines) -> list[str]:
    found = []
    while (line := lines.take()) is not None:
        found.append(line)
    return found


def test_typed_lines_are_lines_and_a_paste_is_part_of_one() -> None:
    """However the bytes are cut."""
    data = (
        b"one\n"
        + b"before "
        + BEGIN
        + b"a\r\nb\nc"
        + END
        + b" after\n\ntwo\r\n"
        + BEGIN
        + b"x\n"
        + END
        + b"\n"
    )
    wanted = ["one", "before a\nb\nc after", "", "two", "x"]
    for seed in range(200):
        rng, lines, at, found = random.Random(seed), Lines(), 0, []
        while at < len(data):
            step = rng.randint(1, 9)
            lines.feed(data[at : at + step])
            at += step
            found += _all(lines)
        assert found == wanted, seed


def test_nothing_is_taken_from_a_paste_that_has_not_ended() -> None:
    """Until it is said that nothing more comes: then all of it is one line."""
    lines = Lines()
    lines.feed(BEGIN + b"a\nb\n")
    assert lines.pasting and lines.take() is None

    assert lines.take(all_=True) == "a\nb"
    assert not lines.pasting


def test_what_was_typed_without_an_end_is_a_line_at_the_end_of_input() -> None:
    """As before pastes were known."""
    lines = Lines()
    lines.feed(b"last")

    assert lines.take() is None
    assert lines.take(all_=True) == "last"
    assert lines.take(all_=True) is None
