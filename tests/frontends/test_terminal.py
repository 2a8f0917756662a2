"""Untrusted text cannot act on a terminal."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.host.showing import (
    Shown,
    beginning,
    coloured,
    inert,
    lines,
    named,
    one_line,
    safe,
    shown,
    trimmed,
)

ACTS = [
    "\x1b[2J",
    "\x1b[1;1H",
    "\x1b]0;title\x07",
    "\x1b]52;c;aGk=\x1b\\",
    "\x1b]8;;http://x\x07link\x1b]8;;\x07",
    "\x1b[?1049h",
    "\x1bc",
    "\x1b(0",
    "\x9b2J",
    "\x90q\x9c",
    "\x07",
    "\x08",
    "\x0e",
    "\x7f",
    "a\rb",
    "\x1b[6n",
    "\x1bP+q\x1b\\",
    "\x1b[200~",
    "\x1b",
    "\x1b]unterminated",
]


@pytest.mark.parametrize("text", ACTS, ids=repr)
def test_sequences_and_controls_do_not_pass(text: str) -> None:
    """Nothing below space but line feed and tab, no delete, no C1."""
    for out in (safe("a" + text + "z"), shown("a" + text + "z"), one_line("a" + text + "z")):
        assert not [c for c in out if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160]


@given(st.text(max_size=200))
def test_no_text_whatever_leaves_a_control_character(text: str) -> None:
    """For any input, also in pieces that cut a sequence."""
    for out in (safe(text), safe(text[:7]) + safe(text[7:]), shown(text)):
        assert not [c for c in out if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160]


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"], max_codepoint=0x2FFF), max_size=80))
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    """Letters, numbers, punctuation, symbols."""
    assert text == safe(text)


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
        "\U0001f1e9\U0001f1ea",
        "\u2764\ufe0f\u200d\U0001f525",
        "\U0001f44d\U0001f3fd",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian
        "\u0915\u094d\u200d\u0937",  # Hindi
        "\u0e01\u0e33 e\u0301",
    ],
)
def test_what_scripts_and_emoji_are_written_with_stays_whole_and_in_pieces(text: str) -> None:
    assert safe(text) == text
    assert "".join(safe(char) for char in text if char < "\U000e0000") == "".join(
        char for char in text if char < "\U000e0000"
    )


@pytest.mark.parametrize(
    "text", ["rm \u200dx", "a\u200cb", "\u0645\u200d x", "\U000e0067\U000e007f", "x\u200d\u200d"]
)
def test_a_joiner_where_nothing_is_joined_and_a_loose_tag_are_shown_as_escapes(text: str) -> None:
    assert "\\u{" in safe(text)
    assert all(ord(char) < 0x200B or ord(char) == 0x645 for char in safe(text))


def test_what_would_be_written_over_an_earlier_part_stands_on_the_next_line() -> None:
    assert safe("rm -rf x\rls       ") == "rm -rf x\nls       "
    assert safe("a\r\nb") == "a\nb"


def test_marks_piled_on_a_letter_are_eight_at_most() -> None:
    """So that they cover no other line."""
    assert safe("a" + "\u0301" * 10_000 + "b") == "a" + "\u0301" * 8 + "b"


@pytest.mark.parametrize("char", ["\u202e", "\u200b", "\u2066", "\ufeff", "\U000e0041"])
def test_characters_that_hide_or_reorder_are_shown_as_escapes(char: str) -> None:
    """A person sees that something is there."""
    for out in (safe(f"rm {char}x"), shown(f"rm {char}x")):
        assert char not in out
        assert "u" in out


def test_what_is_approved_shows_every_control_character() -> None:
    """A carriage return cannot paint over the command's beginning."""
    assert shown("rm -rf x #\rls") == "rm -rf x #\\x0dls"


@pytest.mark.parametrize(
    "char",
    "\u034f\u115f\u1160\u17b4\u180b\u180e\u2800\u3164\ufe00\ufe0f\uffa0\u00ad\u00a0\u3000\u2028\U000e0100\U0001d173",
)
def test_in_what_is_approved_nothing_looks_like_a_space_or_like_nothing(char: str) -> None:
    """Letters too: `rm a\u3164b` reads like two names."""
    out = shown(f"rm a{char}b")
    assert out.isascii() and out.isprintable()
    assert f"{ord(char):x}" in out
    assert out.split(" ") == ["rm", out[3:]], "one name still"


