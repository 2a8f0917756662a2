"""What records mean, live and at replay: the same state."""

import msgspec
from hypothesis import given
from session_world import STEPS, World, opened, records, run

from wisp.messages.content import Text, ToolCall
from wisp.messages.message import AssistantMessage, ToolResult, user
from wisp.messages.usage import Usage
from wisp.session.codec import decode, encode
from wisp.session.fold import Fold
from wisp.session.records import MessageRecord, Record, SessionHeader, UnknownRecord
from wisp.session.storage import MemoryStorage


def plain(state: object) -> object:
    return msgspec.to_builtins(state)


@given(records(most=12))
def test_live_state_equals_replayed_state(made: list[Record]) -> None:
    live = Fold()
    for number, record in enumerate(made, 1):
        live.add(record)
        replayed = Fold(decode(encode(r)) for r in made[:number])
        assert plain(live.state) == plain(replayed.state)


async def test_a_live_session_equals_its_replay_after_every_run() -> None:
    storage = MemoryStorage()
    session, _ = opened(storage, [*STEPS, "more"], World())
    for text in ("go", "go on"):
        await run(session, text)
        replayed = Fold(decode(encode(r)) for r in storage.records)
        assert plain(session.state) == plain(replayed.state)
        assert session.harness is not None
        assert session.harness.messages == tuple(replayed.state.messages)


def message(seq: int, what: object, name: str = "", cost: float | None = None) -> Record:
    return Record(seq, name or f"i{seq}", "", "t", MessageRecord(what, cost))  # type: ignore[arg-type]


def test_a_message_that_stands_twice_counts_once_and_is_noted() -> None:
    state = Fold([message(1, user("a"), "x"), message(2, user("b"), "x")]).state
    assert [m.text for m in state.messages] == ["a"]  # type: ignore[union-attr]
    assert "stands twice" in state.notes[0]


def test_usage_and_cost_add_up_and_unknown_stays_unknown() -> None:
    said = AssistantMessage((Text("x"),), usage=Usage(1, 2, 3, 4, 5))
    state = Fold([message(1, said, cost=0.5), message(2, said, cost=0.25)]).state
    assert (state.usage, state.cost_usd, state.turns) == (Usage(2, 4, 6, 8, 10), 0.75, 2)
    state = Fold([message(1, said, cost=0.5), message(2, said)]).state
    assert state.cost_usd is None


def test_an_unknown_type_is_skipped_and_a_known_one_that_is_not_understood_is_noted() -> None:
    state = Fold([Record(1, "a", "", "t", UnknownRecord("branch")), message(2, user("x"))]).state
    assert (len(state.messages), state.notes, state.next_seq) == (1, [], 3)
    state = Fold([Record(1, "a", "", "t", UnknownRecord("message"))]).state
    assert "message" in state.notes[0]


def test_the_first_header_counts() -> None:
    state = Fold([Record(n, f"h{n}", "", "t", SessionHeader(f"s{n}", "/w")) for n in (1, 2)]).state
    assert state.header == SessionHeader("s1", "/w")


def test_an_intent_is_closed_by_its_result() -> None:
    from wisp.session.records import CallIntentRecord

    call = ToolCall("c", "read")
    intent = Record(2, "n", "", "t", CallIntentRecord(1, call, "r", "safe", False))
    asks = message(1, AssistantMessage((call,), stop="tool_calls"))
    assert set(Fold([asks, intent]).state.intents) == {"c"}
    assert Fold([asks, intent, message(3, ToolResult("c", "read", ()))]).state.intents == {}
