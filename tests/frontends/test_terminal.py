"""Untrusted text cannot act on a terminal."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.host.showing import one_line, safe, shown

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


@pytest.mark.parametrize("char", ["\u202e", "\u200b", "\u2066", "\ufeff", "\U000e0041"])
def test_characters_that_hide_or_reorder_are_shown_as_escapes(char: str) -> None:
    """A person sees that something is there."""
    for out in (safe(f"rm {char}x"), shown(f"rm {char}x")):
        assert char not in out
        assert "u" in out


def test_what_is_approved_shows_every_control_character() -> None:
    """A carriage return cannot paint over the command's beginning."""
    assert shown("rm -rf x #\rls") == "rm -rf x #\\x0dls"


@given(st.binary(max_size=40))
def test_a_name_whose_bytes_are_no_text_can_be_printed_anywhere(name: bytes) -> None:
    """What Python makes of such a name cannot be encoded; its bytes are shown."""
    text = os.fsdecode(name)
    for out in (safe(text), shown(text), one_line(text)):
        out.encode()
    if all(byte >= 128 for byte in name) and not text.isprintable():
        assert all(f"\\x{ord(c) - 0xDC00:02x}" in safe(text) for c in text if 0xDC80 <= ord(c) <= 0xDCFF)
