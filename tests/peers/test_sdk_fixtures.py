"""What the vendors' SDKs make of their own fixtures, we make of them too, but for the table below.

| fixture | the SDK | we, on purpose |
|---|---|---|
| anthropic, tool_use_invalid_json | raises | keep the message; the call carries a fault and is answered with an error |
| anthropic, refusal | an empty text block | no block: an empty text says nothing |
| anthropic, a-refusal, a-toolrefusal | as it came | the same, and nothing in it may run |
| openai, websocket scenarios with a delta before `output_item.added` | takes it | a protocol error: nothing runs |
| openai, a choice of another index | several choices | the first that is there; we ask for one |
| openai, google: an event that holds `[DONE]` or no JSON | raises | skipped where harmless, else a wire error |
"""

import json
from pathlib import Path
from types import SimpleNamespace

import anthropic
import msgspec
import openai
import pytest
from openai._streaming import SSEDecoder
from peers.sdists import alone, functions, unpacked
from providers.golden import AFTER_A_CALL

from wisp.messages.content import Opaque, Text, Thinking, ToolCall
from wisp.providers.errors import ProviderError
from wisp.providers.events import Failed, Finished
from wisp.providers.registry import dialect
from wisp.providers.sse import SseReader
from wisp.providers.wire import Target
from wisp.testing.asking import ask, provider_for
from wisp.testing.model_server import ModelServer
from wisp.testing.steps import Step

pytestmark = [pytest.mark.peer, pytest.mark.timeout(120)]


async def ours(api, raw):
    """The last event that our whole provider makes of raw bytes over HTTP."""
    async with ModelServer([Step(raw=raw)] * 2, lenient=True) as server:
        provider = provider_for(server, api, retries=0)
        try:
            return (await ask(provider, AFTER_A_CALL))[-1]  # where an answer may be empty, as some are here
        finally:
            await provider.aclose()


# -- anthropic --------------------------------------------------------------------------------------------

GOLDEN = {
    "basic": ("stop", ["text"], 6),
    "unknown_events": ("stop", ["text"], 6),
    "context_management": ("stop", ["text"], 8),
    "fallback_credit": ("stop", ["text"], 8),
    "input_transformations_delta": ("stop", ["text"], 8),
    "input_transformations_empty_delta": ("stop", ["text"], 8),
    "input_transformations_start_only": ("stop", ["text"], 8),
    "message_delta_fields": ("stop", ["text"], 8),
    "message_delta_omitted_usage": ("stop", ["text"], 8),
    "compaction": ("stop", ["compaction", "text"], 8),
    "fallback": ("stop", ["fallback", "text"], 8),
    "server_tool_use": ("stop", ["server_tool_use", "web_search_tool_result", "text"], 97),
    "tool_use": ("tool_calls", ["text", "tool_use"], 65),
    "incomplete_partial_json": ("length", ["text", "tool_use"], 124),
    "tool_use_invalid_json": ("tool_calls", ["text", "tool_use"], 65),
    "refusal": ("refusal", [], 0),
}
STOPS = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "refusal"}


def kind_of(block):
    if isinstance(block, Opaque):
        return block.kind
    return {Text: "text", Thinking: "thinking", ToolCall: "tool_use"}[type(block)]


async def theirs(raw):
    async with ModelServer([Step(raw=raw)], lenient=True) as server:
        client = anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0)
        async with (
            client,
            client.beta.messages.stream(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "go"}]
            ) as stream,
        ):
            return await stream.get_final_message()


def transcripts():
    folder = unpacked("anthropic") / "tests/lib/streaming/fixtures"
    return {file.name.removesuffix("_response.txt"): file for file in sorted(folder.glob("*.txt"))}


def test_every_transcript_of_the_anthropic_sdk_stands_in_our_table():
    assert set(transcripts()) == set(GOLDEN)


@pytest.mark.parametrize("name", GOLDEN)
async def test_a_transcript_gives_what_the_anthropic_sdk_makes_of_it(name):
    raw = transcripts()[name].read_text("utf-8")
    last = await ours("anthropic-messages", raw)
    assert isinstance(last, Finished), last
    message = last.message
    stop, kinds, output = GOLDEN[name]
    assert (message.stop, [kind_of(block) for block in message.content]) == (stop, kinds)
    assert message.usage is not None
    assert message.usage.output_tokens == output
    if name == "tool_use_invalid_json":
        assert message.calls[0].fault
        assert message.calls[0].arguments == "{}"
        with pytest.raises(ValueError, match="JSON"):
            await theirs(raw)
        return
    final = await theirs(raw)
    assert STOPS[final.stop_reason] == stop
    assert final.usage.input_tokens == message.usage.input_tokens
    assert final.usage.output_tokens == output
    shown = [block for block in final.content if block.type != "text" or block.text]
    assert [block.type for block in shown] == kinds
    for block, mine in zip(shown, message.content, strict=True):
        if isinstance(mine, Text):
            assert mine.text == block.text
        elif isinstance(mine, ToolCall) and name != "incomplete_partial_json":
            assert (mine.id, mine.name, json.loads(mine.arguments)) == (block.id, block.name, block.input)
        elif isinstance(mine, Opaque):
            kept, known = json.loads(mine.json), block.to_dict(mode="json")
            assert {key: kept.get(key) for key in known} == known
    if name == "incomplete_partial_json":
        assert message.stop == "length"  # and so it does not run


