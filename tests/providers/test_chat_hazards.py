"""What OpenAI-compatible servers really send."""

import json

import msgspec
import pytest
from providers.golden import play, runnable

from wisp.messages.content import Text, Thinking
from wisp.messages.message import AssistantMessage, Native, user
from wisp.messages.usage import Usage
from wisp.providers.base import ModelInfo, ModelRequest
from wisp.providers.events import ArgumentsDelta, Finished, PartStarted
from wisp.providers.openai_chat import builder
from wisp.providers.openai_chat_stream import usage_of


def chunk(delta=None, finish=None, **fields):
    choice = {"index": 0, "delta": delta or {}}
    if finish:
        choice["finish_reason"] = finish
    return b"data: " + json.dumps({"choices": [choice], **fields}).encode() + b"\n\n"


def call(index=None, call_id=None, name=None, arguments=None):
    made = {"function": {}}
    if index is not None:
        made["index"] = index
    if call_id is not None:
        made["id"] = call_id
    if name is not None:
        made["function"]["name"] = name
    made["function"]["arguments"] = arguments
    return {"tool_calls": [made]}


async def message(*chunks):
    last = (await play("O", b"".join(chunks)))[-1]
    assert isinstance(last, Finished), last
    return last.message


async def calls(*deltas, finish="tool_calls"):
    made = await message(*(chunk(delta) for delta in deltas), chunk(finish=finish))
    return [(c.id, c.name, c.arguments) for c in made.calls]


async def test_interleaved_fragments_belong_to_their_index():
    assert await calls(
        call(0, "a", "read", '{"x"'),
        call(1, "b", "read", '{"y"'),
        call(0, None, None, ":1}"),
        call(1, None, None, ":2}"),
    ) == [("a", "read", '{"x":1}'), ("b", "read", '{"y":2}')]


async def test_a_call_without_an_id_gets_one():
    ((made, name, arguments),) = await calls(call(0, None, "read", '{"path":"a"}'))
    assert made.startswith("call_")
    assert (name, arguments) == ("read", '{"path":"a"}')


@pytest.mark.parametrize("nothing", [None, "", "null", " "])
async def test_no_argument_text_means_no_arguments(nothing):
    assert await calls(call(0, "a", "read", nothing)) == [("a", "read", "{}")]


async def test_fragments_without_an_index_belong_to_the_last_call():
    assert await calls(
        call(None, "a", "read", '{"x"'), call(None, None, None, ":1}"), call(None, "b", "read", '{"y":2}')
    ) == [("a", "read", '{"x":1}'), ("b", "read", '{"y":2}')]


async def test_servers_that_number_every_call_zero_are_understood():
    assert await calls(call(0, "a", "read", '{"x":1}'), call(0, "b", "grep", '{"y":2}')) == [
        ("a", "read", '{"x":1}'),
        ("b", "grep", '{"y":2}'),
    ]


@pytest.mark.parametrize("again", ["a", ""])
async def test_an_id_that_is_repeated_or_emptied_changes_nothing(again):
    assert await calls(call(0, "a", "read", '{"x"'), call(0, again, "read", ":1}")) == [
        ("a", "read", '{"x":1}')
    ]


async def test_arguments_that_come_as_an_object_are_text():
    assert await calls(call(0, "a", "read", {"x": 1})) == [("a", "read", '{"x":1}')]


async def test_calls_that_end_with_stop_are_calls():
    events = await play("O", chunk(call(0, "a", "read", "{}")) + chunk(finish="stop"))
    assert runnable(events) == [("read", "{}")]


async def test_a_call_that_names_no_tool_is_a_fault():
    events = await play("O", chunk(call(0, "a", None, "{}")) + chunk(finish="tool_calls"))
    assert runnable(events) == []
    assert events[-1].message.calls[0].fault


async def test_arguments_that_come_before_the_name_wait_for_it():
    events = await play(
        "O",
        chunk(call(0, "a", None, '{"x"')) + chunk(call(0, None, "read", ":1}")) + chunk(finish="tool_calls"),
    )
    assert runnable(events) == [("read", '{"x":1}')]
    started = next(event for event in events if isinstance(event, PartStarted))
    assert (started.call_id, started.name) == ("a", "read")
    assert "".join(event.text for event in events if isinstance(event, ArgumentsDelta)) == '{"x":1}'


