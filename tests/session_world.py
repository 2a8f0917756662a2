"""Random records and whole sessions, for the tests of sessions and crashes."""

from collections.abc import Sequence
from typing import Any

from agent_world import FakeTool, gate
from hypothesis import strategies as st

from wisp.harness.runner import AgentHarness
from wisp.harness.toolbox import Toolbox
from wisp.messages.content import Image, Opaque, Text, Thinking, ToolCall
from wisp.messages.ids import Clock, FixedClock
from wisp.messages.message import AssistantMessage, Message, Native, Notice, ToolResult, UserMessage
from wisp.messages.tool import Effect, ToolSpec
from wisp.messages.usage import Usage
from wisp.providers.base import ModelInfo
from wisp.providers.scripted import ScriptedProvider, ScriptStep, call
from wisp.session.records import (
    AuditRecord,
    CallIntentRecord,
    CompactionRecord,
    FilesMovedRecord,
    FrameRecord,
    LeafRecord,
    MessageRecord,
    Record,
    RequestIntentRecord,
    RunEndedRecord,
    SessionHeader,
    SnapshotRecord,
)
from wisp.session.runner import CodingSession
from wisp.session.storage import Storage

WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
NAME = st.text("abcdef0123456789", min_size=1, max_size=6)
COUNT = st.none() | st.integers(0, 10**6)
TEXT = st.builds(Text, WORDS)
IMAGE = st.builds(Image, st.just("image/png"), st.just("iVBORw0KGgo="))
CALL = st.builds(ToolCall, NAME, NAME, st.just("{}"), WORDS)
OPAQUE = st.builds(Opaque, NAME, WORDS)
THINKING = st.builds(Thinking, WORDS, WORDS, WORDS)
BLOCKS = st.lists(TEXT | IMAGE, max_size=3).map(tuple)
USER = st.builds(UserMessage, BLOCKS, NAME)
NATIVE = st.builds(Native, NAME, NAME, NAME, st.lists(WORDS, max_size=2).map(tuple), NAME)
ANSWER = st.builds(
    AssistantMessage,
    st.lists(TEXT | THINKING | CALL | OPAQUE, max_size=4).map(tuple),
    NAME,
    st.sampled_from(["stop", "tool_calls", "length", "error", "cancelled"]),
    st.none() | st.builds(Usage, COUNT, COUNT, COUNT, COUNT, COUNT),
    st.none() | NATIVE,
    WORDS,
)
RESULT = st.builds(ToolResult, NAME, NAME, BLOCKS, st.booleans(), NAME, NAME)
NOTICE = st.builds(Notice, WORDS, NAME)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
EFFECT = st.builds(
    Effect,
    st.sampled_from(["read", "write", "execute", "network", "ask"]),
    WORDS,
    st.booleans(),
    st.booleans(),
    WORDS,
    boxed=st.booleans(),
)
BODY = st.one_of(
    st.builds(SessionHeader, NAME, WORDS, WORDS),
    st.builds(MessageRecord, USER | ANSWER | RESULT | NOTICE, st.none() | st.floats(0, 10)),
    st.builds(RequestIntentRecord, st.integers(1, 99), NAME),
    st.builds(
        CallIntentRecord,
        st.integers(1, 99),
        CALL,
        NAME,
        st.sampled_from(["safe", "never"]),
        st.booleans(),
        st.lists(EFFECT, max_size=3).map(tuple),
    ),
    st.builds(
        FrameRecord,
        NAME,
        NAME,
        st.builds(
            ModelInfo,
            NAME,
            st.none() | st.integers(1, 1 << 30),
            compat=st.dictionaries(WORDS, JSON, max_size=2),
        ),
        st.lists(WORDS, max_size=3).map(tuple),
        st.lists(st.builds(ToolSpec, NAME, WORDS, st.dictionaries(WORDS, JSON, max_size=3)), max_size=2).map(
            tuple
        ),
        st.none() | st.integers(1, 9999),
        WORDS,
        NAME,
        st.none() | st.dictionaries(WORDS, JSON, max_size=3),
    ),
    st.builds(RunEndedRecord, NAME, st.integers(0, 99), WORDS),
    st.builds(AuditRecord, NAME, st.dictionaries(WORDS, JSON, max_size=3)),
    st.builds(SnapshotRecord, NAME, st.sampled_from(["before", "after"]), st.integers(1, 99)),
    st.builds(FilesMovedRecord, st.sampled_from(["undo", "redo"]), st.integers(1, 5)),
    st.builds(LeafRecord, NAME, WORDS),
    st.builds(CompactionRecord, WORDS, NAME, st.lists(NAME, max_size=2).map(tuple), NAME),
)


@st.composite
def records(draw: Any, most: int = 8) -> list[Record]:
    bodies = draw(st.lists(BODY, min_size=1, max_size=most))
    return [
        Record(number, f"id{number}", draw(NAME), "2026-01-01T00:00:00.000Z", body)
        for number, body in enumerate(bodies, 1)
    ]


MODEL = ModelInfo("m")

STEPS = (
    ScriptStep("I look.", calls=(call("look", x="1"), call("look", x="2")), usage=Usage(10, 5, 0, 0, 0)),
    ScriptStep("I change.", calls=(call("change", x="3"), call("look", x="4"), call("change", x="5"))),
    ScriptStep("Done."),
)
"""Two turns of calls and an end: safe calls `look`, effects `change`."""


class World:
    """What the tools of several lives of one session did to it."""

    def __init__(self) -> None:
        self.effects: list[str] = []

    def tools(self) -> list[FakeTool]:
        async def change(arguments: dict[str, Any], context: Any) -> None:
            self.effects.append(arguments["x"])

        return [
            FakeTool("look", replay="safe", parallel=True),
            FakeTool("change", effect="write", replay="never", work=change),
        ]


def opened(
    storage: Storage,
    steps: Sequence[ScriptStep | str],
    world: World,
    clock: Clock | None = None,
    gated: Any = None,
    tools: Sequence[Any] | None = None,
) -> tuple[CodingSession, ScriptedProvider]:
    """A session on `storage` with a harness whose model says `steps`."""
    clock = clock or FixedClock()
    session = CodingSession(storage, clock, cwd="/w", session_id="S1", created_by="wisp test")
    provider = ScriptedProvider(steps)
    toolbox = Toolbox(world.tools() if tools is None else tools, gated or gate())

    def make(history: Sequence[Message]) -> AgentHarness:
        return AgentHarness(provider, MODEL, toolbox, clock, recorder=session, history=history)

    session.attach(make)
    return session, provider


async def run(session: CodingSession, text: str = "go") -> list[Any]:
    return [event async for event in session.prompt(UserMessage((Text(text),)))]
