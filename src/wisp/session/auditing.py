"""What a reader of a session should know and the model never sees, told from a run's events.

Approvals and refusals, retries, budget checks, changed settings, repairs.  Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from wisp.harness.events import ToolApprovalRequested, ToolApprovalResolved
from wisp.harness.gate import Gate
from wisp.loop.events import (
    AgentCompleted,
    AgentStarted,
    CacheBroken,
    Event,
    ProviderRetrying,
    ProviderSwitched,
    RepairReported,
    TurnStarted,
)
from wisp.loop.limits import Limits
from wisp.messages.usage import Usage
from wisp.session.state import State

Facts = dict[str, Any]
Audit = Callable[[str, Facts], Awaitable[None]]


class Auditor:
    """Watches one run.

    Args:
        audit: records one fact.
        state: the session so far.
        limits: the run's ceilings.
        gate: what decides about calls.
    """

    def __init__(self, audit: Audit, state: Callable[[], State], limits: Limits, gate: Gate) -> None:
        self._audit = audit
        self._state = state
        self._limits = limits
        self._gate = gate
        self._told = len(gate.denials)
        self._asked: dict[str, ToolApprovalRequested] = {}
        now = state()
        self._before = (now.turns, now.usage, now.cost_usd)

    async def note(self, event: Event) -> None:
        """Record what `event` tells that is worth it."""
        await self._new_denials()
        if isinstance(event, RepairReported):
            await self._audit("repair", {"notes": list(event.messages)})
        elif isinstance(event, CacheBroken):
            await self._audit("cache_broken", {"turn": event.turn, "reasons": list(event.reasons)})
        elif isinstance(event, ProviderSwitched):
            facts = {"turn": event.turn, "provider": event.provider, "model": event.model}
            await self._audit("provider_switched", {**facts, "reason": event.reason})
        elif isinstance(event, ProviderRetrying):
            facts = {"turn": event.turn, "provider": event.provider, "attempt": event.attempt}
            status = {"status_code": event.status_code} if event.status_code else {}
            await self._audit("retry", {**facts, "reason": event.reason, **status})
        elif isinstance(event, ToolApprovalRequested):
            self._asked[event.call_id] = event
        elif isinstance(event, ToolApprovalResolved):
            await self._answered(event)
        elif isinstance(event, AgentStarted):
            now = {
                "provider": event.provider,
                "model": event.model,
                "permission_mode": self._gate.policy.mode,
            }
            await settings_changed(self._audit, self._state(), now)
        elif isinstance(event, TurnStarted):
            await self._checked(event.turn, within=True)
        elif isinstance(event, AgentCompleted) and event.stop_reason in ("turn_limit", "budget"):
            await self._checked(event.turns + 1, within=False)

    async def _new_denials(self) -> None:
        while self._told < len(self._gate.denials):
            denial = self._gate.denials[self._told]
            self._told += 1
            facts: Facts = {"call_id": denial.call_id, "tool": denial.tool, "summary": denial.summary}
            facts |= {"reason": denial.reason, "headless": denial.headless}
            if denial.effects:
                facts["effects"] = msgspec.to_builtins(denial.effects)
            await self._audit("denial", facts)

    async def _answered(self, event: ToolApprovalResolved) -> None:
        facts: Facts = {"call_id": event.call_id, "tool": event.name, "approved": event.approved}
        facts |= {"by": event.by, "reason": event.reason}
        asked = self._asked.pop(event.call_id, None)
        if asked is not None:
            facts |= {"digest": asked.digest, "summary": asked.summary, "asked_because": asked.reason}
        await self._audit("approval", facts)

    async def _checked(self, turn: int, *, within: bool) -> None:
        """One check of the ceilings before a request; nothing where there are none."""
        limits = self._limits
        ceilings = {
            "max_turns": limits.max_turns,
            "max_cost": limits.max_cost,
            "max_tokens": limits.max_tokens,
        }
        set_ = {name: value for name, value in ceilings.items() if value is not None}
        if set_:
            state, (turns, usage, cost) = self._state(), self._before
            used: Facts = {"turns": state.turns - turns, "tokens": _tokens(state.usage, usage)}
            known = state.cost_usd is not None and cost is not None
            used["cost"] = round((state.cost_usd or 0) - (cost or 0), 9) if known else None
            await self._audit("budget", {"turn": turn, "within": within, "used": used, **set_})


async def settings_changed(audit: Audit, state: State, now: Mapping[str, Any]) -> None:
    """Record the settings in `now` that are not what the session last recorded of them."""
    changed = {
        name: {"from": state.settings.get(name), "to": value}
        for name, value in now.items()
        if state.settings.get(name) != value
    }
    if changed:
        await audit("setting", {"changed": changed})


def _tokens(now: Usage, before: Usage) -> int | None:
    parts = (now.prompt_tokens, now.output_tokens, before.prompt_tokens, before.output_tokens)
    if any(part is None for part in parts):
        return None
    a, b, c, d = (part or 0 for part in parts)
    return a + b - c - d
