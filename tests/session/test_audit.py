"""Approvals, refusals, retries, budget checks, repairs and changed settings are in the file, never in a request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_world import gate
from session_world import World, opened

from wisp.harness.events import ToolApprovalRequested
from wisp.harness.ports import ApprovalAnswer
from wisp.loop.limits import Limits
from wisp.messages.ids import SystemClock
from wisp.messages.message import user
from wisp.messages.usage import Usage
from wisp.providers.scripted import ScriptStep, call
from wisp.session.fold import Fold
from wisp.session.records import AuditRecord
from wisp.session.storage import MemoryStorage


class Person:
    """Says yes to the first question and no to the next ones."""

    def __init__(self) -> None:
        self.asked: list[ToolApprovalRequested] = []

    async def ask(self, request: ToolApprovalRequested) -> ApprovalAnswer:
        self.asked.append(request)
        return ApprovalAnswer(
            request.digest, len(self.asked) == 1, reason="" if len(self.asked) == 1 else "not that"
        )


def audits(storage: MemoryStorage, kind: str) -> list[dict[str, Any]]:
    return [r.body.facts for r in storage.records if isinstance(r.body, AuditRecord) and r.body.kind == kind]


CHANGES = [ScriptStep("x", calls=(call("change", x="1"), call("change", x="2"))), "done"]


async def run(storage: MemoryStorage, steps: Any, gated: Any, limits: Limits | None = None) -> Any:
    session, provider = opened(storage, steps, World(), SystemClock(), gated)
    _ = [event async for event in session.prompt(user("go"), limits=limits)]
    return provider


async def test_what_a_person_answered_is_recorded_with_the_operation_it_was_about() -> None:
    storage, person = MemoryStorage(), Person()
    await run(storage, CHANGES, gate("ask", person))

    told = audits(storage, "approval")
    assert [(t["approved"], t["by"], t["tool"]) for t in told] == [
        (True, "person", "change"),
        (False, "person", "change"),
    ]
    assert [t["digest"] for t in told] == [question.digest for question in person.asked]
    assert [t["reason"] for t in audits(storage, "denial")] == ["the user said no: not that"]


async def test_a_refusal_without_anybody_to_ask_is_recorded() -> None:
    storage = MemoryStorage()
    await run(storage, CHANGES, gate("ask", None))

    assert [(t["tool"], t["headless"]) for t in audits(storage, "denial")] == [("change", True)] * 2


async def test_every_check_of_a_ceiling_is_recorded_and_which_one_ended_the_run() -> None:
    storage = MemoryStorage()
    steps = [ScriptStep("x", calls=(call("look", x="1"),), usage=Usage(10, 5, 0, 0, 0))] * 2 + ["never"]
    await run(storage, steps, gate("full"), Limits(max_turns=2))

    told = audits(storage, "budget")
    assert [(t["turn"], t["within"], t["used"]["turns"], t["max_turns"]) for t in told] == [
        (1, True, 0, 2),
        (2, True, 1, 2),
        (3, False, 2, 2),
    ]
    assert [t["used"]["tokens"] for t in told] == [0, 15, 30]
    plain = MemoryStorage()
    await run(plain, ["done"], gate("full"))
    assert audits(plain, "budget") == []


async def test_settings_are_recorded_once_and_again_when_they_change() -> None:
    storage = MemoryStorage()
    await run(storage, ["one"], gate("full"))
    await run(storage, ["two"], gate("full"))
    await run(storage, ["three"], gate("read-only"))

    changes = [t["changed"].get("permission_mode") for t in audits(storage, "setting")]
    assert changes == [{"from": None, "to": "full"}, {"from": "full", "to": "read-only"}]
    assert Fold(storage.records).state.settings["permission_mode"] == "read-only"


@pytest.mark.parametrize("mode", ["ask", "full"])
async def test_no_audit_record_is_ever_in_a_request(mode: str) -> None:
    """The conversation folds to the same with them and without."""
    storage = MemoryStorage()
    await run(storage, CHANGES, gate(mode, Person()), Limits(max_turns=9))
    provider = await run(storage, ["again"], gate("read-only"), Limits(max_turns=9))
    without = Fold(r for r in storage.records if not isinstance(r.body, AuditRecord)).state
    assert without.context == Fold(storage.records).state.context
    said = json.dumps([m.text for m in provider.requests[-1].messages])
    for word in ("max_turns", "digest", "permission_mode"):
        assert word not in said
