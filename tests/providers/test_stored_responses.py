"""Continuing a response that the service stored: only where the user allows it, never at a loss."""

import msgspec
import pytest
from providers.conversation import conversation, said

from wisp.loop.events import AgentCompleted, ProviderRetrying
from wisp.messages.ids import FixedClock
from wisp.providers.client import HttpProvider
from wisp.providers.endpoint import Endpoint, Secret
from wisp.providers.http import HttpTransport
from wisp.providers.registry import dialect
from wisp.testing.asking import APIS, KEY, provider_for
from wisp.testing.model_server import ModelServer
from wisp.testing.steps import Call, Fault, Step

pytestmark = pytest.mark.usefixtures("conversations_are_closed")


def script(request):
    if request.results and not request.json["input"][-1].get("role"):
        return Step(text=f"done {request.number}")
    return Step(thinking="hm", calls=(Call("look", {"x": str(request.number)}),))


def storing(server, api="openai-responses", retries=3):
    async def sleep(seconds):
        return None

    endpoint = Endpoint("case", api, server.base_url(api), Secret(KEY), store=True, max_retries=retries)
    return HttpProvider(endpoint, dialect(api), HttpTransport(), FixedClock(), sleep=sleep)


def shape(request):
    entries = [entry.get("type") or entry["role"] for entry in request.json["input"]]
    return request.json.get("previous_response_id"), entries


async def test_nothing_is_stored_unless_the_user_allows_it():
    async with ModelServer(script) as server:
        harness = conversation(provider_for(server, "openai-responses"))
        await said(harness, "one")
        await said(harness, "two")
        for request in server.requests:
            assert request.json["store"] is False
            assert "previous_response_id" not in request.json
            assert request.json["include"] == ["reasoning.encrypted_content"]
        assert server.stored == {}


async def test_where_it_is_allowed_a_request_holds_only_what_is_new():
    async with ModelServer(script) as server:
        harness = conversation(storing(server))
        await said(harness, "one")
        await said(harness, "two")
        assert server.problems == []
        assert [shape(request) for request in server.requests] == [
            (None, ["user"]),
            ("resp_1", ["function_call_output"]),
            ("resp_2", ["user"]),
            ("resp_3", ["function_call_output"]),
        ]
        heads = [(r.json["instructions"], r.json["tools"]) for r in server.requests]
        assert all(head == heads[0] for head in heads)  # the service does not inherit them


@pytest.mark.parametrize("retries", [0, 3])
async def test_a_cursor_that_is_refused_falls_back_to_the_whole_conversation(retries):
    async with ModelServer(script) as server:
        harness = conversation(storing(server, retries=retries))
        await said(harness, "one")
        server.stored.clear()
        events = await said(harness, "two")
        assert isinstance(events[-1], AgentCompleted)
        assert events[-1].stop_reason == "model_finished"
        told = [event for event in events if isinstance(event, ProviderRetrying)]
        assert [event.delay_seconds for event in told] == [0.0]
        assert "whole conversation" in told[0].reason
        whole = server.requests[2].json
        assert "previous_response_id" not in whole
        assert [entry.get("type") or entry["role"] for entry in whole["input"]] == [
            "user",
            "reasoning",
            "function_call",
            "function_call_output",
            "message",
            "user",
        ]
        assert server.requests[3].json["previous_response_id"] == "resp_3"  # and goes on from there
        assert server.problems == []


async def test_a_conversation_that_was_resumed_is_sent_whole_first():
    async with ModelServer(script) as server:
        first = conversation(storing(server))
        await said(first, "one")
        again = conversation(storing(server), history=first.messages)
        await said(again, "two")
        assert shape(server.requests[2])[0] is None
        assert shape(server.requests[3])[0] == "resp_3"
        assert server.problems == []


async def test_after_a_failed_request_the_stored_response_is_continued_again_or_all_is_sent():
    def failing(request):
        if request.number == 3:
            return Step(fault=Fault(status=400, body='{"error":{"message":"no","type":"x"}}'))
        return script(request)

    async with ModelServer(failing) as server:
        harness = conversation(storing(server))
        await said(harness, "one")
        await said(harness, "this one is refused")
        events = await said(harness, "three")
        assert events[-1].stop_reason == "model_finished"
        assert server.problems == []


@pytest.mark.parametrize("api", [api for api in APIS if api != "openai-responses"])
async def test_dialects_without_stored_responses_send_the_same_bytes_either_way(api):
    bodies = []
    for make in (provider_for, storing):
        async with ModelServer([Step(text="a"), Step(text="b")]) as server:
            harness = conversation(make(server, api))
            await said(harness, "one")
            await said(harness, "two")
            bodies.append([request.body for request in server.requests])
    assert bodies[0] == bodies[1]
    assert msgspec.json.decode(bodies[0][1])
