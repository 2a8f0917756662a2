"""Fallback models: asked in order when the first cannot answer, left again when the user speaks next."""

from itertools import permutations

import msgspec
import pytest
from providers.conversation import conversation, said

from wisp.loop.events import (
    AgentCompleted,
    MessageCompleted,
    MessageStarted,
    MessageWithdrawn,
    ProviderSwitched,
)
from wisp.messages.ids import FixedClock
from wisp.messages.usage import Price
from wisp.providers.base import ModelInfo
from wisp.providers.client import HttpProvider
from wisp.providers.endpoint import Endpoint, Secret
from wisp.providers.fallback import Alternative, FallbackProvider
from wisp.providers.http import HttpTransport
from wisp.providers.registry import dialect
from wisp.testing.asking import APIS, KEY, MODEL
from wisp.testing.model_server import ModelServer
from wisp.testing.steps import Call, Fault, Step

pytestmark = pytest.mark.usefixtures("conversations_are_closed")
OTHER = ModelInfo("other-model", price=Price(1.0, 10.0, 0.0, 0.0), context_window=100_000, max_output=2_000)
BUSY = Fault(status=529)


async def no_sleep(seconds):
    return None


def provider(server, api, name, retries=0):
    url = server if isinstance(server, str) else server.base_url(api)
    endpoint = Endpoint(name, api, url, Secret(KEY), max_retries=retries)
    return HttpProvider(endpoint, dialect(api), HttpTransport(), FixedClock(), sleep=no_sleep)


class Chain(FallbackProvider):
    """A fallback provider that can be closed by the tests' fixture."""

    def __init__(self, first, *others):
        self.whole = [first, *(other for other, _ in others)]
        super().__init__(first, [Alternative(o.name, model, lambda o=o: o) for o, model in others])

    async def aclose(self):
        for one in self.whole:
            await one.aclose()


def switches(events):
    return [(e.provider, e.model) for e in events if isinstance(e, ProviderSwitched)]


@pytest.mark.parametrize(("api", "other"), list(permutations(APIS, 2)))
async def test_another_dialect_goes_on_and_the_first_is_tried_again_when_the_user_speaks(api, other):
    steps = [
        Step(text="first", calls=(Call("look", {"x": "1"}),)),
        Step(fault=BUSY),
        Step(text="back again"),
    ]
    async with (
        ModelServer(steps) as one,
        ModelServer([Step(calls=(Call("look", {"x": "2"}),)), Step(text="stood in")]) as two,
    ):
        harness = conversation(Chain(provider(one, api, "one"), (provider(two, other, "two"), OTHER)))
        events = await said(harness, "go")
        assert events[-1].stop_reason == "model_finished"
        assert switches(events) == [("two", "other-model")]  # told once, though it answered twice
        one._place = 2  # the scripted failure is over
        one._met = 0
        events = await said(harness, "and now")
        assert switches(events) == []
        assert harness.messages[-1].text == "back again"
        assert one.problems == two.problems == []
        assert [len(r.results) for r in two.requests] == [1, 2]
        assert [request.json.get("model", "other-model") for request in two.requests] == ["other-model"] * 2
        last = one.requests[-1]
        assert len(last.results) == 2  # the whole turn of the other model is in the first one's history


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=529),
        Fault(status=503),
        Fault(status=429),
        Fault(status=402),
        Fault(hang_up=True),
    ],
)
async def test_overload_quota_and_no_connection_are_worth_another_model(api, fault):
    fault = msgspec.structs.replace(fault, times=9)
    async with ModelServer([Step(fault=fault)]) as one, ModelServer([Step(text="ok")]) as two:
        chain = Chain(provider(one, api, "one", retries=1), (provider(two, api, "two"), OTHER))
        events = await said(conversation(chain), "go")
        expected = [] if fault.hang_up and events[-1].failure_kind == "wire" else [("two", "other-model")]
        assert switches(events) == expected


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_what_is_wrong_with_the_request_or_the_key_is_not_hidden_by_another_model(status):
    async with ModelServer([Step(fault=Fault(status=status))]) as one, ModelServer([Step(text="ok")]) as two:
        chain = Chain(provider(one, "openai-chat", "one"), (provider(two, "openai-chat", "two"), OTHER))
        events = await said(conversation(chain), "go")
        assert isinstance(events[-1], AgentCompleted)
        assert events[-1].stop_reason == "provider_failure"
        assert two.requests == []


async def test_nothing_else_is_asked_once_something_was_shown():
    step = Step(text="a long answer " * 20, fault=Fault(error_event="overloaded_error"))
    async with ModelServer([step]) as one, ModelServer([Step(text="ok")]) as two:
        chain = Chain(provider(one, "anthropic-messages", "one"), (provider(two, "gemini", "two"), OTHER))
        events = await said(conversation(chain), "go")
        assert events[-1].failure_kind == "overload"
        assert switches(events) == []


async def test_an_answer_that_began_without_a_word_is_withdrawn_first():
    step = Step(
        raw='event: message_start\ndata: {"type":"message_start","message":{"id":"m"}}\n\n'
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    )
    async with ModelServer([step]) as one, ModelServer([Step(text="ok")]) as two:
        chain = Chain(provider(one, "anthropic-messages", "one"), (provider(two, "gemini", "two"), OTHER))
        events = await said(conversation(chain), "go")
        kinds = [
            type(e) for e in events if isinstance(e, MessageStarted | MessageWithdrawn | ProviderSwitched)
        ]
        assert kinds == [MessageStarted, MessageWithdrawn, ProviderSwitched, MessageStarted]
        assert events[-1].stop_reason == "model_finished"


async def test_each_is_tried_in_order_and_the_last_failure_is_the_one_told():
    async with ModelServer([Step(fault=Fault(status=402))]) as dry:
        chain = Chain(
            provider("http://127.0.0.1:9/v1", "openai-chat", "one"),
            (provider("http://127.0.0.1:9", "gemini", "two"), OTHER),
            (provider(dry, "openai-responses", "three"), OTHER),
        )
        events = await said(conversation(chain), "go")
        assert [name for name, _ in switches(events)] == ["two", "three"]
        assert (events[-1].stop_reason, events[-1].failure_kind) == ("provider_failure", "quota")


async def test_an_answer_costs_what_the_model_costs_that_gave_it():
    use = {"input": 1_000_000, "output": 100_000}
    async with ModelServer([Step(fault=BUSY)]) as one, ModelServer([Step(text="ok", usage=use)]) as two:
        chain = Chain(provider(one, "openai-chat", "one"), (provider(two, "gemini", "two"), OTHER))
        dear = msgspec.structs.replace(MODEL, price=Price(100.0, 100.0, 0.0, 0.0))
        events = await said(conversation(chain, model=dear), "go")
        [cost] = [event.cost_usd for event in events if isinstance(event, MessageCompleted)]
        cached = two.requests and events  # the server makes up cache figures; their price here is 0
        assert cached
        assert cost == pytest.approx(2.0)
