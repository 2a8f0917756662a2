"""Names, definitions and results: what a server may say, and what becomes of it."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wisp.mcp.content import outcome_of
from wisp.mcp.definition import definitions
from wisp.mcp.intake import Intake, Log
from wisp.mcp.names import server_keys, tool_names
from wisp.mcp.prompts import BadArguments, Prompt, filled
from wisp.mcp.wire import Lines, Message, TooLong
from wisp.messages.content import Image, Text

VENDORS = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What every vendor takes as a tool's name."""

names = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=150)


@given(st.sets(names, min_size=1, max_size=8), st.lists(names, max_size=12))
@example({"0"}, ["H", "h"])
def test_names_fit_every_vendor_and_differ_where_tools_do(servers: set[str], tools: list[str]) -> None:
    found = [name for key in server_keys(servers).values() for name in tool_names(key, tools).values()]
    assert all(VENDORS.fullmatch(name) for name in found)
    assert len({name.lower() for name in found}) == len(servers) * len(set(tools))


@given(st.sets(names, min_size=1, max_size=8), st.lists(names, max_size=12))
def test_the_server_can_be_read_from_a_name_so_that_a_rule_for_one_covers_no_other(
    servers: set[str], tools: list[str]
) -> None:
    keys = server_keys(servers)
    for server, key in keys.items():
        for name in tool_names(key, tools).values():
            others = [k for s, k in keys.items() if s != server and name.startswith(f"mcp__{k}__")]
            assert name.startswith(f"mcp__{key}__")
            assert others == []


@given(st.lists(names, max_size=12))
def test_names_do_not_depend_on_the_order_in_which_tools_are_listed(tools: list[str]) -> None:
    assert tool_names("k", tools) == tool_names("k", tools[::-1])


def test_long_and_odd_names_keep_what_can_be_kept() -> None:
    """B069: a long server with a dot, a tool with a slash and 90 letters, two that are equal once cleaned."""
    [key] = server_keys(["my.very-long-server"]).values()
    assert key == "my_very-long-server"
    found = tool_names(key, ["a/b.c" + "x" * 90, "a_b", "a.b", "plain"])
    assert found["plain"] == "mcp__my_very-long-server__plain"
    assert found["a_b"] == "mcp__my_very-long-server__a_b"
    assert re.fullmatch(r"mcp__my_very-long-server__a_b_[0-9a-f]{8}", found["a.b"])
    assert len(found["a/b.c" + "x" * 90]) == 64


def test_tools_that_cannot_be_told_from_others_or_make_no_sense_are_left_out_by_name() -> None:
    """A Cyrillic letter among Latin ones, no name, a second of a name, a schema that is none."""
    notes: list[str] = []
    items: list[Any] = [
        {"name": "good", "inputSchema": {"type": "object"}},
        {"name": "b\u0430sh"},
        {"name": "two words"},
        {"name": "\x1b[2J"},
        {"name": 5},
        "nothing",
        {"name": "good", "description": "another"},
        {"name": "array", "inputSchema": {"type": "array"}},
        {"name": "big", "inputSchema": {"type": "object", "description": "x" * 70_000}},
        {"name": "bare"},
    ]
    assert [tool.name for tool in definitions(items, notes)] == ["bare", "good"]
    assert len(notes) == 8
    assert all(note.isprintable() and note.isascii() for note in notes)


@pytest.mark.parametrize("kind", ["object", "array"])
def test_a_schema_that_goes_down_without_end_is_left_out_before_anything_walks_it(kind: str) -> None:
    """64 levels are taken; of a result's schema the deeper one counts as none."""

    def schema(levels: int) -> dict[str, Any]:
        made: Any = {} if kind == "object" else []
        for _ in range(levels - 2):
            made = {"x": made} if kind == "object" else [made]
        return {"type": "object", "x": made}

    notes: list[str] = []
    items = [
        {"name": name, "inputSchema": given, "outputSchema": given if name == "fits" else schema(65)}
        for name, given in (
            ("fits", schema(64)),
            ("less", schema(3)),
            ("deep", schema(65)),
            ("abyss", schema(900)),
        )
    ]
    found = {tool.name: tool for tool in definitions(items, notes)}
    assert sorted(found) == ["fits", "less"]
    assert found["fits"].digest != found["less"].digest
    assert (found["fits"].output, found["less"].output) == (schema(64), None)
    assert [note.partition(" is left out: ")[0] for note in notes] == ["the tool 'deep'", "the tool 'abyss'"]


def test_a_tool_that_is_left_out_is_named_as_the_server_spells_it() -> None:
    notes: list[str] = []
    definitions([{"name": "a b", "inputSchema": {"type": "object"}}], notes)
    assert notes == ["a tool is left out: its name 'a b' is not of visible ASCII letters"]


def test_the_identity_of_a_tool_is_in_its_words_not_in_the_order_of_keys() -> None:
    one, two, three = (
        definitions([{"name": "t", "description": words, "inputSchema": schema}], [])[0].digest
        for words, schema in (
            ("d", {"type": "object", "properties": {"a": {}, "b": {}}}),
            ("d", {"properties": {"b": {}, "a": {}}, "type": "object"}),
            ("d.", {"type": "object", "properties": {"a": {}, "b": {}}}),
        )
    )
    assert one == two != three


def test_descriptions_act_on_no_screen_and_have_an_end() -> None:
    [tool] = definitions([{"name": "t", "description": "a\x1b]52;c;cHduZWQ=\x07b" + "x" * 9000}], [])
    assert tool.description.startswith("abxxx")
    assert len(tool.description) < 4_200


