"""The grammar accepts every lawful stream and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.messages.content import Opaque, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage
from wisp.providers.assemble import Assembler
from wisp.providers.errors import WireError
from wisp.providers.events import (
    ArgumentsDelta,
    Failed,
    Finished,
    PartEnded,
    PartStarted,
    Retrying,
    Started,
    TextDelta,
    ThinkingDelta,
    Withdrawn,
)
from wisp.providers.grammar import StreamGrammar, checked

RETRY = Retrying(2, 4, 0.5, "busy")
FAILED = Failed("wire", "cut")
FINISHED = Finished(AssistantMessage((Text("x"),)))


def lawful(events):
    grammar = StreamGrammar()
    for event in events:
        grammar.feed(event)
    grammar.close()


@st.composite
def attempts(draw, whole):
    """One attempt: parts that overlap, all ended where `whole`."""
    events = [Started()]
    open_parts = []
    for index in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["text", "thinking", "tool_call", "opaque"]))
        events.append(PartStarted(index, kind))
        open_parts.append((index, kind))
        for place, part in draw(st.lists(st.sampled_from(open_parts), max_size=6)):
            delta = {"text": TextDelta, "thinking": ThinkingDelta, "tool_call": ArgumentsDelta}.get(part)
            if delta is not None:
                events.append(delta(place, "x"))
        if whole or draw(st.booleans()):
            place, part = open_parts.pop(draw(st.integers(0, len(open_parts) - 1)))
            events.append(PartEnded(place, block(part)))
    if whole:
        events += [PartEnded(place, block(part)) for place, part in open_parts]
    return events


def block(kind):
    return {
        "text": Text("x"),
        "thinking": Thinking("x"),
        "tool_call": ToolCall("c", "read"),
        "opaque": Opaque("k", "{}"),
    }[kind]


@st.composite
def streams(draw):
    events = [RETRY] * draw(st.integers(0, 2))
    for _ in range(draw(st.integers(0, 2))):
        events += draw(attempts(False)) + [Withdrawn("cut")] + [RETRY] * draw(st.integers(1, 2))
    if draw(st.booleans()):
        return events + draw(attempts(True)) + [FINISHED]
    return events + draw(st.one_of(st.just([]), attempts(False))) + [FAILED]


@given(streams())
def test_every_stream_of_the_grammar_is_accepted(events):
    lawful(events)


@given(streams(), st.data())
def test_nothing_may_follow_the_end(events, data):
    extra = data.draw(st.sampled_from([RETRY, Started(), TextDelta(0, "x"), FINISHED, FAILED]))
    with pytest.raises(WireError):
        lawful([*events, extra])


@given(streams())
def test_a_stream_that_stops_before_its_end_is_refused(events):
    with pytest.raises(WireError):
        lawful(events[:-1])


@pytest.mark.parametrize(
    "events",
    [
        [FINISHED],
        [TextDelta(0, "x")],
        [Started(), Started()],
        [Started(), TextDelta(0, "x")],
        [Started(), PartStarted(0, "text"), ThinkingDelta(0, "x")],
        [Started(), PartStarted(0, "text"), PartStarted(0, "text")],
        [Started(), PartStarted(0, "text"), FINISHED],
        [Started(), PartStarted(0, "text"), PartEnded(0, Thinking("x"))],
        [Started(), PartEnded(0, Text("x"))],
        [Started(), RETRY],
        [Started(), Withdrawn("x"), Started()],
        [Withdrawn("x")],
    ],
    ids=lambda events: " ".join(type(event).__name__ for event in events),
)
def test_events_out_of_order_are_refused(events):
    with pytest.raises(WireError):
        lawful(events)


async def test_the_wrapper_refuses_a_provider_that_just_stops():
    async def stops():
        yield Started()

    with pytest.raises(WireError):
        [event async for event in checked(stops())]


@given(st.lists(st.text(min_size=1), min_size=1))
def test_deltas_fold_into_the_text_they_are_pieces_of(pieces):
    assembler = Assembler()
    for event in [Started(), PartStarted(0, "text"), *(TextDelta(0, piece) for piece in pieces)]:
        assembler.feed(event)
    assert assembler.partial("cut").text == "".join(pieces)


def test_a_partial_message_has_no_calls_and_no_unsigned_thinking_beside_text():
    assembler = Assembler()
    for event in [
        Started(),
        PartStarted(0, "thinking"),
        ThinkingDelta(0, "hm"),
        PartStarted(1, "text"),
        TextDelta(1, "so"),
        PartStarted(2, "tool_call", "c", "read"),
        PartEnded(2, ToolCall("c", "read")),
    ]:
        assembler.feed(event)
    partial = assembler.partial("cut")
    assert partial.content == (Text("so"),)
    assert (partial.stop, partial.error) == ("error", "cut")


def test_a_withdrawn_attempt_leaves_nothing_behind():
    assembler = Assembler()
    for event in [Started(), PartStarted(0, "text"), TextDelta(0, "x"), Withdrawn("cut")]:
        assembler.feed(event)
    assert assembler.partial("cut") is None
    assert not assembler.shown
