"""A provider's prompt cache keeps what does not change: proved on the bytes of whole conversations."""

import itertools

import pytest
from providers.conversation import Blocks, box, conversation, said

from wisp.loop.events import CacheBroken, MessageCompleted
from wisp.testing.asking import APIS, MODEL, provider_for
from wisp.testing.model_server import ModelServer
from wisp.testing.steps import Call, Step

pytestmark = pytest.mark.usefixtures("conversations_are_closed")

USE = {"input": 100, "output": 5, "cache_read": 40, "cache_write": 7}


def script(request):
    """Two rounds of calls for every prompt, then words; thinking where the model has it."""
    place = request.number % 3
    if place == 0:
        return Step(text=f"done {request.number}", thinking="so", usage=USE)
    calls = tuple(Call("look", {"x": f"{request.number}.{k}"}) for k in range(place))
    return Step(text="é" * 20, thinking="hm", calls=calls, usage=USE)


def continues(before: bytes, after: bytes) -> bool:
    """Whether `after` begins with all of `before` but the brackets that close it and the output figure."""
    common = next((k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    return len(before) - common <= len(b'],"max_tokens":4000}')


@pytest.mark.parametrize("api", APIS)
async def test_every_request_of_a_conversation_begins_with_the_bytes_of_the_one_before(api):
    async with ModelServer(script) as server:
        harness = conversation(provider_for(server, api))
        events = []
        for turn in range(6):
            events += await said(harness, f"prompt {turn} é")
        assert server.problems == []
        bodies = [request.body for request in server.requests]
        assert len(bodies) == 18
        assert all(continues(a, b) for a, b in itertools.pairwise(bodies))
        assert not [event for event in events if isinstance(event, CacheBroken)]


@pytest.mark.parametrize("api", APIS)
async def test_the_cache_breaks_only_where_that_is_said_with_its_reason(api):
    async with ModelServer(script) as server:
        blocks = Blocks("You are a test.", "Environment.")
        harness = conversation(provider_for(server, api), instructions=blocks)
        told = {}

        async def prompt(text):
            first = len(server.requests)
            told[first] = [e.reasons for e in await said(harness, text) if isinstance(e, CacheBroken)]

        await prompt("one")
        await prompt("two")
        blocks.texts = ("You are another test.", "Environment.")
        await prompt("system changed")
        await prompt("nothing changed")
        harness.toolbox = box("look", "more")
        await prompt("tools changed")
        harness.model = MODEL.__class__("another-model", reasoning=True, images=True, context_window=200_000)
        await prompt("model changed")
        await prompt("nothing changed")
        assert list(told.values()) == [[], [], [("system",)], [], [("tools",)], [("model",)], []]
        bodies = [request.body for request in server.requests]
        broken = [k for k in range(1, len(bodies)) if not continues(bodies[k - 1], bodies[k])]
        assert broken == [first for first, reasons in told.items() if reasons]
        assert server.problems == []


@pytest.mark.parametrize("api", APIS)
async def test_reads_and_writes_of_the_cache_are_counted_apart(api):
    async with ModelServer(script) as server:
        events = await said(conversation(provider_for(server, api)), "go")
        uses = [event.message.usage for event in events if isinstance(event, MessageCompleted)]
        assert len(uses) == 3
        for usage in uses:
            assert usage.cache_read_tokens == 40
            assert usage.prompt_tokens == 147
            if usage.cache_write_tokens is not None:  # Gemini counts no writes
                assert (usage.input_tokens, usage.cache_write_tokens) == (100, 7)
