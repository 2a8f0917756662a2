"""The program dies after any record, or inside the last one: the session opens and goes on as it must.

Safe calls are run again, calls with effects are not; every call has one result; the next request is lawful.
"""

from pathlib import Path
from typing import Any

import pytest
from agent_world import FakeTool, check_events, gate, lawful
from session_world import STEPS, World, opened, run

from wisp.harness.repair import INTERRUPTED
from wisp.messages.ids import SystemClock
from wisp.messages.laws import violations
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage
from wisp.session.codec import encode
from wisp.session.fold import Fold
from wisp.session.journal import FileJournal
from wisp.session.records import CallIntentRecord, MessageRecord, Record
from wisp.session.recover import NOT_STARTED
from wisp.session.storage import MemoryStorage

EFFECTS = ["3", "5"]


async def whole_life() -> list[Record]:
    storage = MemoryStorage()
    session, _ = opened(storage, STEPS, World(), SystemClock())
    check_events(await run(session))
    return storage.records


def happened(records: list[Record], *, in_flight: bool) -> World:
    """The world when the program dies after `records`: every settled effect, perhaps the open one."""
    world = World()
    settled = {
        r.body.message.call_id
        for r in records
        if isinstance(r.body, MessageRecord) and isinstance(r.body.message, ToolResult)
    }
    for record in records:
        if isinstance(record.body, CallIntentRecord) and record.body.effectful:
            if in_flight or record.body.call.id in settled:
                world.effects.append(record.body.call.arguments.split('"')[3])
    return world


async def resume(storage: Any, world: World, records: list[Record]) -> None:
    """Open `storage`, which holds `records`, prompt, and check everything that must hold."""
    before = Fold(records).state
    effects = list(world.effects)
    session, provider = opened(storage, ["I go on."], world, SystemClock())
    events = await run(session, "go on")
    start = next(n for n, e in enumerate(events) if type(e).__name__ == "AgentStarted")
    check_events(events[start:])
    assert events[-1].stop_reason == "model_finished"
    assert world.effects == effects, "an effect was repeated"
    assert session.harness is not None
    messages = session.harness.messages
    lawful(messages)
    assert violations(provider.requests[0].messages) == []
    assert messages[: len(before.messages)] == tuple(before.messages)
    assert [m.text for m in messages if isinstance(m, UserMessage)][-1] == "go on"
    _results_say_what_happened(messages, records)


def _results_say_what_happened(messages: Any, records: list[Record]) -> None:
    intents = {r.body.call.id: r.body for r in records if isinstance(r.body, CallIntentRecord)}
    kept = {r.body.message.id for r in records if isinstance(r.body, MessageRecord)}
    calls = {c.id: c for m in messages if isinstance(m, AssistantMessage) for c in m.calls}
    for result in messages:
        if not isinstance(result, ToolResult) or result.id in kept:
            continue
        intent = intents.get(result.call_id)
        if intent is None:
            assert result.code == "not_started"
            assert NOT_STARTED in result.text
            continue
        assert result.id == intent.result_id
        if intent.replay == "safe":
            assert result.text == f"did {calls[result.call_id].arguments.split(chr(34))[3]}"
        else:
            assert result.code == "interrupted"
            assert INTERRUPTED in result.text


@pytest.mark.parametrize("in_flight", [False, True])
async def test_death_after_every_record(in_flight: bool) -> None:
    records = await whole_life()
    assert len(records) > 15
    for count in range(len(records) + 1):
        prefix = records[:count]
        await resume(MemoryStorage(prefix), happened(prefix, in_flight=in_flight), prefix)


async def test_death_twice_in_a_row_after_every_record_of_the_recovery() -> None:
    records = await whole_life()
    for count in range(len(records) + 1):
        prefix = records[:count]
        storage = MemoryStorage(prefix)
        world = happened(prefix, in_flight=True)
        session, _ = opened(storage, ["I go on."], world, SystemClock())
        await run(session, "go on")
        for second in range(count, len(storage.records)):
            again = storage.records[:second]
            await resume(MemoryStorage(again), happened(again, in_flight=True), again)


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
async def test_death_at_every_record_boundary_and_inside_records(tmp_path: Path, step: int) -> None:
    """At each boundary, and at every byte (every eleventh in the quick run) of one record of each kind."""
    records = await whole_life()
    lines = [encode(record) for record in records]
    kinds: set[str] = set()
    for number, record in enumerate(records):
        kind = type(getattr(record.body, "message", record.body)).__name__
        every = kind not in kinds and kind != "SessionHeader"
        kinds.add(kind)
        places = range(0, len(lines[number]), step) if every else (0, 1, len(lines[number]) - 1)
        for place in places:
            path = tmp_path / f"{number}-{place}.jsonl"
            path.write_bytes(b"".join(lines[:number]) + lines[number][:place])
            survived = records[: number + (place == len(lines[number]) - 1)]
            journal = FileJournal(str(path))
            await resume(journal, happened(survived, in_flight=True), survived)
            journal.close()
            reopened = FileJournal(str(path))
            assert reopened.load().damage == ()
            reopened.close()
    assert len(kinds) >= 6


async def test_a_safe_call_that_is_no_longer_allowed_is_not_run_and_nobody_is_asked() -> None:
    records = await whole_life()
    cut = next(n for n, r in enumerate(records) if isinstance(r.body, CallIntentRecord)) + 1
    world = World()
    refusing = gate("ask", None, deny=("look",))
    look = FakeTool("look", effect="read", replay="safe")
    session, _ = opened(MemoryStorage(records[:cut]), ["on"], world, SystemClock(), refusing, [look])
    await run(session, "go on")
    assert look.started == []
    assert session.harness is not None
    lawful(session.harness.messages)
    assert "interrupted" in [getattr(m, "code", "") for m in session.harness.messages]
