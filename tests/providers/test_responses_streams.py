"""The Responses stream in its less usual forms."""

import json

import pytest
from providers.golden import play, runnable

from wisp.messages.content import Opaque, Text, Thinking
from wisp.messages.usage import Usage
from wisp.providers.events import Failed, ThinkingDelta


def event(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def item(index, body, *events):
    return (
        event("response.output_item.added", output_index=index, item={**body, "content": [], "arguments": ""})
        + b"".join(events)
        + event("response.output_item.done", output_index=index, item=body)
    )


def words(index, text, kind="output_text"):
    body = {
        "type": "message",
        "role": "assistant",
        "phase": "final_answer",
        "content": [{"type": kind, "text": text}],
    }
    delta = "refusal" if kind == "refusal" else "output_text"
    return item(index, body, event(f"response.{delta}.delta", output_index=index, delta=text))


def call(index, arguments='{"path":"a"}', call_id="c1"):
    return item(index, {"type": "function_call", "call_id": call_id, "name": "read", "arguments": arguments})


def completed(status="completed", **fields):
    kind = "response.incomplete" if status == "incomplete" else "response.completed"
    return event(kind, response={"id": "resp_1", "status": status, **fields})


CREATED = event("response.created", response={"id": "resp_1", "model": "m"})


async def message(data):
    return (await play("R", data))[-1].message


async def test_items_are_kept_byte_for_byte_and_in_order():
    raw = '{"type": "message", "phase":"commentary",  "content":[{"type":"output_text","text":"a"}], "x":1.0}'
    frame = 'data: {"type":"response.output_item.done","output_index":0,"item":' + raw + "}\n\n"
    made = await message(CREATED + frame.encode() + completed())
    assert made.native.items == (raw,)
    assert made.native.response_id == "resp_1"
    assert made.text == "a"


async def test_reasoning_summaries_are_thinking_and_their_parts_paragraphs():
    body = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}],
        "encrypted_content": "seal",
    }
    deltas = [
        event("response.reasoning_summary_text.delta", output_index=0, summary_index=k, delta=text)
        for k, text in enumerate(("one", "two"))
    ]
    events = await play("R", CREATED + item(0, body, *deltas) + words(1, "a") + completed())
    assert events[-1].message.content == (Thinking("one\n\ntwo"), Text("a"))
    assert "".join(e.text for e in events if isinstance(e, ThinkingDelta)) == "one\n\ntwo"


async def test_the_finished_item_counts_not_its_deltas():
    delta = event("response.function_call_arguments.delta", output_index=0, delta='{"path":"WRONG"}')
    body = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'}
    assert runnable(await play("R", CREATED + item(0, body, delta) + completed())) == [
        ("read", '{"path":"a"}')
    ]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("steered", "error")],
)
async def test_an_incomplete_response_runs_nothing(reason, stop):
    data = CREATED + words(0, "a") + call(1) + completed("incomplete", incomplete_details={"reason": reason})
    events = await play("R", data)
    assert events[-1].message.stop == stop
    assert runnable(events) == []


async def test_a_call_that_the_limit_cut_is_kept_and_never_runs():
    opened = event(
        "response.output_item.added",
        output_index=0,
        item={"type": "function_call", "call_id": "c1", "name": "read", "arguments": ""},
    )
    delta = event("response.function_call_arguments.delta", output_index=0, delta='{"path":"a"}')
    cut = completed("incomplete", incomplete_details={"reason": "max_output_tokens"})
    events = await play("R", CREATED + opened + delta + cut)
    assert events[-1].message.stop == "length"
    assert runnable(events) == []


async def test_a_refusal_is_an_answer_of_its_own_kind():
    body = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    delta = event("response.refusal.delta", output_index=0, delta="no")
    made = await message(CREATED + item(0, body, delta) + call(1) + completed())
    assert (made.text, made.stop) == ("no", "refusal")


@pytest.mark.parametrize("kind", ["web_search_call", "custom_tool_call", "mcp_call", "never_heard_of"])
async def test_other_items_are_kept_raw_and_never_offered_to_run(kind):
    made = await message(CREATED + item(0, {"type": kind, "x": 1}) + words(1, "a") + completed())
    assert isinstance(made.content[0], Opaque)
    assert made.content[0].kind == kind
    assert made.calls == ()
    assert len(made.native.items) == 2


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (event("error", code="rate_limit_exceeded", message="m"), "overload"),
        (event("error", error={"type": "server_error", "message": "m"}), "overload"),
        (
            event("response.failed", response={"error": {"code": "context_length_exceeded", "message": "m"}}),
            "too_long",
        ),
        (
            event("response.failed", response={"error": {"code": "insufficient_quota", "message": "m"}}),
            "quota",
        ),
        (event("response.failed", response={}), "overload"),
    ],
)
async def test_errors_in_the_stream_have_their_fault(data, kind):
    failed = (await play("R", CREATED + words(0, "half") + data))[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.partial.text) == (kind, "half")


async def test_usage_is_four_parts():
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    made = await message(CREATED + words(0, "a") + completed(usage=usage))
    assert made.usage == Usage(30, 9, 60, 10, 4)


async def test_unknown_events_are_skipped():
    strange = event("response.future.thing", item=7, output_index="x") + b"data: null\n\ndata: [DONE]\n\n"
    assert (await message(strange + CREATED + words(0, "a") + strange + completed())).text == "a"


@pytest.mark.parametrize(
    "data",
    [
        event("response.output_item.added", output_index=0),
        event("response.output_item.done", output_index=0, item=7),
        words(0, "a") + words(0, "b"),
        event("response.output_item.added", output_index=0, item={"type": "message"})
        + event("response.output_item.done", output_index=0, item={"type": "function_call"}),
        event("response.output_item.added", output_index=0, item={"type": "message"}) + completed(),
    ],
    ids=["no item", "item is a number", "done twice", "changes its kind", "never done"],
)
async def test_a_breach_of_the_protocol_is_a_failed_attempt(data):
    assert (await play("R", CREATED + data + completed()))[-1].kind == "wire"


async def test_words_that_only_the_terminal_event_holds_are_kept():
    body = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "late"}]}
    made = await message(CREATED + completed(output=[body]))
    assert (made.text, made.stop) == ("late", "stop")
    assert len(made.native.items) == 1


async def test_a_call_that_only_the_terminal_event_holds_runs_nothing():
    body = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
    events = await play("R", CREATED + completed(output=[body]))
    assert isinstance(events[-1], Failed)
    assert runnable(events) == []


async def test_what_was_streamed_counts_and_not_what_the_terminal_event_repeats():
    body = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "other"}]}
    made = await message(CREATED + words(0, "streamed") + completed(output=[body]))
    assert made.text == "streamed"