REVIEW = Prompt("review", "", ("file", "how"), ("file",))


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("a.py", {"file": "a.py"}),
        ("a.py very strictly", {"file": "a.py", "how": "very strictly"}),
        ("how=well a.py", {"file": "a.py", "how": "well"}),
        ("'a b.py' x=1", {"file": "a b.py", "how": "x=1"}),
        ("it's", {"file": "it's"}),
    ],
)
def test_what_is_typed_after_a_prompts_name_becomes_its_arguments(typed: str, found: dict[str, str]) -> None:
    assert filled(REVIEW, typed) == found


def test_what_does_not_fit_says_how_it_would() -> None:
    with pytest.raises(BadArguments, match=r"review needs file: file \[how\]"):
        filled(REVIEW, "")
    with pytest.raises(BadArguments, match="takes no arguments"):
        filled(Prompt("x"), "more")


PNG = base64.b64encode(b"\x89PNG").decode()


def _blocks(*content: Any, **more: Any) -> Any:
    return outcome_of({"content": list(content), **more}, lambda data: "/kept")


def test_every_kind_of_content_becomes_something_a_model_can_read() -> None:
    outcome = _blocks(
        {"type": "text", "text": "one"},
        {"type": "image", "mimeType": "image/png", "data": PNG},
        {"type": "image", "mimeType": "image/tiff", "data": PNG},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
        {"type": "resource", "resource": {"uri": "file:///b", "text": "inside b"}},
        {"type": "resource", "resource": {"uri": "file:///c", "mimeType": "x/y", "blob": "AAAA"}},
        {"type": "hologram"},
        7,
    )
    assert outcome.content[1:] == (Image("image/png", PNG),)
    assert outcome.content[0] == Text(
        "one\n[an image of kind image/tiff, not shown]\n[audio, audio/wav, about 3 bytes; it cannot be heard "
        "here]\n[resource file:///a: a, text/plain]\n[resource file:///b]\ninside b\n"
        "[resource file:///c, x/y, about 3 bytes; not text, not shown]\n[a part of kind hologram, not shown]\n"
        "[a part that is not of the protocol]"
    )
    assert not outcome.is_error


def test_structured_content_is_shown_once() -> None:
    """The protocol asks servers to repeat it as text; some do not."""
    both = _blocks({"type": "text", "text": '{ "a": 1 }'}, structuredContent={"a": 1})
    alone = _blocks(structuredContent={"a": 1})
    assert both.text == '{ "a": 1 }'
    assert alone.text == '{"a":1}'
    assert both.details == alone.details == {"structured": {"a": 1}}


def test_a_tool_that_failed_says_so() -> None:
    failed, mute = _blocks({"type": "text", "text": "no disk"}, isError=True), _blocks(isError=True)
    assert (failed.is_error, failed.code, failed.text) == (True, "tool_error", "error (tool_error): no disk")
    assert mute.is_error and "no reason" in mute.text
    assert not _blocks(isError="yes").is_error


def test_results_carry_no_screen_tricks() -> None:
    assert _blocks({"type": "text", "text": "\x1b]52;c;cHduZWQ=\x07ok\ud83d"}).text == "ok\ufffd"


@pytest.mark.parametrize("text", ["x" * 200_000, "line\n" * 50_000])
def test_a_long_result_is_cut_with_a_word_about_where_the_rest_is(text: str) -> None:
    kept: list[bytes] = []

    def keep(data: bytes) -> str:
        kept.append(data)
        return "/out/1.log"

    outcome = outcome_of({"content": [{"type": "text", "text": text}]}, keep)
    assert len(outcome.text) < 51_000
    assert outcome.text.endswith("all of it is in /out/1.log]")
    assert kept == [text.encode()]


@pytest.mark.parametrize("content", [None, "text", {}, [None], [[]]])
def test_content_of_no_known_form_is_no_crash(content: Any) -> None:
    assert outcome_of({"content": content}, lambda data: "").text


@given(st.binary(max_size=300), st.lists(st.integers(1, 300), max_size=5))
def test_lines_are_the_same_wherever_the_pieces_are_cut(data: bytes, cuts: list[int]) -> None:
    lines, found, at = Lines(1000), [], 0
    for cut in [*sorted(cuts), len(data)]:
        found += lines.feed(data[at:cut])
        at = max(at, cut)
    assert found == data.split(b"\n")[:-1]


def test_a_line_beyond_the_limit_is_refused_before_it_ends() -> None:
    lines = Lines(10)
    assert lines.feed(b"0123456789\n01234") == [b"0123456789"]
    with pytest.raises(TooLong):
        lines.feed(b"567890")


def _intake(now: list[float]) -> tuple[Intake, list[Message]]:
    got: list[Message] = []
    return Intake(lambda id_: id_ == 1, got.append, lambda *what: None, Log(), lambda: now[0]), got


def test_what_nobody_asked_for_has_a_rate_and_answers_have_none() -> None:
    """5,000 at once and 200 a second: arithmetic, with a clock that stands still or goes on."""
    note, reply = b'{"jsonrpc":"2.0","method":"n"}\n', b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    now = [0.0]
    intake, got = _intake(now)
    assert intake.feed(note * 5_000)
    assert intake.feed(reply * 100)
    now[0] = 1.0
    assert intake.feed(note * 200)
    assert not intake.feed(note)
    assert "floods" in intake.trouble
    assert len(got) == 5_300


def test_a_log_keeps_its_end() -> None:
    log = Log()
    for n in range(10_000):
        log.write(f"line {n}\n".encode())
    assert log.text.endswith("line 9999")
    assert len(log.text) <= 8_192
