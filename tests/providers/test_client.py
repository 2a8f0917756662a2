"""A provider over HTTP as its users see it: cancelling, deadlines, re-use, secrets, recordings."""

import asyncio
import time

import msgspec
import pytest

from wisp.messages.ids import FixedClock, SystemClock
from wisp.messages.message import user
from wisp.providers.base import ModelInfo, ModelRequest
from wisp.providers.client import HttpProvider
from wisp.providers.endpoint import Endpoint, Secret, Timeouts
from wisp.providers.errors import RequestError
from wisp.providers.events import Failed, Finished, Retrying, Started, TextDelta
from wisp.providers.http import HttpTransport
from wisp.providers.registry import DIALECTS, VENDORS, build_provider, dialect
from wisp.providers.replayed import RecordingTransport, ReplayTransport, load_recording
from wisp.testing.asking import APIS, KEY, ask, provider_for, results_for
from wisp.testing.model_server import ModelServer
from wisp.testing.steps import Call, Fault, Step

REQUEST = ModelRequest(ModelInfo("scripted-model"), (user("go"),))
LONG = Step("word " * 2000, pause=0.005)


@pytest.mark.parametrize("api", APIS)
async def test_leaving_a_stream_early_closes_its_connection(api):
    async with ModelServer([LONG]) as server:
        provider = provider_for(server, api)
        stream = provider.stream(REQUEST)
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        began = time.monotonic()
        await stream.aclose()
        while not server.closed_early and time.monotonic() - began < 0.5:
            await asyncio.sleep(0.01)
        assert server.closed_early == 1


async def test_cancelling_the_task_closes_the_connection():
    async with ModelServer([LONG]) as server:
        provider = provider_for(server, "openai-chat")
        seen = asyncio.Event()

        async def consume():
            async for event in provider.stream(REQUEST):
                if isinstance(event, TextDelta):
                    seen.set()

        task = asyncio.ensure_future(consume())
        await seen.wait()
        task.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 0.5
        while not server.closed_early and time.monotonic() - began < 0.5:
            await asyncio.sleep(0.01)
        assert server.closed_early == 1


async def test_nothing_is_sent_before_the_first_event_is_asked_for():
    async with ModelServer([Step("x")]) as server:
        stream = provider_for(server, "openai-chat").stream(REQUEST)
        await asyncio.sleep(0.02)
        assert server.connections == 0
        await stream.aclose()


@pytest.mark.parametrize("api", APIS)
async def test_a_whole_run_uses_one_connection(api):
    steps = [Step(calls=(Call("read", {"path": f"{turn}"}),)) for turn in range(5)]
    async with ModelServer([*steps, Step("done", after="content")]) as server:
        provider = provider_for(server, api)
        history = [user("go")]
        for _ in range(6):
            message = (await ask(provider, history))[-1].message
            history += [message, *results_for(message, "content")]
        assert (server.connections, server.problems) == (1, [])
        await provider.aclose()


async def test_a_dead_endpoint_is_given_up_at_its_deadline():
    clock = FixedClock()

    async def sleep(seconds):
        clock.advance(seconds)

    class Silent:
        """Takes its connect time-out every time."""

        tried = 0

        async def send(self, url, target, headers, body, timeouts):
            from wisp.providers.errors import ConnectError

            self.tried += 1
            clock.advance(min(timeouts.connect, timeouts.first_byte))
            raise ConnectError("no connection")

    transport = Silent()
    endpoint = Endpoint("dead", "openai-chat", "http://dead.test/v1", max_retries=99, dead_after=90.0)
    provider = HttpProvider(endpoint, dialect("openai-chat"), transport, clock, sleep=sleep)
    events = [event async for event in provider.stream(REQUEST)]
    assert events[-1].kind == "connect"
    assert clock.monotonic() <= 90.0
    assert transport.tried > 4


async def test_the_deadline_of_a_dead_endpoint_is_not_one_for_a_living_one():
    async with ModelServer([Step("ok", fault=Fault(429, headers={"retry-after": "50"}, times=3))]) as server:
        waits = []
        provider = provider_for(server, "openai-chat", waits=waits, dead_after=90.0)
        assert isinstance((await ask(provider, [user("go")]))[-1], Finished)
        assert waits == [50.0, 50.0, 50.0]
        await provider.aclose()


