"""The decision about one prepared call: mode first, then rules, the strictest of its effects wins."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wisp.messages.tool import Effect
from wisp.policy.modes import Decision, Mode, judge
from wisp.policy.rules import Rule, Rules, allows, denies, in_set, is_set


class Policy(msgspec.Struct, frozen=True):
    """Everything a decision depends on; a snapshot, so a running call cannot change it."""

    mode: Mode
    root: str
    """The workspace's main root, absolute."""
    rules: Rules = Rules()
    granted: tuple[Rule, ...] = ()
    """Allow rules a person added during this session."""
    sandboxed: bool = False
    own: tuple[str, ...] = ()
    """Folders of the agent's own settings and sessions, absolute: a person decides about each file in them,
    also where they lie in the workspace."""
    shown: tuple[str, ...] = ()
    """Folders in those that are not meant: outputs which a model is told to read."""


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
    effect = _own(effect, policy)
    decision = judge(effect, policy.mode, sandboxed=policy.sandboxed)
    if effect.kind == "execute":
        decision = _command(effect, decision, policy.root)
    if decision.verdict != "ask" or decision.fixed:
        return decision
    granted = [rule for rule in policy.granted if rule.runs in (None, effect.runs)]
    rules = (*policy.rules.allow, *granted)
    for rule in rules:
        if allows(rule, tool, effect, policy.root):
            return Decision("allow", f"the rule allow {rule.text!r} covers it")
    if effect.kind == "execute" and rules:
        covered = _piecewise(tool, effect, rules, policy)
        if covered is None and effect.reaches and any(map(is_set, rules)):
            why = f"{decision.reason}: {effect.reaches}, which its words do not say"
            decision = msgspec.structs.replace(decision, reason=why)
        decision = covered or decision
    if decision.verdict == "ask":
        for rule in policy.granted:
            if rule not in granted and allows(rule, tool, effect, policy.root):
                changed = _changed(rule.runs or "", effect.runs)
                why = f"{decision.reason}; {changed} changed since {rule.text!r} was allowed"
                return msgspec.structs.replace(decision, reason=why)
    return decision


def _own(effect: Effect, policy: Policy) -> Effect:
    """The effect, protected where it meets the agent's own files."""
    if effect.kind not in ("read", "write") or effect.protected:
        return effect
    path = effect.target.casefold() + "/"
    if any(path.startswith(folder.casefold() + "/") for folder in policy.shown):
        return effect
    if any(path.startswith(folder.casefold() + "/") for folder in policy.own):
        return msgspec.structs.replace(effect, protected="the agent's own settings and sessions")
    return effect


def _changed(before: str, now: str) -> str:
    """Names of the files that differ between two values of `Effect.runs`."""
    names = {word.rpartition("=")[0] for word in {*before.split()} ^ {*now.split()}}
    return ", ".join(sorted(names))


def _command(effect: Effect, decision: Decision, root: str) -> Decision:
    """What the words of a command add to what the mode says."""
    from wisp.policy.unshowable import unshowable

    why = unshowable(effect.target)
    if why:
        return Decision("deny", f"{why}; write it in plain characters")
    if decision.verdict != "allow":
        from wisp.policy.reading import only_reads

        if only_reads(effect.target, root):
            if not effect.reaches:
                return Decision("allow", "it only reads, inside the workspace")
            why = f"it would read {effect.reaches}, which its words do not say"
            return msgspec.structs.replace(decision, reason=f"{decision.reason}: {why}")
    return decision


def _piecewise(tool: str, effect: Effect, rules: Sequence[Rule], policy: Policy) -> Decision | None:
    """A line of several commands is allowed when each is covered by a rule or only reads.

    A rule that names no program covers whole lines only: it says too little to be put together from.
    """
    from wisp.policy.command import plain_words
    from wisp.policy.reading import reads
    from wisp.policy.shell import simple_commands

    sets = [rule for rule in rules if is_set(rule)]
    naming = [rule for rule in rules if rule.pattern and not rule.pattern.startswith(("*", "@"))]
    used: dict[str, None] = {}
    for words in simple_commands(effect.target) or [[]]:
        piece = msgspec.structs.replace(effect, target=" ".join(words))
        rule = next((rule for rule in naming if allows(rule, tool, piece, policy.root)), None)
        # A program named by its place is another one after `cd`: a rule for it covers whole lines only.
        if rule is not None and plain_words(piece.target) == words and "/" not in words[0]:
            used[rule.text] = None
        elif not words or effect.reaches:
            return None
        elif not reads(words, policy.root):
            covering = next((rule for rule in sets if in_set(rule, words, policy.root)), None)
            if covering is None:
                return None
            used[covering.text] = None
    return Decision("allow", f"each part only reads or is covered by {', '.join(map(repr, used))}")
