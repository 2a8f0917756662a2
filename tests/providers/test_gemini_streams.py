"""Gemini's stream and requests in their less usual forms."""

import json

import msgspec
import pytest
from providers.golden import CHUNKINGS, play, runnable

from wisp.messages.content import Opaque, Text, Thinking
from wisp.messages.message import ToolResult, user
from wisp.messages.usage import Usage
from wisp.providers.base import ModelInfo, ModelRequest
from wisp.providers.events import Failed, Finished
from wisp.providers.faults import error_of_response
from wisp.providers.gemini import NO_SIGNATURE, builder


def chunk(*parts, finish=None, **fields):
    candidate = {"content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    return b"data: " + json.dumps({"candidates": [candidate], **fields}).encode() + b"\r\n\r\n"


def call(arguments=None, **fields):
    return {"functionCall": {"name": "read", "args": arguments or {"path": "a"}}, **fields}


async def message(*chunks):
    last = (await play("G", b"".join(chunks)))[-1]
    assert isinstance(last, Finished), last
    return last.message


def sent(*messages, model=None):
    request = ModelRequest(model or ModelInfo("m"), messages)
    return msgspec.json.decode(builder("golden").build(request).body)["contents"]


async def test_fragments_of_thought_and_text_are_joined_and_kept_apart():
    made = await message(
        chunk({"text": "hm ", "thought": True}),
        chunk({"text": "so", "thought": True}),
        chunk({"text": "a"}),
        chunk({"text": "b"}, finish="STOP"),
    )
    assert made.content == (Thinking("hm so"), Text("ab"))


async def test_a_signature_goes_back_in_the_part_it_came_in():
    made = await message(
        chunk({"text": "I "}),
        chunk({"text": "look"}),
        chunk(call(thoughtSignature="sig1"), call({"path": "b"})),
        chunk({"text": ""}, finish="STOP"),
    )
    results = [ToolResult(c.id, c.name, (Text("r"),)) for c in made.calls]
    parts = sent(user("x"), made, *results)[1]["parts"]
    assert parts == [{"text": "I look"}, call(thoughtSignature="sig1"), call({"path": "b"})]


async def test_calls_without_an_id_get_one_and_are_answered_in_order_without():
    made = await message(chunk(call(), call({"path": "b"})), chunk({"text": ""}, finish="STOP"))
    assert len({c.id for c in made.calls}) == 2
    results = [ToolResult(c.id, c.name, (Text(c.arguments),)) for c in reversed(made.calls)]
    answers = [part["functionResponse"] for part in sent(user("x"), made, *results)[2]["parts"]]
    assert [answer["response"]["output"] for answer in answers] == [c.arguments for c in made.calls]
    assert not any("id" in answer for answer in answers)


async def test_calls_of_another_model_say_that_they_have_no_signature():
    made = await message(chunk(call(), call({"path": "b"}), finish="STOP"))
    results = [ToolResult(c.id, c.name, (Text("r"),)) for c in made.calls]
    parts = sent(user("x"), made, *results, model=ModelInfo("another"))[1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [NO_SIGNATURE, None]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("OTHER", "error"),
    ],
)
async def test_a_call_in_an_answer_that_ended_otherwise_does_not_run(reason, stop):
    events = await play("G", chunk(call(), finish=reason))
    assert events[-1].message.stop == stop
    assert runnable(events) == []


@pytest.mark.parametrize("reason", ["STOP", "FUNCTION_CALL"])
async def test_both_words_for_a_call_are_understood(reason):
    assert runnable(await play("G", chunk(call(), finish=reason))) == [("read", '{"path": "a"}')]


async def test_a_malformed_call_is_a_failed_attempt():
    failed = (await play("G", chunk({"text": "half"}, finish="MALFORMED_FUNCTION_CALL")))[-1]
    assert isinstance(failed, Failed)
    assert failed.retryable


async def test_a_refused_prompt_is_a_filtered_answer():
    made = await message(b'data: {"promptFeedback":{"blockReason":"SAFETY"}}\n\n')
    assert (made.stop, made.content) == ("content_filter", ())


async def test_usage_is_taken_from_the_last_chunk_and_does_not_overlap():
    early = {"promptTokenCount": 10}
    last = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 40,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 7,
        "toolUsePromptTokenCount": 3,
    }
    made = await message(
        chunk({"text": "a"}, usageMetadata=early), chunk({"text": "b"}, finish="STOP", usageMetadata=last)
    )
    assert made.usage == Usage(63, 12, 40, None, 7)


async def test_other_parts_are_kept_raw():
    part = {"executableCode": {"language": "PYTHON", "code": "1"}}
    made = await message(chunk(part, {"text": "a"}, finish="STOP"))
    assert isinstance(made.content[0], Opaque)
    assert made.content[0].kind == "executableCode"
    assert sent(user("x"), made, user("y"))[1]["parts"] == [part, {"text": "a"}]


async def test_a_stream_cut_anywhere_runs_nothing_or_everything():
    data = chunk({"text": "é🙂"}) + chunk(call(thoughtSignature="s")) + chunk({"text": ""}, finish="STOP")
    needed = len(data.rstrip())
    for cut in range(len(data)):
        assert runnable(await play("G", data[:cut])) == (
            [] if cut < needed else [("read", '{"path": "a"}')]
        ), cut


@pytest.mark.parametrize("chunking", CHUNKINGS)
async def test_every_chunking_gives_the_same_events(chunking):
    data = chunk({"text": "é🙂"}) + chunk({"text": ""}, finish="STOP")
    assert await play("G", data, CHUNKINGS[chunking]) == await play("G", data)


@pytest.mark.parametrize(
    "data", [b'data: {"candidates":[{"content":{"parts":[7]}}]}\n\n', b"data: {\n\n", b"data: 7\n\n"]
)
async def test_garbage_is_a_wire_error(data):
    assert (await play("G", chunk({"text": "a"}) + data))[-1].kind == "wire"


def test_the_wait_in_an_error_s_details_is_a_hint_and_no_empty_account():
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]
    said = {"code": 429, "message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED"}
    body = json.dumps([{"error": {**said, "details": details}}]).encode()
    error = error_of_response(429, {}, body, now=0.0)
    assert (error.kind, error.retry_after) == ("overload", 37.0)


def test_the_key_is_never_in_the_address():
    wire = builder("p").build(ModelRequest(ModelInfo("models/odd name?"), (user("x"),)))
    assert wire.path == "/v1beta/models/odd%20name%3F:streamGenerateContent?alt=sse"