def test_an_emoji_in_what_is_approved_stays_one() -> None:
    assert shown("say \u2764\ufe0f \u26a0\ufe0f") == "say \u2764\ufe0f \u26a0\ufe0f"


@given(st.binary(max_size=40))
def test_a_name_whose_bytes_are_no_text_can_be_printed_anywhere(name: bytes) -> None:
    """What Python makes of such a name cannot be encoded; its bytes are shown."""
    text = os.fsdecode(name)
    for out in (safe(text), shown(text), one_line(text)):
        out.encode()
    if all(byte >= 128 for byte in name) and not text.isprintable():
        assert all(f"\\x{ord(c) - 0xDC00:02x}" in safe(text) for c in text if 0xDC80 <= ord(c) <= 0xDCFF)


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
        "\U0001f3f3\ufe0f\u200d\U0001f308",  # a flag with a variation selector
        "\U0001f937\U0001f3fd\u200d\u2642\ufe0f",  # a skin tone
        "\U0001f642\u200d\u2194\ufe0f",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian
        "\u0915\u094d\u200d\u0937",  # Devanagari, after a virama
    ],
)
def test_joiners_stay_where_writing_needs_them(text: str) -> None:
    """Emoji that are put together, scripts that join (RFC 5892, A.1 and A.2)."""
    assert safe(f"a {text} b") == f"a {text} b"


@pytest.mark.parametrize(
    "text",
    ["ab\u200dc", "\u200dx", "x\u200d", "pay\u200cpal", "1\u200d2", "\U0001f468\u200da", "a\u200d\U0001f468"],
)
def test_joiners_that_join_nothing_are_shown(text: str) -> None:
    """They hide in names."""
    assert "\\u{200" in safe(text)


HOSTILE = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(
            [*ACTS, "\x00", "\udc9b", "\ud800", "\u202e", "\u200d", "\u0301", "\u0915", "\U0001f3f4"]
        ),
        st.sampled_from(["\U000e0067\U000e0062\U000e007f", "\U0001f468\u200d\U0001f469", "\n", "\t", " "]),
    ),
    max_size=24,
).map("".join)


@given(HOSTILE)
def test_what_is_safe_stays_as_it_is(text: str) -> None:
    """So that a line may be made safe piece by piece, and again as a whole."""
    assert safe(safe(text)) == safe(text)
    assert inert(inert(text)) == inert(text)
    for made in (shown(text), named(text), one_line(text), one_line(text, 7)):
        assert safe(made) == made
    assert coloured(f"\x1b[1m{safe(text)}\x1b[0m") == f"\x1b[1m{safe(text)}\x1b[0m"


@given(HOSTILE, st.integers(0, 40))
def test_pieces_of_what_is_safe_are_safe(text: str, most: int) -> None:
    whole = safe(text)
    assert "\n".join(lines(whole)) == whole.rstrip("\n")
    assert whole.startswith(beginning(whole, most))
    for piece in (beginning(whole, most), trimmed(whole), *lines(whole)):
        assert safe(piece) == piece


@given(HOSTILE)
def test_no_name_makes_a_further_line(text: str) -> None:
    for made in (named(text), one_line(text)):
        assert len(made.splitlines()) <= 1
        made.encode()


@pytest.mark.parametrize("text", ACTS, ids=repr)
def test_of_what_is_coloured_only_the_colours_drive(text: str) -> None:
    """Even if what was coloured had not been made safe."""
    out = coloured(f"a\x1b[1;36m{text}\x1b[0mz")
    assert out.startswith("a\x1b[1;36m") and not [
        c for c in out.replace("\x1b[", "") if ord(c) < 32 and c != "\n"
    ]
    assert coloured("\x1b[2Ja") == "a"


def test_marks_piled_on_a_letter_are_seen_where_something_is_approved() -> None:
    """They would cover the lines around it, as the operation itself."""
    assert shown("a" + "\u0301" * 10) == "a" + "\u0301" * 8 + "\\u{301}" * 2


def test_the_type_costs_nothing() -> None:
    text = "x"
    assert Shown(text) is text


def test_nothing_that_python_can_print_drives_or_hides() -> None:
    """By which the common case is quick."""
    assert [char for char in map(chr, range(0x110000)) if char.isprintable() and safe(char) != char] == []
