"""What a request had to mend is told to a person once a conversation; the session file stays as it was."""

import pytest
from agent_world import gate
from providers.conversation import conversation, said
from providers.histories import PIXEL, asked, result
from providers.histories import said as answered

from wisp.harness.toolbox import Toolbox
from wisp.loop.events import MessageStarted, RepairReported
from wisp.messages.content import Text
from wisp.messages.ids import FixedClock
from wisp.messages.message import UserMessage, user
from wisp.messages.tool import ToolSpec
from wisp.session.codec import decode, encode
from wisp.session.runner import CodingSession
from wisp.session.storage import MemoryStorage
from wisp.testing.asking import APIS, MODEL, provider_for
from wisp.testing.model_server import ModelServer
from wisp.testing.steps import Step

pytestmark = pytest.mark.usefixtures("conversations_are_closed")
BLIND = MODEL.__class__("blind", context_window=100_000)
HISTORY = [
    UserMessage((Text("see"), PIXEL)),
    answered(asked("bad id|é"), stop="tool_calls"),
    result("bad id|é"),
    answered(Text("ok")),
]


def told(events):
    return [note for event in events if isinstance(event, RepairReported) for note in event.messages]


class Odd:
    """A tool that no dialect can offer."""

    spec = ToolSpec("odd", "d", {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}})


@pytest.mark.parametrize("api", APIS)
async def test_each_repair_is_told_once_a_conversation_before_the_answer(api):
    async with ModelServer(lambda request: Step(text="fine")) as server:
        box = Toolbox([Odd()], gate())
        harness = conversation(provider_for(server, api), model=BLIND, toolbox=box, history=HISTORY)
        events = await said(harness, "one")
        notes = told(events)
        assert len(notes) == 3
        for words in ("'odd'", "it got another", "pictures were left out"):
            assert len([note for note in notes if words in note]) == 1
        kinds = [type(event) for event in events]
        assert kinds.index(RepairReported) < kinds.index(MessageStarted)
        assert told(await said(harness, "two")) == []
        assert server.problems == []
        assert all(request.tools == [] for request in server.requests)


@pytest.mark.parametrize("api", APIS)
async def test_a_resumed_session_does_not_tell_again_and_its_records_are_not_rewritten(api):
    storage = MemoryStorage()

    def opened(server):
        session = CodingSession(storage, FixedClock(), cwd="/", session_id="s")
        session.attach(
            lambda history: conversation(
                provider_for(server, api), model=BLIND, history=history or HISTORY, recorder=session
            )
        )
        return session

    async with ModelServer(lambda request: Step(text="fine")) as server:
        first = [event async for event in opened(server).prompt(user("one"))]
        before = [encode(record) for record in storage.load().records]
        assert len(told(first)) == 2
        again = [event async for event in opened(server).prompt(user("two"))]
        assert told(again) == []
        after = [encode(record) for record in storage.load().records]
        assert after[: len(before)] == before
        audits = [r for r in map(decode, before) if getattr(r.body, "kind", "") == "repair"]
        assert len(audits) == 1
