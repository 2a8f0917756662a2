"""A person goes back and forth in a conversation that is open; what was left is told in short."""

from __future__ import annotations

import pytest
from session_world import World, opened, run

from wisp.messages.ids import SystemClock
from wisp.messages.laws import violations
from wisp.messages.message import UserMessage
from wisp.providers.scripted import ScriptStep, call
from wisp.session.branches import NoSuchEntry
from wisp.session.fold import Fold
from wisp.session.storage import MemoryStorage


async def test_the_next_request_holds_the_way_to_where_the_conversation_goes_on() -> None:
    """And after taking it back, the other one; the file has both branches."""
    storage = MemoryStorage()
    session, provider = opened(storage, ["one", "two", "three", "four"], World(), SystemClock())
    await run(session, "first")
    place = session.state.leaf
    await run(session, "second")
    await session.go(place)
    await run(session, "third")

    def asked() -> list[str]:
        return [m.text for m in provider.requests[-1].messages if isinstance(m, UserMessage)]

    assert asked() == ["first", "third"]
    await session.go("")
    await run(session, "fourth")
    assert asked() == ["first", "second", "fourth"]
    with pytest.raises(NoSuchEntry, match="no move"):
        await session.go("")
    assert Fold(storage.records).state.context == session.state.context


async def test_the_branch_that_was_left_is_told_where_the_conversation_goes_on() -> None:
    """By the model, with the facts; as a notice that the next request has."""
    storage = MemoryStorage()
    steps = ["one", "two", "it went wrong there", "three"]
    session, provider = opened(storage, steps, World(), SystemClock())
    await run(session, "first")
    place = session.state.leaf
    await run(session, "try the heron way")
    await session.go(place, summarise=True)
    await run(session, "second")

    text = "\n".join(m.text for m in provider.requests[-1].messages)
    assert "it went wrong there" in text
    assert "heron" in text
    assert "two" not in [m.text for m in provider.requests[-1].messages]
    assert violations(provider.requests[-1].messages) == []


async def test_a_move_into_the_middle_of_a_turn_leaves_a_lawful_conversation() -> None:
    """The calls of the answer get their results, and nothing runs again."""
    world = World()
    steps = [ScriptStep("I change.", calls=(call("change", x="1"),)), "done", "on"]
    session, provider = opened(MemoryStorage(), steps, world, SystemClock())
    await run(session, "first")
    await session.go("2")
    await run(session, "second")

    assert violations(provider.requests[-1].messages) == []
    assert world.effects == ["1"]
