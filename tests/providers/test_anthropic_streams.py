"""Anthropic's stream in its less usual forms; outcomes as its own SDK accumulates them."""

import json

import msgspec
import pytest
from providers.golden import play, runnable

from wisp.messages.content import Opaque, Text, Thinking
from wisp.messages.message import user
from wisp.messages.usage import Usage
from wisp.providers.anthropic import builder
from wisp.providers.base import ModelInfo, ModelRequest
from wisp.providers.events import Failed


def event(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def start(**usage):
    return event("message_start", message={"id": "msg_1", "model": "m", "usage": usage})


def block(index, opening, *deltas, stop=True):
    made = event("content_block_start", index=index, content_block=opening)
    for delta in deltas:
        made += event("content_block_delta", index=index, delta=delta)
    return made + (event("content_block_stop", index=index) if stop else b"")


def end(reason="end_turn", **usage):
    return event("message_delta", delta={"stop_reason": reason}, usage=usage) + event("message_stop")


def text(index, words):
    return block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": words})


TOOL = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}


async def message(data):
    return (await play("A", data))[-1].message


async def test_thinking_keeps_its_signature_and_redacted_thinking_its_data():
    made = await message(
        start()
        + block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "signature_delta", "signature": "sig"},
        )
        + block(1, {"type": "redacted_thinking", "data": "xyz"})
        + text(2, "a")
        + end()
    )
    assert made.content == (Thinking("hm", "sig"), Thinking("", redacted="xyz"), Text("a"))


async def test_usage_is_merged_and_never_erased():
    made = await message(
        start(input_tokens=25, output_tokens=1, cache_read_input_tokens=5, cache_creation_input_tokens=10)
        + text(0, "a")
        + end(output_tokens=8, input_tokens=None, cache_read_input_tokens=None)
    )
    assert made.usage == Usage(25, 8, 5, 10)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("brand_new", "stop"),
    ],
)
async def test_endings_are_told_apart(reason, stop):
    assert (await message(start() + text(0, "a") + end(reason))).stop == stop


async def test_a_call_that_the_limit_cut_is_kept_and_never_runs():
    cut = block(1, TOOL, {"type": "input_json_delta", "partial_json": '{"path": "a'}, stop=False)
    events = await play("A", start() + text(0, "a") + cut + end("max_tokens", output_tokens=124))
    made = events[-1].message
    assert (made.stop, made.text, made.usage.output_tokens) == ("length", "a", 124)
    assert made.calls[0].fault
    assert runnable(events) == []


async def test_an_input_that_came_whole_with_the_block_counts():
    opening = {**TOOL, "input": {"path": "a"}}
    events = await play("A", start() + block(0, opening) + end("tool_use"))
    assert runnable(events) == [("read", '{"path":"a"}')]


async def test_no_input_at_all_means_no_arguments():
    assert runnable(await play("A", start() + block(0, TOOL) + end("tool_use"))) == [("read", "{}")]


async def test_server_tools_are_kept_raw_and_never_offered_to_run():
    opening = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    results = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"x": 1}]}
    events = await play(
        "A",
        start()
        + block(0, opening, {"type": "input_json_delta", "partial_json": '{"query": "q"}'})
        + block(1, results)
        + text(2, "a")
        + end(),
    )
    made = events[-1].message
    assert made.calls == ()
    assert [b.kind for b in made.content if isinstance(b, Opaque)] == [
        "server_tool_use",
        "web_search_tool_result",
    ]
    sent = msgspec.json.decode(
        builder("golden").build(ModelRequest(ModelInfo("m"), (user("x"), made, user("y")))).body
    )
    assert sent["messages"][1]["content"] == [
        {**opening, "input": {"query": "q"}},
        results,
        {"type": "text", "text": "a"},
    ]


async def test_citations_go_back_with_their_text():
    citation = {"type": "char_location", "cited_text": "x", "document_index": 0}
    opening = {"type": "text", "text": "", "citations": []}
    deltas = {"type": "text_delta", "text": "a"}, {"type": "citations_delta", "citation": citation}
    made = await message(start() + block(0, opening, *deltas) + end())
    request = ModelRequest(ModelInfo("m"), (user("x"), made, user("y")))
    sent = msgspec.json.decode(builder("golden").build(request).body)
    assert sent["messages"][1]["content"] == [{"type": "text", "text": "a", "citations": [citation]}]


async def test_unknown_events_blocks_and_deltas_are_skipped():
    made = await message(
        event("future", x=1)
        + event("content_block_stop", index=0)
        + start()
        + event("ping")
        + block(
            0,
            {"type": "text", "text": ""},
            {"type": "future_delta", "x": 1},
            {"type": "text_delta", "text": "a"},
        )
        + event("future", index="seven")
        + end()
        + event("ping")
    )
    assert made.content == (Text("a"),)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("overloaded_error", "overload"), ("api_error", "overload"), ("invalid_request_error", "request")],
)
async def test_an_error_event_fails_with_what_was_said(name, kind):
    failed = (
        await play("A", start() + text(0, "half") + event("error", error={"type": name, "message": "m"}))
    )[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.partial.text) == (kind, "half")


async def test_a_compaction_goes_back_with_its_seal():
    opening = {"type": "compaction", "content": None, "encrypted_content": None}
    delta = {"type": "compaction_delta", "content": "What was.", "encrypted_content": "seal"}
    made = await message(start() + block(0, opening, delta) + text(1, "b") + end())
    assert json.loads(made.content[0].json) == {**opening, **delta, "type": "compaction"}
    native = msgspec.structs.replace(made.native, model="m")
    history = (user("a"), msgspec.structs.replace(made, native=native), user("c"))
    body = builder(native.provider).build(ModelRequest(ModelInfo("m"), history)).body
    assert b'"encrypted_content":"seal"' in body