async def test_null_empty_and_foreign_chunks_are_skipped():
    strange = b'data: null\n\ndata: {}\n\ndata: {"choices":[]}\n\nevent: done\ndata: {"x":1}\n\n: ping\n\n'
    made = await message(strange, chunk({"content": "a"}), strange, chunk({"content": None}, "stop"), strange)
    assert made.text == "a"


async def test_a_missing_done_is_no_fault():
    assert (await message(chunk({"content": "a"}, "stop"))).text == "a"


async def test_content_in_parts_is_text():
    assert (
        await message(chunk({"content": [{"type": "text", "text": "a"}]}), chunk(finish="stop"))
    ).text == "a"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_of_any_vendor_is_thinking(field):
    made = await message(chunk({field: "hm "}), chunk({field: "so"}), chunk({"content": "a"}, "stop"))
    assert made.content == (Thinking("hm so"), Text("a"))


async def test_a_refusal_is_an_answer_of_its_own_kind():
    made = await message(chunk({"refusal": "no"}), chunk(finish="stop"))
    assert (made.text, made.stop) == ("no", "refusal")


async def test_half_surrogates_in_a_delta_do_not_break_the_answer():
    broken = b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n'
    assert (await message(broken, chunk(finish="stop"))).text == "a\ufffd"


async def test_bytes_that_are_no_unicode_do_not_break_the_answer():
    broken = b'data: {"choices":[{"delta":{"content":"a\xff"}}]}\n\n'
    assert (await message(broken, chunk(finish="stop"))).text == "a\ufffd"


@pytest.mark.parametrize(
    "data",
    [b"data: {\n\n", b"data: <html>\n\n", b'data: {"choices":7}\n\n', b'data: {"choices":[{"delta":7}]}\n\n'],
)
async def test_garbage_is_a_wire_error(data):
    assert (await play("O", chunk({"content": "a"}) + data))[-1].kind == "wire"


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": 10, "completion_tokens": 2}, Usage(10, 2)),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(6, 5, 4, None, 3),
        ),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 4, "completion_tokens": 1}, Usage(6, 1, 4)),
        ({"prompt_tokens": 10, "prompt_tokens_details": None}, Usage(10)),
        ({"prompt_tokens": "10"}, Usage()),
        (
            {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cache_write_tokens": 3}},
            Usage(7, 1, None, 3),
        ),
    ],
)
def test_usage_is_four_parts_and_missing_is_unknown(raw, usage):
    assert usage_of(raw) == usage


async def test_usage_is_found_in_the_choice_and_in_the_last_chunk():
    figures = {"prompt_tokens": 3, "completion_tokens": 1}
    last = chunk({"content": "a"}, "stop", usage=figures)
    assert (await message(last)).usage == Usage(3, 1)
    late = b"data: " + json.dumps({"choices": [], "usage": figures}).encode() + b"\n\n"
    assert (await message(chunk({"content": "a"}, "stop"), late, b"data: [DONE]\n\n")).usage == Usage(3, 1)


def body(model):
    native = Native("openai-chat", "p", "m")
    answer = AssistantMessage((Thinking("hm"), Text("a")), native=native)
    request = ModelRequest(model, (user("x"), answer, user("y")), ("system",))
    return msgspec.json.decode(builder("p").build(request).body)


def test_compat_switches_do_what_they_say():
    plain = body(ModelInfo("m"))
    assert "reasoning_content" not in plain["messages"][2]
    assert plain["messages"][0]["role"] == "system"
    assert plain["stream_options"] == {"include_usage": True}
    other = body(
        ModelInfo(
            "m",
            compat={
                "reasoning_field": "reasoning_content",
                "supports_developer_role": True,
                "supports_usage_in_stream": False,
                "extra_body": {"top_k": 5},
            },
        )
    )
    assert other["messages"][2]["reasoning_content"] == "hm"
    assert other["messages"][0]["role"] == "developer"
    assert "stream_options" not in other
    assert other["top_k"] == 5
