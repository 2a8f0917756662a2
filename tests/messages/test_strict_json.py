"""Arguments are one strict JSON object or refused with a reason; JSON we write is ASCII and loses nothing."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.messages.codec import (
    MAX_DEPTH,
    MAX_DIGITS,
    NotAnObject,
    arguments_or_fault,
    ascii_json,
    clean,
    strict_object,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=8), JSON, max_size=5))
def test_every_object_that_json_writes_is_read_back_the_same(value: dict[str, object]) -> None:
    assert strict_object(json.dumps(value)) == value
    assert strict_object(json.dumps(value, ensure_ascii=False, indent=1)) == value


@given(st.text(max_size=30) | st.text('{}[]":,0123456789.eE+-truefalsn \\u', max_size=30))
def test_what_is_accepted_is_what_json_reads_and_never_anything_else_is_raised(text: str) -> None:
    try:
        value = strict_object(text)
    except NotAnObject:
        return
    assert value == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"command":"ls","command":"rm -rf x"}',
        '{"a":{"b":1,"b":2}}',
        '{"\\u0061":1,"a":2}',
        '{"n":NaN}',
        '{"n":Infinity}',
        '{"n":-Infinity}',
        '{"n":1e400}',
        '{"n":-1e400}',
        '{"n":' + "1" * 5000 + "}",
        '{"n":0.' + "1" * 5000 + "}",
        '{"n":' + "1" * (MAX_DIGITS + 1) + "}",
        '{"command":"echo \\ud800"}',
        '{"command":"echo \\udc00\\ud800"}',
        '{"\\ud800":1}',
        '{"command":"echo \ud800"}',
        '{"a":' + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1) + "}",
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "[" * 100_000,
        '{"a":1} x',
        '{"a":1}{"b":2}',
        "{'a':1}",
        '{"a":1,}',
        '{"a":01}',
        '{"a":+1}',
        '{"a":.5}',
        '{"a":"\n"}',
        '\ufeff{"a":1}',
        "{a:1}",
        '{"a"',
        '{"command":"rm -rf build',
        "[]",
        '"x"',
        "1",
        "true",
        "null",
        "",
        " ",
    ],
)
def test_what_is_not_one_strict_object_is_refused(text: str) -> None:
    with pytest.raises(NotAnObject):
        strict_object(text)


def test_the_deepest_and_longest_that_are_accepted() -> None:
    deep = '{"a":' + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1) + "}"
    assert strict_object(deep) == json.loads(deep)
    number = "1" * MAX_DIGITS
    assert strict_object('{"n":' + number + "}") == {"n": int(number)}
    assert strict_object('{"s":"\\ud83d\\ude00"}') == {"s": "😀"}


def test_a_reason_names_what_is_wrong() -> None:
    with pytest.raises(NotAnObject, match="'command' appears twice"):
        strict_object('{"command":1,"command":2}')
    with pytest.raises(NotAnObject, match="NaN"):
        strict_object('{"n":NaN}')


@pytest.mark.parametrize("text", [None, "", "  ", "null", " null\n"])
def test_no_arguments_at_all_mean_an_empty_object(text: str | None) -> None:
    assert arguments_or_fault(text) == ("{}", "")


def test_good_arguments_are_kept_byte_for_byte() -> None:
    text = ' {"b" : 1.0, "a":"\\u00e9"} '
    assert arguments_or_fault(text) == (text, "")


@pytest.mark.parametrize("bad", ['{"a":1', '{"a":"\ud800"}', "x" * 10_000, '{"a":' + "9" * 100_000])
def test_bad_arguments_become_an_empty_object_and_a_bounded_reason_that_can_be_encoded(bad: str) -> None:
    text, fault = arguments_or_fault(bad)
    assert text == "{}"
    assert fault
    assert len(fault) < 1000
    fault.encode()


@given(JSON)
def test_ascii_json_reads_back_the_same_and_is_ascii_on_one_line(value: object) -> None:
    data = ascii_json(value)
    assert data.isascii()
    assert b"\n" not in data
    assert b"\r" not in data
    back = json.loads(data)
    assert back == value


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_ascii_json_of_a_text_means_what_json_writes(text: str) -> None:
    assert json.loads(ascii_json(text)) == json.loads(json.dumps(text)) == text


@given(st.text(st.characters(categories=("Cs", "Lu", "So")), max_size=20))
def test_lone_surrogates_are_replaced_wherever_text_is_cleaned_or_written(text: str) -> None:
    expected = "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)
    assert clean(text) == expected
    assert json.loads(ascii_json({"t": [text]})) == {"t": [expected]}


def test_numbers_too_large_for_a_machine_word_survive() -> None:
    assert json.loads(ascii_json({"n": 10**300})) == {"n": 10**300}
    assert json.loads(ascii_json(math.pi)) == math.pi
