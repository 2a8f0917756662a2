"""A session begun with one dialect goes on with any other, and back."""

from itertools import permutations, product

import pytest
from providers.conversation import conversation, said
from providers.histories import PIXEL

from wisp.messages.content import Text, Thinking, ToolCall
from wisp.messages.laws import violations
from wisp.messages.message import AssistantMessage, UserMessage
from wisp.testing.asking import APIS, MODEL, provider_for
from wisp.testing.model_server import ModelServer
from wisp.testing.steps import Call, Step

pytestmark = pytest.mark.usefixtures("conversations_are_closed")
ODD = "call|odd/é" + "x" * 70


def first_script(request):
    if len(request.results) < 3:
        ids = ("", ODD) if not request.results else ("",)
        calls = tuple(Call("look", {"x": f"{request.number}.{k}"}, id=i) for k, i in enumerate(ids))
        return Step(thinking="secret thought", text="looking", calls=calls)
    return Step(text="first part done", thinking="secret thought")


@pytest.mark.parametrize(("first", "second"), list(permutations(APIS, 2)))
async def test_a_session_goes_on_in_another_dialect_and_comes_back(first, second):
    async with (
        ModelServer(first_script) as one,
        ModelServer(
            [Step(thinking="another", calls=(Call("look", {"x": "z"}),)), Step(text="second part done")]
        ) as two,
    ):
        begun = conversation(provider_for(one, first))
        picture = UserMessage((Text("see"), PIXEL))
        async for _ in begun.prompt(picture):
            pass
        for request in one.requests:  # the odd id was sent by the server itself; all else is lawful
            assert request.problems == []
        cut = AssistantMessage((Text("I was cut"), ToolCall("orphan", "look", "{}")), stop="tool_calls")
        history = [*begun.messages, UserMessage((Text("more"),)), cut, UserMessage((Text("never mind"),))]
        other = MODEL.__class__("other-model", context_window=100_000, max_output=3_000, images=True)
        going_on = conversation(provider_for(two, second), model=other, history=history)
        await said(going_on, "go on")
        assert two.problems == []
        body = two.requests[-1].body
        assert going_on.messages[-1].text == "second part done"
        assert violations(going_on.messages) == []
        assert len(two.requests[-1].results) == 5  # 3 of the first, the orphan's, its own
        assert b"secret thought" not in body  # reasoning is never shown to another model
        assert b"looking" in body
        assert b"first part done" in body
        assert PIXEL.data.encode() in body
        assert ODD.encode() not in body
        for secret in _signatures(begun.messages):
            assert secret.encode() not in body
        back = conversation(provider_for(one, first), history=going_on.messages)
        await said(back, "and back")
        assert one.requests[-1].problems == []
        assert back.messages[-1].text == "first part done"


def _signatures(messages):
    for message in messages:
        for block in getattr(message, "content", ()):
            if isinstance(block, Thinking):
                yield from filter(None, (block.signature, block.redacted))


@pytest.mark.parametrize(("first", "second"), list(product(APIS, APIS)))
async def test_two_models_of_any_dialects_can_take_turns_in_one_conversation(first, second):
    async with ModelServer(first_script) as one, ModelServer(lambda r: Step(text="hm", thinking="t")) as two:
        a = conversation(provider_for(one, first))
        await said(a, "one")
        history = a.messages
        for turn in range(4):
            server, api = ((two, second), (one, first))[turn % 2]
            model = MODEL.__class__(f"model-{turn % 2}", images=True, reasoning=True)
            harness = conversation(provider_for(server, api), model=model, history=history)
            await said(harness, f"turn {turn}")
            history = harness.messages
        assert one.problems == two.problems == []
        assert violations(history) == []
