"""What goes out: lawful for a strict service, typed like the vendors' own, and stable in its prefix."""

import anthropic.types.message_create_params as anthropic_params
import msgspec
import openai.types.chat.completion_create_params as chat_params
import openai.types.responses.response_create_params as responses_params
import pydantic
import pytest
from providers.histories import HISTORIES, MENDED, asked, result, said

from wisp.messages.content import Image, Text, Thinking
from wisp.messages.message import AssistantMessage, Native, user
from wisp.messages.usage import Usage
from wisp.providers.base import ModelInfo, ModelRequest
from wisp.providers.registry import dialect
from wisp.testing.asking import APIS, MODEL, READ
from wisp.testing.requests import DIALECTS, items, problems_of

PARAMS = {
    "openai-chat": chat_params.CompletionCreateParamsStreaming,
    "openai-responses": responses_params.ResponseCreateParamsStreaming,
    "anthropic-messages": anthropic_params.MessageCreateParamsStreaming,
}
ADAPTERS = {}


def request(messages, model=MODEL, **fields):
    return ModelRequest(model, tuple(messages), ("You are a test.", "Second block."), (READ,), **fields)


def build(api, messages, model=MODEL, builder=None, **fields):
    builder = builder or dialect(api).builder("case")
    return builder.build(request(messages, model, **fields))


def body_of(api, messages, model=MODEL, **fields):
    return msgspec.json.decode(build(api, messages, model, **fields).body)


def short(api):
    wire = build(api, [user("x")])
    return next(name for tail, name in DIALECTS.items() if wire.path.partition("?")[0].endswith(tail))


def accepts(api, body):
    """Raise unless the vendor's own parameter types take the body and know every key at the top."""
    if api not in PARAMS:
        return  # this vendor's own types are not among the development tools
    if api not in ADAPTERS:
        ADAPTERS[api] = pydantic.TypeAdapter(PARAMS[api])
    ADAPTERS[api].validate_python(body)
    known = set()
    for kind in PARAMS[api].__mro__ if hasattr(PARAMS[api], "__mro__") else ():
        known |= set(getattr(kind, "__annotations__", {}))
    for kind in getattr(PARAMS[api], "__orig_bases__", ()):
        known |= set(getattr(kind, "__annotations__", {}))
    assert set(body) <= known, set(body) - known


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", HISTORIES)
def test_a_hostile_history_becomes_a_request_nobody_refuses(name, api):
    body = body_of(api, HISTORIES[name])
    assert problems_of(short(api), body) == []
    accepts(api, body)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", HISTORIES)
def test_what_was_mended_is_said_and_nothing_else(name, api):
    notes = "\n".join(build(api, HISTORIES[name]).notes)
    expected = [
        words
        for words in MENDED.get(name, ())
        if api in ("anthropic-messages", "gemini") or "a line was put" not in words
        if api == "anthropic-messages" or "behind a call" not in words
    ]
    assert len(notes.splitlines()) == len(expected), notes
    for words in expected:
        assert words in notes


@pytest.mark.parametrize("api", APIS)
def test_mending_is_said_again_as_long_as_the_history_needs_it(api):
    builder = dialect(api).builder("case")
    history = [*HISTORIES["a result that answers nothing"], said(Text("b")), user("c")]
    first = build(api, history, builder=builder).notes
    later = build(api, [*history, said(Text("d")), user("e")], builder=builder).notes
    assert first == later != ()


@pytest.mark.parametrize("api", APIS)
def test_every_option_is_one_the_vendor_knows(api):
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}
    model = msgspec.structs.replace(
        MODEL,
        compat={"supports_cache_key": True, "strict": True, "max_tokens_field": "max_completion_tokens"},
    )
    body = body_of(
        api, [user("x")], model, effort="high", session_id="s1", output_schema=schema, max_output=2000
    )
    accepts(api, body)
    assert b"high" in msgspec.json.encode(body)


@pytest.mark.parametrize("api", APIS)
def test_every_result_stands_directly_behind_its_calls(api):
    messages = [
        user("a"),
        said(Text("t"), asked("c1"), asked("c2"), stop="tool_calls"),
        result("c2"),
        result("c1"),
        user("b"),
    ]
    kinds = [(item.kind, item.id) for item in items(short(api), body_of(api, messages))]
    if api == "gemini":  # pairs calls and results by their order
        assert [kind for kind, _ in kinds[-5:]] == ["call", "call", "result", "result", "user"]
        return
    assert kinds[-5:] == [("call", "c1"), ("call", "c2"), ("result", "c1"), ("result", "c2"), ("user", "")]


def test_all_results_of_a_batch_stand_in_one_user_message_before_any_text():
    messages = [user("a"), said(asked("c1"), asked("c2")), result("c1"), result("c2"), user("b")]
    last = body_of("anthropic-messages", messages)["messages"][-1]
    assert last["role"] == "user"
    assert [block["type"] for block in last["content"]] == ["tool_result", "tool_result", "text"]


