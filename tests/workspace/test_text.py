"""Text keeps its encoding, mark and line breaks, or is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.workspace.errors import Refused
from wisp.workspace.text import Form, decode, decode_output, encode, newline_of

FORMS = [
    ("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"),
    ("utf-32-le", b"\xff\xfe\x00\x00"), ("utf-32-be", b"\x00\x00\xfe\xff"),
]  # fmt: skip


@given(
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")),
    form=st.sampled_from(FORMS),
)
def test_marked_and_utf8_texts_come_back_byte_for_byte(text: str, form: tuple[str, bytes]) -> None:
    data = form[1] + text.encode(form[0])
    found = decode(data)
    assert found.text == text
    assert found.form.mark + encode(found.text, found.form) == data
    for index in range(len(text) + 1):
        assert found.offset(index) == len(form[1]) + len(text[:index].encode(form[0]))


@given(st.binary())
def test_whatever_is_decoded_encodes_to_the_same_bytes(data: bytes) -> None:
    for fallbacks in (("cp1252", "latin-1"), ("gbk",), ("shift_jis", "latin-1"), ()):
        try:
            found = decode(data, fallbacks)
        except Refused as exc:
            assert exc.code in ("binary", "undecodable")
        else:
            assert found.form.mark + encode(found.text, found.form) == data


@pytest.mark.parametrize(
    ("data", "fallbacks", "form", "text"),
    [
        ("中文".encode("gbk"), ("gbk",), "gbk", "中文"),
        ("naïve €".encode("cp1252"), ("cp1252", "latin-1"), "cp1252", "naïve €"),
        (b"\x81", ("cp1252", "latin-1"), "iso8859-1", "\x81"),
    ],
)
def test_fallbacks_are_tried_in_order(data: bytes, fallbacks: tuple[str, ...], form: str, text: str) -> None:
    assert decode(data, fallbacks) == (text, Form(form))


def test_nul_without_a_mark_is_binary() -> None:
    for data in (b"a\0b", "a=1".encode("utf-16-le"), b"\xff\0"):
        with pytest.raises(Refused, match="NUL"):
            decode(data)


def test_what_an_encoding_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(Refused, match=r"cannot hold '\\u4e2d'") as caught:
        encode("a中", Form("latin-1"))
    assert caught.value.code == "unencodable"


@pytest.mark.parametrize(
    ("text", "newline"),
    [
        ("", ""),
        ("a", ""),
        ("a\nb\n", "\n"),
        ("a\r\nb\r\n", "\r\n"),
        ("a\rb", "\r"),
        ("a\r\nb\nc\r", "\n"),
        ("a\r\nb\r\nc\n", "\r\n"),
    ],
)
def test_the_newline_style_is_the_most_frequent(text: str, newline: str) -> None:
    assert newline_of(text) == newline


def test_output_is_text_whatever_it_is() -> None:
    assert decode_output("中文\n".encode(), "gbk") == "中文\n", "UTF-8 first, whatever the locale says"
    assert decode_output("中文\n".encode("gbk"), "gbk") == "中文\n"
    assert decode_output(b"\xff\xfe!", "cp-no-such") == "\ufffd\ufffd!"
    assert decode_output("x€".encode()[:-1]) == "x", "a character cut at the end"
    assert decode_output("€x".encode()[1:]) == "x", "and at the start"
