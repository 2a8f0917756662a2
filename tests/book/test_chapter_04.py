"""Promises of chapter 4: nothing runs before an answer is whole, and nothing is asked twice once it began."""

import asyncio
import json

import pytest
from examples.crafting_agents import checkpoint_04, openai_transport
from examples.crafting_agents.context import CONTEXT_TOOLS
from examples.crafting_agents.core import Message, ToolCall, run_agent
from examples.crafting_agents.responses import (
    ProviderFailure,
    ResponsesProvider,
    StreamAssembly,
    TransportError,
    encode_request,
    release,
)
from examples.crafting_agents.stream_replay import (
    Replay,
    ReplayTransport,
    answer_events,
    call_item,
    incomplete_event,
    message_items,
    text_item,
)

READ = call_item("c1", "read", '{"path": "calculator.py"}')
EDIT = call_item("c2", "edit", '{"path": "calculator.py", "old": "-", "new": "+"}')
CALLS = (
    ToolCall("c1", "read", {"path": "calculator.py"}),
    ToolCall("c2", "edit", {"path": "calculator.py", "old": "-", "new": "+"}),
)


def silent(line: str) -> None:
    """A report that shows nothing."""


def answer(*items):
    return answer_events(items, "resp_1")


class Naps:
    """A sleep that only notes how long it was asked to last."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def converse(*replays, report=silent, naps=None):
    """Run the loop over these replays; return its result or failure, what ran, and the transport."""
    transport = ReplayTransport(replays)
    provider = ResponsesProvider(transport, "m", report, naps or Naps())
    ran: list[str] = []

    def execute(call: ToolCall) -> str:
        assert all(stream.closed for stream in transport.streams), "a call ran while its stream was open"
        ran.append(call.id)
        return "fine"

    try:
        ended = await run_agent("go", provider, CONTEXT_TOOLS, execute, report=silent)
    except ProviderFailure as failure:
        ended = failure
    assert all(stream.closed for stream in transport.streams)
    return ended, ran, transport


async def test_a_whole_answer_becomes_one_message_with_its_calls_in_order():
    ended, ran, _ = await converse(
        Replay(answer(text_item("Look, ", "m1"), text_item("then act.", "m2"), READ, EDIT)),
        Replay(answer(text_item("Done.", "m1"))),
    )

    assert ended.history[1] == Message("assistant", "Look, then act.", CALLS)
    assert ended.stop_reason == "model_finished"
    assert ran == ["c1", "c2"]


WHOLE = answer(text_item("Look.", "m1"), READ, EDIT)


@pytest.mark.parametrize("events", range(len(WHOLE)))
@pytest.mark.parametrize("error", [None, TransportError("reset")], ids=["end", "reset"])
async def test_a_stream_cut_at_any_event_runs_nothing_and_is_not_asked_again(events, error):
    ended, ran, transport = await converse(Replay(WHOLE[:events], broken=error))

    assert ended.kind == "disconnect"
    assert ran == []
    assert len(transport.requests) == 1


@pytest.mark.parametrize("events", range(1, len(WHOLE)))
async def test_an_answer_cut_at_the_token_limit_behind_any_event_runs_nothing(events):
    ended, ran, _ = await converse(Replay((*WHOLE[:events], incomplete_event("resp_1"))))

    assert ended.kind == "output_limit"
    assert ran == []


@pytest.mark.parametrize("missing", range(len(WHOLE) - 1))
async def test_losing_an_event_never_changes_what_is_released(missing):
    ended, ran, _ = await converse(
        Replay(WHOLE[:missing] + WHOLE[missing + 1 :]), Replay(answer(text_item("Done.", "m1")))
    )

    # Text is taken from the closing event, so only its preview can be lost without a failure.
    assert ran == ([] if isinstance(ended, ProviderFailure) else ["c1", "c2"])
    if not isinstance(ended, ProviderFailure):
        assert ended.history[1] == Message("assistant", "Look.", CALLS)


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{",
        '{"path": "calculator.py"',
        "[]",
        '"calculator.py"',
        "null",
        "{}",
        '{"path": 1}',
        '{"path": null}',
        '{"path": "calculator.py", "mode": "x"}',
        '{"path": "a", "path": "calculator.py"}',
        '{"path": "\\ud800"}',
        "[" * 16_000,
    ],
)
async def test_exercise_a_valid_call_followed_by_an_invalid_one_does_not_run(arguments):
    ended, ran, _ = await converse(Replay(answer(EDIT, call_item("c9", "read", arguments))))

    assert ended.kind == "malformed"
    assert ran == []


@pytest.mark.parametrize("name", ["shell", "Read", ""])
async def test_a_call_of_a_tool_that_was_not_exposed_blocks_the_answer(name):
    ended, ran, _ = await converse(Replay(answer(READ, call_item("c9", name, "{}"))))

    assert ended.kind == "malformed"
    assert ran == []


def tampered(**changes):
    """The whole answer, with the closing response changed."""
    closing = {**WHOLE[-1]["response"], **changes}
    return (*WHOLE[:-1], {"type": "response.completed", "response": closing})


OUTPUT = WHOLE[-1]["response"]["output"]


@pytest.mark.parametrize(
    "events",
    [
        tampered(id="resp_2"),
        tampered(status="in_progress"),
        tampered(output=None),
        tampered(output=OUTPUT[:2]),
        tampered(output=[*OUTPUT, call_item("c3", "test", "{}")]),
        tampered(output=[OUTPUT[0], {**READ, "arguments": '{"path": "README.md"}'}, EDIT]),
        tampered(output=[OUTPUT[0], {**READ, "arguments": READ["arguments"] + " "}, EDIT]),
        tampered(output=[OUTPUT[0], {**READ, "name": "discover"}, EDIT]),
        tampered(output=[OUTPUT[0], {**READ, "call_id": "c7"}, EDIT]),
        tampered(output=[OUTPUT[0], {**READ, "status": "incomplete"}, EDIT]),
        tampered(output=[OUTPUT[0], READ, READ, EDIT]),
        tampered(output=[{**OUTPUT[0], "status": "incomplete"}, READ, EDIT]),
        tampered(output=[{**OUTPUT[0], "role": "user"}, READ, EDIT]),
        answer(READ, {**call_item("c1", "edit", EDIT["arguments"]), "id": "other"}),
        answer(READ, READ),
        WHOLE[1:],
        (WHOLE[0], *WHOLE),
        ({"no": "type"}, *WHOLE),
        ("text", *WHOLE),
        ({"type": "response.function_call_arguments.delta", "item_id": "fc_c1", "delta": "{"}, *WHOLE),
    ],
)
async def test_an_answer_whose_end_and_pieces_disagree_runs_nothing(events):
    ended, ran, _ = await converse(Replay(tuple(events)))

    assert ended.kind == "malformed"
    assert ran == []


async def test_a_call_id_of_an_earlier_answer_is_not_accepted_again():
    ended, ran, _ = await converse(Replay(answer(READ)), Replay(answer(READ)))

    assert ended.kind == "malformed"
    assert ran == ["c1"]


REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}


@pytest.mark.parametrize(
    "events",
    [
        ({"type": "response.output_item.added", "item": REASONING}, *WHOLE),
        tampered(output=[REASONING, *OUTPUT]),
        tampered(output=[{**OUTPUT[0], "content": [{"type": "refusal", "refusal": "no"}]}, READ, EDIT]),
    ],
    ids=["streamed", "closing", "refusal"],
)
async def test_items_other_than_text_and_calls_are_refused(events):
    ended, ran, _ = await converse(Replay(events))

    assert ended.kind == "unsupported"
    assert ran == []


@pytest.mark.parametrize("event", [{"type": "error", "message": "x"}, {"type": "response.failed"}])
async def test_a_failure_reported_in_the_stream_ends_the_run(event):
    ended, ran, transport = await converse(Replay((*WHOLE[:-1], event)))

    assert ended.kind == "provider_error"
    assert (ran, len(transport.requests)) == ([], 1)


async def test_events_without_meaning_for_us_change_nothing():
    unknown = ({"type": "response.in_progress"}, {"type": "response.some_future_event", "x": 1})
    ended, ran, _ = await converse(Replay((*unknown, *WHOLE)), Replay(answer(text_item("End.", "m1"))))

    assert ran == ["c1", "c2"]
    assert ended.stop_reason == "model_finished"


@pytest.mark.parametrize(("characters", "accepted"), [(64_000, True), (64_001, False)])
async def test_text_is_limited_to_64000_characters(characters, accepted):
    text = "\u00e9" * characters
    ended, _, _ = await converse(Replay(answer(text_item(text, "m1"))))

    assert accepted is (not isinstance(ended, ProviderFailure))
    assert accepted or ended.kind == "limit"


async def test_the_limit_holds_for_the_closing_text_too():
    closing = {"id": "r", "status": "completed", "output": [text_item("x" * 64_001, "m1")]}
    events = (
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.completed", "response": closing},
    )
    ended, _, _ = await converse(Replay(events))

    assert ended.kind == "limit"


@pytest.mark.parametrize(("characters", "accepted"), [(16_000, True), (16_001, False)])
async def test_arguments_are_limited_to_16000_characters_per_call(characters, accepted):
    empty = len(json.dumps({"path": ""}))
    items = [call_item(name, "read", json.dumps({"path": "x" * (characters - empty)})) for name in ("a", "b")]
    ended, ran, _ = await converse(Replay(answer(*items)), Replay(answer(text_item("End.", "m1"))))

    assert ran == (["a", "b"] if accepted else [])
    assert accepted or ended.kind == "limit"


@pytest.mark.parametrize(("calls", "accepted"), [(8, True), (9, False)])
async def test_an_answer_may_hold_eight_calls(calls, accepted):
    items = [call_item(f"c{number}", "test", "{}") for number in range(calls)]
    ended, ran, _ = await converse(Replay(answer(*items)), Replay(answer(text_item("End.", "m1"))))

    assert len(ran) == (8 if accepted else 0)
    assert accepted or ended.kind == "limit"


@pytest.mark.parametrize("status", [None, 500, 503, 599])
async def test_an_opening_is_tried_three_times_with_a_doubling_delay(status):
    naps, lines = Naps(), []
    refused = Replay(refused=TransportError("down", status))
    ended, ran, transport = await converse(refused, refused, refused, report=lines.append, naps=naps)

    assert ended.kind == "opening"
    assert (ran, len(transport.requests)) == ([], 3)
    assert lines == ["retry opening: attempt 2/3", "retry opening: attempt 3/3"]
    assert naps.seconds == [pytest.approx(0.25, rel=0.1), pytest.approx(0.5, rel=0.1)]
    assert transport.requests[0] == transport.requests[2]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429])
async def test_a_refusal_of_the_request_itself_is_not_retried(status):
    naps = Naps()
    ended, _, transport = await converse(Replay(refused=TransportError("no", status)), naps=naps)

    assert ended.kind == "opening"
    assert (len(transport.requests), naps.seconds) == (1, [])


async def test_after_a_successful_retry_each_operation_runs_once():
    ended, ran, transport = await converse(
        Replay(refused=TransportError("down", 503)),
        Replay(answer(READ, EDIT)),
        Replay(answer(text_item("End.", "m1")), after="fine"),
    )

    assert ended.stop_reason == "model_finished"
    assert (ran, len(transport.requests)) == (["c1", "c2"], 3)


async def test_a_cancelled_answer_closes_its_stream():
    class Stalled(ReplayTransport):
        async def open(self, request):
            stream = await super().open(request)

            class Waiting(type(stream)):
                async def __aiter__(self):
                    await asyncio.Event().wait()
                    yield {}

            self.streams[-1] = Waiting(Replay())
            return self.streams[-1]

    transport = Stalled([Replay()])
    task = asyncio.create_task(
        ResponsesProvider(transport, "m", silent).complete([Message("user", "go")], ())
    )
    while not transport.streams:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert transport.streams[0].closed


async def test_preview_lines_tell_of_text_and_arguments_and_escape_control_characters():
    lines: list[str] = []
    events = answer(text_item("\x1b[2J\x07", "m1"), READ)
    await converse(Replay(events), Replay(answer(text_item("End.", "m1"))), report=lines.append)

    assert any(line.startswith("text delta: ") for line in lines)
    assert any(line.startswith("arguments buffered: ") for line in lines)
    assert not any("\x1b" in line or "\x07" in line for line in lines)


def test_every_request_carries_the_full_history_and_no_state_at_the_provider():
    history = [
        Message("system", "be brief"),
        Message("user", "go"),
        Message("assistant", "Look.", CALLS[:1]),
        Message("tool", "text", tool_call_id="c1"),
    ]
    request = encode_request(history, CONTEXT_TOOLS[1:2], "m")

    assert request == {
        "model": "m",
        "input": [
            {"type": "message", "role": "system", "content": "be brief"},
            {"type": "message", "role": "user", "content": "go"},
            {"type": "message", "role": "assistant", "content": "Look."},
            {
                "type": "function_call",
                "call_id": "c1",
                "name": "read",
                "arguments": '{"path": "calculator.py"}',
            },
            {"type": "function_call_output", "call_id": "c1", "output": "text"},
        ],
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": CONTEXT_TOOLS[1].description,
                "parameters": {
                    "type": "object",
                    "properties": {"path": {"type": "string"}},
                    "required": ["path"],
                    "additionalProperties": False,
                },
                "strict": True,
            }
        ],
        "stream": True,
        "store": False,
        "parallel_tool_calls": False,
        "max_output_tokens": 2_048,
    }


def test_an_item_that_is_done_is_no_authority():
    assembly = StreamAssembly(silent)
    for event in answer(EDIT)[:-1]:
        assembly.accept(event)

    with pytest.raises(ProviderFailure, match="disconnect"):
        release(assembly, CONTEXT_TOOLS)


@pytest.mark.parametrize(
    "flags",
    [
        ["--live", "--scenario", "retry"],
        ["--model", "x"],
        ["--allow-execution"],
        ["--scenario", "retry", "--allow-execution"],
        ["--scenario", "unknown"],
        ["--unknown"],
    ],
)
def test_flags_that_contradict_each_other_are_usage_errors(flags, capsys):
    with pytest.raises(SystemExit) as stopped:
        checkpoint_04.main(flags)

    assert stopped.value.code == 2
    assert "error:" in capsys.readouterr().err


class LiveStandIn(ReplayTransport):
    """A replay in the place of the live transport."""

    closed = False

    async def aclose(self) -> None:
        self.closed = True


def live_project(tmp_path):
    for name, text in checkpoint_04.CONTEXT_PROJECT.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def act(name, **arguments):
    return message_items(Message("assistant", "", (ToolCall("c1", name, arguments),)))


FIX = {"path": "calculator.py", "old": "a - b", "new": "a + b"}


def test_a_live_run_exposes_reading_only_unless_execution_is_allowed(tmp_path, capsys):
    transport = LiveStandIn([Replay(answer(text_item("It subtracts.", "m1")))])
    status = checkpoint_04.live(live_project(tmp_path), transport, "some-model", allow_execution=False)

    assert status == 0
    assert [tool["name"] for tool in transport.requests[0]["tools"]] == ["discover", "read"]
    assert transport.requests[0]["model"] == "some-model"
    assert transport.closed
    assert capsys.readouterr().out.endswith("stopped: model_finished\n")


def test_a_live_edit_that_was_not_allowed_ends_the_run_without_effect(tmp_path, capsys):
    transport = LiveStandIn([Replay(answer(*act("edit", **FIX)))])
    status = checkpoint_04.live(live_project(tmp_path), transport, "m", allow_execution=False)

    assert status == 1
    assert "a - b" in (tmp_path / "calculator.py").read_text()
    assert "stopped: provider_failure (" in capsys.readouterr().out


def test_a_live_edit_that_was_allowed_is_carried_out(tmp_path, capsys):
    transport = LiveStandIn(
        [Replay(answer(*act("edit", **FIX))), Replay(answer(text_item("Done.", "m1")), after="edited")]
    )
    status = checkpoint_04.live(live_project(tmp_path), transport, "m", allow_execution=True)

    assert status == 0
    assert len(transport.requests[0]["tools"]) == 4
    assert "a + b" in (tmp_path / "calculator.py").read_text()


def test_a_live_run_that_reaches_the_turn_limit_exits_1(tmp_path, capsys):
    answers = [Replay(answer(call_item(f"c{number}", "discover", "{}"))) for number in range(10)]
    status = checkpoint_04.live(live_project(tmp_path), LiveStandIn(answers), "m", allow_execution=False)

    assert status == 1
    assert capsys.readouterr().out.endswith("stopped: turn_limit\n")


async def serve(status: int, body: bytes, run):
    """Answer every request of a local HTTP server with this, while run(port) goes on."""
    requests: list[bytes] = []

    async def handle(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        requests.append(await reader.readexactly(length))
        kind = b"text/event-stream" if status == 200 else b"application/json"
        writer.write(
            b"HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n" % (status, kind, len(body))
        )
        writer.write(b"Connection: close\r\n\r\n" + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        await run(server.sockets[0].getsockname()[1])
    return requests


def sse(events) -> bytes:
    return b"".join(b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events)


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, sse(answer(text_item("Look.", "m1"), READ)), None),
        (200, sse(answer(READ)[:-1]), "disconnect"),
        (401, b'{"error": {"message": "bad key SECRET", "type": "x"}}', "opening"),
        (200, b"data: not json\n\n", "disconnect"),
    ],
    ids=["answer", "cut", "refused", "garbage"],
)
async def test_the_real_sdk_feeds_the_same_rules(status, body, expected):
    openai = pytest.importorskip("openai")
    outcome: list[object] = []

    async def run(port: int) -> None:
        client = openai.AsyncOpenAI(
            api_key="k", base_url=f"http://127.0.0.1:{port}/v1", max_retries=0, timeout=10
        )
        transport = openai_transport.OpenAITransport(client, openai.OpenAIError)
        provider = ResponsesProvider(transport, "m", silent)
        try:
            outcome.append(await provider.complete([Message("user", "go")], CONTEXT_TOOLS))
        except ProviderFailure as failure:
            outcome.append(failure)
        finally:
            await transport.aclose()

    requests = await serve(status, body, run)

    assert len(requests) == 1
    assert json.loads(requests[0]) == encode_request([Message("user", "go")], CONTEXT_TOOLS, "m")
    if expected is None:
        assert outcome == [Message("assistant", "Look.", CALLS[:1])]
    else:
        assert outcome[0].kind == expected
        assert "SECRET" not in str(outcome[0])
