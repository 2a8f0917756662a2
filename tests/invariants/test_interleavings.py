"""Steer, follow up, cancel, approve and compact at every event of six workflows, and at random."""

from __future__ import annotations

import os
from typing import Any

import pytest
from invariants.interleaved import WORKFLOWS, Talk, random_talk

SEEDS = 100_000 if os.environ.get("WISP_SOAK") else 2_000
PARTS = 10
FIRST = 20261130


async def _events_of(workflow: str) -> int:
    count = 0

    def at_event(place: int, event: Any) -> None:
        nonlocal count
        count = place + 1

    talk = Talk(workflow, FIRST)
    await talk.run("go", at_event)
    await talk.finish()
    return count


@pytest.mark.parametrize("action", ["steer", "follow_up", "cancel", "approve", "compact"])
@pytest.mark.parametrize("workflow", WORKFLOWS)
async def test_one_thing_at_every_event(workflow: str, action: str) -> None:
    """Whatever the moment: in order, nothing lost or doubled, one end a turn, and the conversation goes on."""
    events = await _events_of(workflow)
    assert events > 8
    for when in range(events):
        talk = Talk(workflow, FIRST)

        def at_event(place: int, event: Any, talk: Talk = talk, when: int = when) -> None:
            if place == when:
                talk.act(action)

        await talk.run("go", at_event)
        await talk.finish()


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(PARTS))
async def test_many_things_at_random(part: int) -> None:
    """Seeded: two thousand conversations here, a hundred thousand by hand."""
    for number in range(SEEDS // PARTS):
        seed = FIRST + part * (SEEDS // PARTS) + number
        try:
            await random_talk(seed)
        except BaseException as exc:
            exc.add_note(f"seed {seed}")
            raise
