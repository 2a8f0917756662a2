"""A session: intent before effect, prompt before request, ids kept, queues of commits in order."""

import asyncio
from typing import Any

import pytest
from agent_world import FakeTool, check_events, kind, lawful
from session_world import STEPS, World, opened, run

from wisp.messages.ids import FixedClock
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage
from wisp.messages.usage import Price, Usage
from wisp.providers.scripted import ScriptStep, call
from wisp.session.records import VERSION, AuditRecord, CallIntentRecord, MessageRecord, Record, SessionHeader
from wisp.session.runner import CodingSession
from wisp.session.storage import Loaded, MemoryStorage, StorageFailed


def shape(storage: MemoryStorage) -> list[str]:
    out = []
    for record in storage.records:
        body = record.body
        if isinstance(body, MessageRecord):
            out.append(kind(body.message))
        else:
            out.append(kind(body).removesuffix("Record"))
    return out


async def test_the_order_of_records_is_header_prompt_intent_answer_intent_result_end() -> None:
    storage = MemoryStorage()
    session, _ = opened(
        storage, [ScriptStep(calls=(call("change", x="1"), call("look", x="2"))), "ok"], World()
    )
    events = await run(session)
    check_events(events)
    assert [name for name in shape(storage) if name != "Audit"] == [
        "SessionHeader", "UserMessage", "Frame", "RequestIntent", "AssistantMessage",
        "CallIntent", "ToolResult", "CallIntent", "ToolResult",
        "RequestIntent", "AssistantMessage", "RunEnded",
    ]  # fmt: skip
    assert [r.seq for r in storage.records] == list(range(1, 14))
    assert kind(events[-2]) == "SessionSaved"


async def test_results_carry_the_ids_their_intents_reserved() -> None:
    storage = MemoryStorage()
    session, _ = opened(storage, STEPS, World())
    await run(session)
    reserved = {
        r.body.call.id: r.body.result_id for r in storage.records if isinstance(r.body, CallIntentRecord)
    }
    results = {
        r.body.message.call_id: r.id
        for r in storage.records
        if isinstance(r.body, MessageRecord) and isinstance(r.body.message, ToolResult)
    }
    assert results == reserved


async def test_parents_name_the_message_before() -> None:
    storage = MemoryStorage()
    session, _ = opened(storage, STEPS, World())
    await run(session)
    leaf = ""
    for record in storage.records:
        assert record.parent == leaf
        leaf = record.id if isinstance(record.body, MessageRecord) else leaf


class Watching(MemoryStorage):
    """Calls a function before each append; may fail it."""

    def __init__(self, look: Any) -> None:
        super().__init__()
        self._look = look
        self.failing = False

    def append(self, records: Any, *, sync: bool) -> None:
        self._look(records, sync)
        if self.failing:
            raise StorageFailed("disk full")
        super().append(records, sync=sync)


async def test_an_intent_is_kept_before_its_effect_and_synced_when_it_cannot_be_repeated() -> None:
    world = World()
    seen: list[tuple[str, int, bool]] = []

    def look(records: Any, sync: bool) -> None:
        seen.extend((kind(r.body), len(world.effects), sync) for r in records)

    session, _ = opened(Watching(look), [ScriptStep(calls=(call("change", x="1"),)), "ok"], world)
    await run(session)
    assert [s for s in seen if s[0] == "CallIntentRecord"] == [("CallIntentRecord", 0, True)]
    prompt = next(n for n, s in enumerate(seen) if s[0] == "MessageRecord")
    assert seen[prompt][2]
    assert prompt < next(n for n, s in enumerate(seen) if s[0] == "RequestIntentRecord")


async def test_a_prompt_that_cannot_be_kept_is_never_sent() -> None:
    storage = Watching(lambda records, sync: None)
    storage.failing = True
    session, provider = opened(storage, ["hello"], World())
    with pytest.raises(StorageFailed):
        await run(session)
    assert provider.requests == []
    assert session.harness is not None
    assert session.harness.messages == ()
    storage.failing = False
    events = await run(session, "again")
    assert events[-1].stop_reason == "model_finished"
    assert shape(storage)[0] == "SessionHeader"
    assert [r.seq for r in storage.records] == list(range(1, len(storage.records) + 1))