@pytest.mark.parametrize("api", APIS)
def test_each_request_begins_with_the_bytes_of_the_one_before(api):
    builder = dialect(api).builder("case")
    messages = [user("go")]
    before = None
    for turn in range(12):
        body = build(api, messages, builder=builder, session_id="s").body
        assert body == build(api, messages, session_id="s").body  # the cache changes nothing
        if before is not None:
            common = next(k for k, (a, b) in enumerate(zip(before, body, strict=False)) if a != b)
            assert len(before) - common <= len(b'],"max_tokens":4000}')
        before = body
        messages += [
            said(Text(f"turn {turn} é"), asked(f"c{turn}"), stop="tool_calls", native=own(api)),
            result(f"c{turn}"),
        ]
        if turn % 3 == 0:
            messages.append(user(f"steering {turn}"))


def own(api, items=()):
    return Native(api, "case", MODEL.id, items)


@pytest.mark.parametrize("api", APIS)
def test_a_long_history_is_encoded_once(api):
    builder = dialect(api).builder("case")
    messages = [user("go")]
    for turn in range(200):
        messages += [said(Text("t" * 100), asked(f"c{turn}")), result(f"c{turn}")]
    build(api, messages, builder=builder)
    encoded = []
    history = builder._history
    encode = history._encode
    history._encode = lambda exchange, last: encoded.append(exchange) or encode(exchange, last)
    messages += [said(Text("t"), asked("new")), result("new")]
    build(api, messages, builder=builder)
    assert len(encoded) == 2  # the exchange that was open, and the new one


def test_thinking_goes_back_unchanged_only_to_the_model_it_came_from():
    message = said(
        Thinking("hm", "sig"), Thinking("", redacted="xyz"), Text("b"), native=own("anthropic-messages")
    )
    history = [user("a"), message, user("c")]
    blocks = body_of("anthropic-messages", history)["messages"][1]["content"]
    assert blocks == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "b"},
    ]
    other = ModelInfo("another-model")
    blocks = body_of("anthropic-messages", history, other)["messages"][1]["content"]
    assert blocks == [{"type": "text", "text": "b"}]


def test_response_items_go_back_byte_for_byte_to_the_model_they_came_from():
    items = (
        '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"seal", "x" : 1}',
        '{"type":"message","role":"assistant","phase":"final_answer","content":[]}',
        '{"type":"function_call","call_id":"c1","name":"read","arguments":"{\\"path\\":\\"a\\"}","id":"fc"}',
    )
    message = said(
        Thinking("hm"), Text("b"), asked(), stop="tool_calls", native=own("openai-responses", items)
    )
    history = [user("a"), message, result()]
    assert ",".join(items).encode() in build("openai-responses", history).body
    elsewhere = build("openai-responses", history, ModelInfo("another-model")).body
    assert b"encrypted_content" not in elsewhere
    assert b'"call_id":"c1"' in elsewhere


def test_reasoning_of_a_cut_answer_does_not_go_back():
    items = ('{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"seal"}',)
    message = said(Thinking("hm"), native=own("openai-responses", items), stop="error", error="cut")
    assert (
        b"reasoning"
        not in build("openai-responses", [user("a"), message, user("b")]).body.partition(b"input")[2]
    )


@pytest.mark.parametrize("api", APIS)
def test_a_refused_call_goes_back_as_valid_json(api):
    items = ('{"type":"function_call","call_id":"c1","name":"read","arguments":"{\\"x\\":"}',)
    call = asked(arguments="{}", fault="not JSON")
    message = said(call, stop="tool_calls", native=own(api, items if "responses" in api else ()))
    body = build(api, [user("a"), message, result("c1", is_error=True)]).body
    assert b'{\\"x\\":' not in body
    assert problems_of(short(api), msgspec.json.decode(body)) == []


@pytest.mark.parametrize("api", APIS)
def test_pictures_become_a_word_for_models_that_do_not_see(api):
    blind = msgspec.structs.replace(MODEL, images=False)
    body = build(api, HISTORIES["only a picture"], blind).body
    assert b"iVBOR" not in body
    assert b"an image was here" in body
    assert b"iVBOR" in build(api, HISTORIES["only a picture"]).body


def limit(used=None, window=200_000, ceiling=64_000, size=0):
    messages = [user("x" * size)]
    if used is not None:
        messages = [user("a"), AssistantMessage((Text("b"),), usage=Usage(used, 0)), user("c")]
    model = msgspec.structs.replace(MODEL, context_window=window, max_output=ceiling)
    return body_of("anthropic-messages", messages, model)["max_tokens"]


def test_the_output_figure_leaves_the_prompt_its_room():
    assert limit() == 64_000
    assert 20_000 < limit(used=170_000) <= 30_000
    assert 20_000 < limit(size=170_000 * 4) <= 30_000
    assert limit(used=199_900) == 1024
    assert limit(window=None) == 64_000


def test_a_picture_does_not_count_as_text_when_room_is_estimated():
    picture = Image("image/png", "A" * 4_000_000)
    model = msgspec.structs.replace(MODEL, context_window=200_000, max_output=64_000)
    messages = [msgspec.structs.replace(user("x"), content=(picture,))]
    assert body_of("anthropic-messages", messages, model)["max_tokens"] == 64_000