@pytest.mark.parametrize("name", ["stream-a-refusal", "stream-a-toolrefusal", "stream-b-fallback"])
async def test_refusals_with_a_fallback_run_nothing_and_read_as_the_sdk_reads_them(name):
    raw = (unpacked("anthropic") / "tests/fixtures/fable-fallback" / f"{name}.sse").read_text("utf-8")
    last = await ours("anthropic-messages", raw)
    assert isinstance(last, Finished)
    final = await theirs(raw)
    assert last.message.text == "".join(block.text for block in final.content if block.type == "text")
    assert last.message.stop == STOPS[final.stop_reason]


# -- openai -----------------------------------------------------------------------------------------------


def sse_bodies(sdk, file):
    return {
        f"{sdk}:{test}": function
        for test, function in functions(unpacked(sdk) / file, "body")
        if not function.args.args
    }


@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_the_bytes_of_the_sdks_framing_tests_give_the_events_that_openais_decoder_gives(sdk):
    found = 0
    for name, function in sse_bodies(sdk, "tests/test_streaming.py").items():
        try:
            chunks = list(alone(function)())
        except (NameError, SyntaxError):
            continue  # needs the test around it
        if not chunks or not all(isinstance(chunk, bytes) for chunk in chunks):
            continue
        found += 1
        expected = [(e.event or "", e.data) for e in SSEDecoder().iter_bytes(iter(chunks)) if e.data]
        for pieces in (chunks, [b"".join(chunks)], [bytes([byte]) for byte in b"".join(chunks)]):
            reader = SseReader()
            mine = [event for piece in pieces for event in reader.feed(piece)]
            got = [(event, data.decode()) for event, data in mine if data]
            assert got == expected, name
    assert found >= 8


def scenario_names():
    return ["initial", "after_role", "empty", "existing_tool", "parallel", "new_choice"]


@pytest.mark.parametrize("name", scenario_names())
async def test_tool_call_chunks_of_the_openai_sdk_become_the_calls_that_it_makes_of_them(name):
    file = unpacked("openai") / "tests/lib/chat/test_tool_call_deltas.py"
    import ast

    function = next(
        node
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "tool_call_chunks"
    )
    chunks = alone(function)(SimpleNamespace(param=name))
    raw = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    last = await ours("openai-chat", raw)
    assert isinstance(last, Finished)
    calls = {call.id: (call.name, json.loads(call.arguments)) for call in last.message.calls}
    async with ModelServer([Step(raw=raw)], lenient=True) as server:
        client = openai.AsyncOpenAI(api_key="k", base_url=server.base_url("openai-chat"), max_retries=0)
        async with client, client.chat.completions.stream(model="m", messages=[]) as stream:
            final = await stream.get_final_completion()
    known = {
        call.id: (call.function.name, json.loads(call.function.arguments))
        for choice in final.choices
        for call in choice.message.tool_calls or []
    }
    assert calls == known
    assert known["call_files"] == ("list_files", {"path": "."})


RESPONSES = {
    "completed_then_completed": ("wire", "stop"),  # a delta for an item that was never added
    "failed_then_completed": ("overload", "stop"),
    "incomplete_then_completed": ("length", "stop"),
    "nested_error_then_completed": ("request", "stop"),
    "unknown_event_and_fields": ("stop",),
    "premature_close_1000": ("wire",),
    "premature_close_1011": ("wire",),
    "malformed_json": ("wire",),
}


async def test_response_streams_of_the_openai_sdk_end_as_it_says_or_as_our_table_says():
    file = unpacked("openai") / "tests/lib/responses/fixtures/websocket_scenarios.json"
    got = {}
    for scenario in json.loads(file.read_text("utf-8"))["scenarios"]:
        ends = []
        for turn in scenario["turns"]:
            texts = [f if isinstance(f, str) else json.dumps(f) for f in turn["frames"]]
            last = await ours("openai-responses", "".join(f"data: {text}\n\n" for text in texts))
            ends.append(last.message.stop if isinstance(last, Finished) else last.kind)
            final = turn["frames"][-1]
            if isinstance(last, Finished):  # the SDK's result is the response of the terminal event
                said = [
                    part["text"]
                    for item in final["response"]["output"]
                    for part in item.get("content") or ()
                    if part["type"] == "output_text"
                ]
                assert last.message.text == "".join(said)
        got[scenario["id"]] = tuple(ends)
    assert got == RESPONSES


# -- google -----------------------------------------------------------------------------------------------


async def test_an_error_in_the_middle_of_googles_own_stream_fixture_is_a_failure_with_what_was_said():
    import ast

    file = unpacked("google-genai") / "google/genai/tests/client/test_async_stream.py"
    lines = next(
        ast.literal_eval(node.value)
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "EVENT_STREAM_DATA_WITH_ERROR"
    )
    events = [line for line in lines if line.strip()]
    raw = "".join(f"data: {line.decode()}\n\n" for line in events)
    last = await ours("gemini", raw)
    assert isinstance(last, Failed)
    assert last.kind == "overload"
    assert last.partial is not None
    assert last.partial.text == "test"


def test_every_json_line_in_googles_stream_tests_is_decoded_or_refused_as_wire_and_never_raises():
    import ast

    folder: Path = unpacked("google-genai") / "google/genai/tests"
    found = 0
    for file in sorted(folder.glob("*/test_*stream*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str | bytes):
                continue
            text = node.value if isinstance(node.value, bytes) else node.value.encode("utf-8", "replace")
            text = text.removeprefix(b"data: ").strip()
            if not text.startswith((b"{", b"[")):
                continue
            found += 1
            decoder = dialect("gemini").decoder(Target("gemini", "g", "m"), lambda: "minted")
            try:
                decoder.feed("", text)
                decoder.end()
            except ProviderError:
                pass
    assert found >= 5
    assert msgspec.json.encode(found)