@pytest.mark.parametrize("at", range(2, 14))
async def test_a_disk_that_fails_at_any_append_stops_before_the_next_effect_and_can_go_on(at: int) -> None:
    world = World()
    count = 0

    def look(records: Any, sync: bool) -> None:
        nonlocal count
        count += 1
        storage.failing = count >= at

    storage = Watching(look)
    session, _ = opened(storage, [*STEPS, *["again"] * 3], world)
    with pytest.raises(StorageFailed):
        await run(session)
    count, effects = -1000, list(world.effects)
    events = await run(session, "once more")
    assert events[-1].stop_reason == "model_finished"
    assert session.harness is not None
    lawful(session.harness.messages)
    assert world.effects[: len(effects)] == effects
    assert len(set(world.effects)) == len(world.effects), "an effect happened twice"
    assert tuple(m.id for m in session.state.messages if m.id) == tuple(
        m.id for m in session.harness.messages if m.id
    )


async def test_a_newer_format_is_refused_and_let_go() -> None:
    closed = []

    class Newer(MemoryStorage):
        def load(self) -> Loaded:
            return Loaded((), (), VERSION + 1)

        def close(self) -> None:
            closed.append(True)

    with pytest.raises(StorageFailed, match="update wisp"):
        CodingSession(Newer(), FixedClock(), cwd="/w", session_id="s")
    assert closed == [True]


async def test_an_existing_session_keeps_its_id_and_a_damaged_one_that_of_its_file() -> None:
    class Named(MemoryStorage):
        where = "/sessions/-w/01abc.jsonl"

    header = Record(1, "h", "", "t", SessionHeader("OLD", "/w"))
    assert CodingSession(MemoryStorage([header]), FixedClock(), cwd="/x", session_id="N").id == "OLD"
    assert CodingSession(Named(), FixedClock(), cwd="/w", session_id="N").id == "01abc"
    assert CodingSession(MemoryStorage(), FixedClock(), cwd="/w", session_id="N").id == "N"


async def test_cost_is_kept_with_the_answer() -> None:
    storage = MemoryStorage()
    session = CodingSession(storage, FixedClock(), cwd="/w", session_id="s", price=Price(1.0, 2.0))
    await session.settled(AssistantMessage((), "a", usage=Usage(1_000_000, 500_000)))
    body = storage.records[-1].body
    assert isinstance(body, MessageRecord)
    assert body.cost_usd == 2.0


async def test_audits_are_kept_and_commits_at_once_do_not_mix() -> None:
    storage = MemoryStorage()
    session, _ = opened(storage, [], World())
    await asyncio.gather(*[session.audit("k", {"n": n}) for n in range(20)])
    assert [r.seq for r in storage.records] == list(range(1, 22))
    assert {r.body.facts["n"] for r in storage.records if isinstance(r.body, AuditRecord)} == set(range(20))


async def test_a_commit_that_is_cancelled_is_whole() -> None:
    storage = MemoryStorage()
    session, _ = opened(storage, [], World())
    task = asyncio.ensure_future(session.accepted((UserMessage((), "u1"), UserMessage((), "u2"))))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(storage.records) in (0, 3)
    assert len(storage.records) == session.state.next_seq - 1


async def test_a_rerun_can_be_stopped_and_the_next_prompt_takes_it_up_again() -> None:
    storage = MemoryStorage()
    gate_open = asyncio.Event()

    async def wait(arguments: Any, context: Any) -> None:
        await gate_open.wait()

    slow = FakeTool("look", replay="safe", work=wait)
    session, _ = opened(storage, [ScriptStep(calls=(call("look", x="1"),))], World(), tools=[slow])
    listening = asyncio.ensure_future(run(session))
    while not slow.started:
        await asyncio.sleep(0)
    dead = MemoryStorage(list(storage.records))
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    again = FakeTool("look", replay="safe", work=wait)
    session, _ = opened(dead, ["end"], World(), tools=[again])
    listening = asyncio.ensure_future(run(session, "next"))
    while not again.started:
        await asyncio.sleep(0)
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    assert again.running == 0
    gate_open.set()
    events = await run(session, "next")
    assert events[-1].stop_reason == "model_finished"
    assert session.harness is not None
    lawful(session.harness.messages)
    assert "did 1" in [m.text for m in session.harness.messages]  # type: ignore[union-attr]