async def test_retries_are_announced_with_their_number_and_wait():
    async with ModelServer([Step("ok", fault=Fault(503, times=2))]) as server:
        provider = provider_for(server, "openai-chat")
        events = await ask(provider, [user("go")])
        retries = [event for event in events if isinstance(event, Retrying)]
        assert [(r.attempt, r.max_attempts, r.delay, r.status) for r in retries] == [
            (2, 4, 0.5, 503),
            (3, 4, 1.0, 503),
        ]
        await provider.aclose()


@pytest.mark.parametrize("api", APIS)
async def test_the_key_is_in_the_request_and_nowhere_else(api):
    body = f'{{"error":{{"message":"bad key {KEY} and header hush-hush-1"}}}}'
    async with ModelServer([Step("x", fault=Fault(401, body=body, times=9))]) as server:
        endpoint = Endpoint("s", api, server.base_url(api), Secret(KEY), (("x-extra", "hush-hush-1"),))
        provider = build_provider(endpoint, SystemClock())
        failed = (await ask(provider, [user("go")]))[-1]
        assert isinstance(failed, Failed)
        sent = server.requests[0].headers
        assert KEY in "".join(sent.get(n, "") for n in ("authorization", "x-api-key", "x-goog-api-key"))
        assert KEY not in server.requests[0].path
        assert sent["x-extra"] == "hush-hush-1"
        for text in (
            failed.message,
            repr(endpoint),
            repr(provider),
            str(provider.url),
            repr(vars(provider)["_endpoint"]),
        ):
            assert KEY not in text
        assert "hush-hush-1" not in failed.message
        await provider.aclose()


def test_a_secret_shows_itself_to_nobody():
    secret = Secret("sk-12345678")
    assert "12345678" not in f"{secret} {secret!r}"
    with pytest.raises(TypeError):
        msgspec.json.encode(secret)
    with pytest.raises(TypeError):
        __import__("pickle").dumps(secret)
    assert Secret("sk-12345678\n").reveal() == "sk-12345678"


async def test_no_key_means_no_credential_header():
    async with ModelServer([Step("ok")]) as server:
        provider = build_provider(Endpoint("s", "openai-chat", server.base_url("openai-chat")), SystemClock())
        await ask(provider, [user("go")])
        assert "authorization" not in server.requests[0].headers
        await provider.aclose()


async def test_a_json_error_inside_a_200_is_an_error():
    async with ModelServer(
        [Step("x", fault=Fault(200, body='{"error":{"code":"insufficient_quota"}}'))]
    ) as server:
        provider = provider_for(server, "openai-chat")
        assert (await ask(provider, [user("go")]))[-1].kind == "quota"
        await provider.aclose()


async def test_an_error_object_in_a_chat_stream_is_an_error():
    raw = 'data: {"error":{"message":"context_length_exceeded: too big","code":400}}\n\n'
    async with ModelServer([Step(raw=raw)]) as server:
        provider = provider_for(server, "openai-chat")
        assert (await ask(provider, [user("go")]))[-1].kind == "too_long"
        await provider.aclose()


@pytest.mark.parametrize(("prompt", "asked"), [(190_000, 9_936), (199_900, None)])
async def test_an_output_figure_that_is_too_high_is_lowered_once(prompt, asked):
    message = f"input length and `max_tokens` exceed context limit: {prompt} + 64000 > 200000"
    body = f'{{"type":"error","error":{{"type":"invalid_request_error","message":"{message}"}}}}'
    async with ModelServer([Step("ok", fault=Fault(400, body=body))]) as server:
        provider = provider_for(server, "anthropic-messages")
        last = (await ask(provider, [user("go")]))[-1]
        if asked is None:
            assert last.kind == "too_long"
        else:
            assert last.message.text == "ok"
            assert server.requests[-1].json["max_tokens"] == asked
        await provider.aclose()


