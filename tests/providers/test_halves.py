"""A character beyond the Basic Multilingual Plane is whole, wherever a service cuts its escaped halves apart.

JSON may write such a character as two escapes (RFC 8259, 7), and some servers cut their deltas between the
two.  The second implementation is Python's own UTF-16 codec.
"""

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from providers.golden import AFTER_A_CALL, played

from wisp.messages.codec import strict_object
from wisp.providers.events import ArgumentsDelta, Finished, TextDelta, ThinkingDelta


def sse(*objects, named=False):
    """The objects as events, every character beyond ASCII escaped, half characters too."""
    return "".join(
        (f"event: {value['type']}\n" if named else "") + f"data: {json.dumps(value)}\n\n" for value in objects
    ).encode()


def chat(field):
    """A Chat Completions answer whose pieces stand in that field of the delta."""

    def made(pieces):
        deltas = [{"choices": [{"index": 0, "delta": {field: piece}}]} for piece in pieces]
        return sse(*deltas, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})

    return made


def chat_arguments(pieces):
    def delta(function):
        return {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **function}]}}]}

    return sse(
        delta({"id": "c1", "function": {"name": "bash", "arguments": ""}}),
        *(delta({"function": {"arguments": piece}}) for piece in pieces),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    )


def messages(block, delta_type, field, stop="end_turn"):
    """An Anthropic answer of one block."""

    def made(pieces):
        return sse(
            {"type": "message_start", "message": {"id": "m", "model": "m", "usage": {}}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": delta_type, field: piece}}
                for piece in pieces
            ),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop}},
            {"type": "message_stop"},
            named=True,
        )

    return made


def responses(item, delta_type):
    """A Responses answer of one item; what is done says nothing, so that the deltas count."""

    def made(pieces):
        return sse(
            {"type": "response.created", "response": {"id": "r", "model": "m"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            *({"type": delta_type, "output_index": 0, "delta": piece} for piece in pieces),
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
            named=True,
        )

    return made


def gemini(**more):
    """A Gemini answer whose pieces are parts of one kind."""

    def made(pieces):
        chunks = [{"candidates": [{"content": {"parts": [{"text": p, **more}]}}]} for p in pieces]
        return sse(*chunks, {"candidates": [{"finishReason": "STOP"}]})

    return made


TOOL = {"type": "tool_use", "id": "c1", "name": "bash", "input": {}}
CALL = {"type": "function_call", "call_id": "c1", "name": "bash"}
TEXTS = {
    "chat": ("O", chat("content")),
    "messages": ("A", messages({"type": "text", "text": ""}, "text_delta", "text")),
    "responses": ("R", responses({"type": "message"}, "response.output_text.delta")),
    "gemini": ("G", gemini()),
}
THOUGHTS = {
    "chat": ("O", chat("reasoning_content")),
    "messages": ("A", messages({"type": "thinking", "thinking": ""}, "thinking_delta", "thinking")),
    "responses": ("R", responses({"type": "reasoning"}, "response.reasoning_summary_text.delta")),
    "gemini": ("G", gemini(thought=True)),
}
ARGUMENTS = {
    "chat": ("O", chat_arguments),
    "messages": ("A", messages(TOOL, "input_json_delta", "partial_json", "tool_use")),
    "responses": ("R", responses(CALL, "response.function_call_arguments.delta")),
}

UNITS = st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\ud83d\ude00\ud800\udfff😀"))
WORDS = st.lists(st.lists(UNITS, max_size=5).map("".join), min_size=1, max_size=6)


def pieces_of(words):
    """The words cut once more, between the UTF-16 units of their last character; none is empty."""
    found = []
    for word in words:
        units = word.encode("utf-16-le", "surrogatepass")
        halves = (units[:-2], units[-2:])
        found += [half.decode("utf-16-le", "surrogatepass") for half in halves if half]
    return found


def joined(pieces):
    """What a UTF-16 reader makes of the pieces, one behind the other."""
    return b"".join(p.encode("utf-16-le", "surrogatepass") for p in pieces).decode("utf-16-le", "replace")


@pytest.mark.parametrize("name", TEXTS)
@given(words=WORDS)
@example(words=["\ud83d", "\ude00"])
@example(words=["a😀"])
@example(words=["\ud83d", "x", "\ude00"])
@example(words=["\U0010f03d", "\ufdd0"])
@settings(max_examples=100, deadline=None)
def test_halves_in_two_deltas_of_text_are_one_character(name, words):
    check(TEXTS[name], words, TextDelta)


@pytest.mark.parametrize("name", THOUGHTS)
@given(words=WORDS)
@example(words=["\ud83d", "\ude00"])
@settings(max_examples=100, deadline=None)
def test_halves_in_two_deltas_of_thinking_are_one_character(name, words):
    check(THOUGHTS[name], words, ThinkingDelta)


def check(case, words, delta):
    letter, made = case
    pieces = pieces_of(words)
    events = played(letter, made(pieces), history=AFTER_A_CALL)
    assert isinstance(events[-1], Finished), events[-1]
    said = "".join(getattr(b, "text", "") for b in events[-1].message.content)
    assert said == joined(pieces)
    shown = "".join(event.text for event in events if isinstance(event, delta))
    assert shown == said or (letter == "R" and shown == said.removesuffix("\ufffd"))
    for item in events[-1].message.native.items if events[-1].message.native else ():
        item.encode()
        json.loads(item)
        json.dumps(json.loads(item), ensure_ascii=False).encode()


@pytest.mark.parametrize("name", ARGUMENTS)
@given(words=WORDS)
@example(words=["\ud83d", "\ude00"])
@example(words=["\ud83d"])
@settings(max_examples=100, deadline=None)
def test_halves_in_two_deltas_of_arguments_are_one_character_and_a_lone_one_is_a_fault(name, words):
    letter, made = ARGUMENTS[name]
    text = "".join(char for word in words for char in word if char >= " " and char not in '\\"\ufffd')
    pieces = ['{"s":"', *pieces_of(re.findall(r"(?s).{1,3}", text)), '"}']
    meant = joined(pieces)
    alone = "\ufffd" in meant
    events = played(letter, made(pieces))
    assert isinstance(events[-1], Finished), events[-1]
    (call,) = events[-1].message.calls
    if alone:
        assert "half a surrogate pair" in call.fault
        assert call.arguments == "{}"
    else:
        assert call.fault == ""
        assert call.arguments == meant
        assert strict_object(call.arguments) == json.loads(meant)
    "".join(event.text for event in events if isinstance(event, ArgumentsDelta)).encode()


def test_an_item_with_half_a_character_is_kept_as_json_that_can_be_sent():
    item = {"type": "message", "content": [{"type": "output_text", "text": "a\ud83d"}]}
    events = played("R", responses(item, "response.output_text.delta")([]))
    assert events[-1].message.text == "a\ufffd"
    (kept,) = events[-1].message.native.items
    assert json.loads(kept)["content"][0]["text"] == "a\ufffd"


def test_mending_an_event_does_not_hide_that_an_argument_is_named_twice():
    twice = b'{"command":"ls","command":"rm -rf build"}'
    part = b'{"text":"\xff"},{"functionCall":{"name":"bash","args":' + twice + b"}}"
    events = played(
        "G",
        b'data: {"candidates":[{"content":{"parts":[' + part + b']},"finishReason":"STOP"}]}\n\n',
    )
    assert not isinstance(events[-1], Finished) or all(call.fault for call in events[-1].message.calls)
