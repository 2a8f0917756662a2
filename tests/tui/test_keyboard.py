"""What terminals send for keys and pastes, whole and cut anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser

from wisp.frontends.tui.keyboard import Keyboard


def read(pieces: list[str], *, quiet: bool = False) -> list[tuple[str, str]]:
    """What the pieces come to: `(key, name)` and `(paste, text)`."""
    keyboard, parser = Keyboard(), XTermParser()
    text = "".join(keyboard.feed(piece) for piece in pieces) + (
        keyboard.silence() if quiet else keyboard.release()
    )
    return [
        ("paste", event.text) if isinstance(event, events.Paste) else ("key", event.key)
        for event in [*parser.feed(text), *parser.feed("")]
        if isinstance(event, events.Key | events.Paste)
    ]


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("\x1b\r", "alt+enter"),
        ("\x1b[13;3u", "alt+enter"),
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[1089::99;5u", "ctrl+c"),  # с on a Cyrillic layout
        ("\x1b[1089:1057:99;5:1u", "ctrl+c"),
        ("\x1b[99;133u", "ctrl+c"),  # Num Lock on
        ("\x1b[99;69u", "ctrl+c"),  # Caps Lock on
        ("\x1b[97;129u", "a"),
        ("\x1bz", "alt+z"),
        ("\x1b[Z", "shift+tab"),
        ("\x1f", "ctrl+underscore"),
        ("é", "é"),
    ],
)
def test_a_key_is_the_same_however_the_terminal_says_it(sent: str, key: str) -> None:
    """kitty's protocol, xterm's modifyOtherKeys, and the old forms."""
    assert read([sent])[0][1] in (key, {"é": "latin_small_letter_e_with_acute"}.get(key))


def test_a_released_key_is_nothing() -> None:
    """Event type 3 of the kitty protocol."""
    assert read(["\x1b[97;1:3u", "b"]) == [("key", "b")]


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ("\x1b[200~x1\rx2\rx3\x1b[201~", "x1\rx2\rx3"),
        ("\x1b[200~a\x1b[201~b\x1b[201~", "ab"),
        ("\x1b[200~\x1b\r[13;2u\x1b[201~", "\r[13;2u"),
    ],
)
def test_a_paste_is_one_paste_however_it_is_cut(sent: str, text: str) -> None:
    """Every place where a read may end, the marks included; only a mark within the text needs one read."""
    cuts = range(1, len(sent)) if sent.count("\x1b[201~") == 1 else [1]
    for at in cuts:
        assert read([sent[:at], sent[at:]]) == [("paste", text)], at


@given(st.text(st.sampled_from("ab\r\n世"), min_size=1, max_size=3000), st.integers(1, 1022))
def test_a_large_paste_in_many_reads_loses_nothing(text: str, size: int) -> None:
    """As tmux and SSH deliver it."""
    sent = f"\x1b[200~{text}\x1b[201~"

    assert read([sent[at : at + size] for at in range(0, len(sent), size)]) == [("paste", text)]


def test_much_text_at_once_with_line_ends_is_a_paste_though_no_mark_says_so() -> None:
    """Nothing is sent by the line's end at its end."""
    assert read(["x" * 1203 + "\r"], quiet=True) == [("paste", "x" * 1203 + "\r")]
    assert read(["x" * 700 + "\r", "y" * 40 + "\r", "z"], quiet=True) == [
        ("paste", "x" * 700 + "\r" + "y" * 40 + "\rz")  # in several reads
    ]


def test_a_short_line_that_arrives_at_once_was_typed() -> None:
    """Programs that drive a terminal write a line and its end together."""
    assert read(["hi\r"]) == [("key", "h"), ("key", "i"), ("key", "enter")]


def test_a_paste_whose_end_is_lost_ends_with_silence() -> None:
    """Keys work again after it."""
    assert read(["\x1b[200~lost"], quiet=True) == [("paste", "lost")]


@pytest.mark.parametrize(
    ("answer", "ground"),
    [
        ("\x1b]11;rgb:ffff/ffff/ffff\x07", "light"),
        ("\x1b]11;rgb:fd/f6/e3\x1b\\", "light"),
        ("\x1b]11;rgb:0000/2b2b/3636\x1b\\", "dark"),
        ("\x1b]11;rgba:0000/0000/0000/ffff\x07", "dark"),
    ],
)
@pytest.mark.parametrize("cut", range(1, 12))
def test_what_a_terminal_tells_of_its_ground_is_no_key(answer: str, ground: str, cut: int) -> None:
    """In every form, between keys, and cut in the middle."""
    keyboard = Keyboard()
    got = keyboard.feed("a" + answer[:cut]) + keyboard.feed(answer[cut:] + "b")

    assert got == "ab"
    assert keyboard.ground == ground


def test_alt_and_a_bracket_is_still_a_key() -> None:
    """It begins as such an answer does."""
    keyboard = Keyboard()

    assert keyboard.feed("\x1b]") + keyboard.release() == "\x1b]"