async def test_an_empty_stream_is_no_answer():
    async with ModelServer([Step(raw=": nothing\n\n")]) as server:
        provider = provider_for(server, "openai-chat", retries=0)
        assert (await ask(provider, [user("go")]))[-1].kind == "wire"
        await provider.aclose()


async def test_a_chat_server_that_never_hangs_up_after_its_end_is_not_waited_for():
    whole = 'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'
    step = Step(raw=whole, fault=Fault(stall_after=len(whole)))
    async with ModelServer([step]) as server:
        provider = provider_for(server, "openai-chat", timeouts=Timeouts(idle=0.2))
        assert (await ask(provider, [user("go")]))[-1].message.text == "hi"
        await provider.aclose()


@pytest.mark.parametrize("api", APIS)
async def test_a_recorded_run_plays_back_without_a_network(api, tmp_path):
    path = str(tmp_path / "run.jsonl")
    steps = [
        Step("é🙂 " * 20, "think", (Call("read", {"path": "a"}),), fault=Fault(cut_after=700)),
        Step("done", after=KEY),
    ]
    async with ModelServer(steps) as server:
        url = server.base_url(api)
        first = await run_twice(api, url, RecordingTransport(HttpTransport(), path, [KEY]))
        assert server.problems == []
    text = (tmp_path / "run.jsonl").read_text("ascii")
    assert KEY not in text
    assert "authorization" not in text
    assert len(load_recording(path).exchanges) == 3
    again = await run_twice(api, url, ReplayTransport(load_recording(path).exchanges))
    assert again == first


async def run_twice(api, url, transport):
    async def no_wait(seconds):
        pass

    endpoint = Endpoint("r", api, url, Secret(KEY))
    provider = HttpProvider(
        endpoint, dialect(api), transport, FixedClock(), sleep=no_wait, jitter=lambda: 0.0
    )
    history, events = [user("go")], []
    for _ in range(2):
        events += await ask(provider, history)
        message = events[-1].message
        history += [message, *results_for(message, "the file says " + KEY)]
    await provider.aclose()
    return [msgspec.structs.replace(e, reason="") if isinstance(e, Retrying) else e for e in events]


async def test_a_replay_that_diverges_names_the_first_byte(tmp_path):
    path = str(tmp_path / "run.jsonl")
    async with ModelServer([Step("ok")]) as server:
        url = server.base_url("openai-chat")
        provider = HttpProvider(
            Endpoint("r", "openai-chat", url),
            dialect("openai-chat"),
            RecordingTransport(HttpTransport(), path),
            FixedClock(),
        )
        await ask(provider, [user("hello")])
        await provider.aclose()
    transport = ReplayTransport(load_recording(path).exchanges, strict=True)
    provider = HttpProvider(
        Endpoint("r", "openai-chat", url), dialect("openai-chat"), transport, FixedClock()
    )
    failed = (await ask(provider, [user("hallo")]))[-1]
    recorded = load_recording(path).exchanges[0].body
    assert f"at byte {recorded.index(b'hello') + 1}" in failed.message


@pytest.mark.parametrize("text", ["", "{}", '{"wisp_recording":99}', '{"wisp_recording":1}\n{"x":1}', "\n"])
def test_a_file_that_is_no_recording_is_refused(text, tmp_path):
    (tmp_path / "x").write_text(text)
    with pytest.raises(ValueError, match="recording"):
        load_recording(str(tmp_path / "x"))


def test_an_unknown_api_names_those_there_are():
    with pytest.raises(RequestError, match="openai-chat"):
        build_provider(Endpoint("x", "telepathy", "http://x"), FixedClock(), HttpTransport())


@pytest.mark.parametrize("name", VENDORS)
def test_every_vendor_can_be_built(name):
    vendor = VENDORS[name]
    assert vendor.api in DIALECTS
    provider = build_provider(Endpoint(name, vendor.api, vendor.base_url), FixedClock(), HttpTransport())
    assert (provider.name, provider.api) == (name, vendor.api)


async def test_each_answer_starts_once():
    async with ModelServer([Step("ok")]) as server:
        provider = provider_for(server, "openai-responses")
        events = await ask(provider, [user("go")])
        assert [type(event) for event in events].count(Started) == 1
        await provider.aclose()
