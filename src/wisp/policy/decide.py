"""The decision about one prepared call: mode first, then rules, the strictest of its effects wins."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wisp.messages.tool import Effect
from wisp.policy.modes import Decision, Mode, judge
from wisp.policy.rules import Rule, Rules, allows, denies


class Policy(msgspec.Struct, frozen=True):
    """Everything a decision depends on; a snapshot, so a running call cannot change it."""

    mode: Mode
    root: str
    """The workspace's main root, absolute."""
    rules: Rules = Rules()
    granted: tuple[Rule, ...] = ()
    """Allow rules a person added during this session."""
    sandboxed: bool = False


def decide(tool: str, effects: Sequence[Effect], policy: Policy) -> Decision:
    """Allow, ask or deny a call of `tool` with these `effects`.  A call without effects is allowed."""
    worst = Decision("allow", "it has no effects")
    for effect in effects:
        decision = _one(tool, effect, policy)
        if decision.verdict == "deny":
            return decision
        if (
            decision.verdict == "ask" and (worst.verdict == "allow" or decision.fixed)
        ) or worst.verdict == "allow":
            worst = decision
    return worst


def _one(tool: str, effect: Effect, policy: Policy) -> Decision:
    for rule in policy.rules.deny:
        if denies(rule, tool, effect, policy.root):
            return Decision("deny", f"the rule deny {rule.text!r} forbids it")
    decision = judge(effect, policy.mode, sandboxed=policy.sandboxed)
    if decision.verdict != "ask" or decision.fixed:
        return decision
    for rule in (*policy.rules.allow, *policy.granted):
        if allows(rule, tool, effect, policy.root):
            return Decision("allow", f"the rule allow {rule.text!r} covers it")
    return decision
