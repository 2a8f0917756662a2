"""May this prepared call run?  Policy first, then, where it asks, a person, bound to the exact operation."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from wisp.harness.events import ToolApprovalRequested, ToolApprovalResolved
from wisp.harness.masking import Masker
from wisp.harness.ports import Advice, ApprovalAnswer, Approver
from wisp.loop.ports import Emit
from wisp.messages.content import Text
from wisp.messages.tool import Effect, ToolOutcome
from wisp.policy.command import plain_words, storable
from wisp.policy.decide import Policy, decide
from wisp.policy.modes import Decision
from wisp.policy.rules import Rule, parse_rule
from wisp.tools.base import Prepared

NONE = Advice()


class Denial(msgspec.Struct, frozen=True):
    """One call that was not allowed; kept for the run's report."""

    call_id: str
    tool: str
    summary: str
    reason: str
    headless: bool
    """Nobody was there to ask."""
    effects: tuple[Effect, ...] = ()
    """What it declared to do."""


class Gate:
    """Decides about calls of one conversation.

    `policy` is a snapshot; replacing it affects the next call.  Rules granted by a person live here, in
    memory, and die with the process.
    """

    def __init__(self, policy: Policy, approver: Approver | None, masker: Masker | None = None) -> None:
        self.policy = policy
        self.approver = approver
        self.masker = masker or Masker()
        self.denials: list[Denial] = []
        self.refused: set[str] = set()
        """Digests of operations that a person said no to."""

    def below(self, policy: Callable[[Policy], Policy], approver: Approver | None) -> Gate:
        """A gate for a subagent: never more rights than this one has, now or later, its denials included.

        Args:
            policy: makes the subagent's policy of this gate's, at every decision.
            approver: who is asked; None refuses.
        """
        return _GateBelow(self, policy, approver)

    def current(self) -> Policy:
        """The policy of the next decision."""
        return self.policy

    def grant(self, rule: Rule) -> None:
        """Allow what a person allowed for this session."""
        granted = (*(old for old in self.policy.granted if old.text != rule.text), rule)
        self.policy = msgspec.structs.replace(self.policy, granted=granted)

    def unasked(self, call_id: str, prepared: Prepared, advice: Advice = NONE) -> ToolOutcome | None:
        """As `admit` where nobody may be asked: what would be asked is refused."""
        decision = self._decide(prepared, advice)
        if decision.verdict == "allow":
            return None
        return self._refuse(call_id, prepared, decision.reason, headless=False)

    def asks(self, prepared: Prepared, advice: Advice = NONE) -> bool:
        """Whether somebody would be asked."""
        return self._decide(prepared, advice).verdict == "ask"

    def _decide(self, prepared: Prepared, advice: Advice) -> Decision:
        """The policy's decision, and a hook's: deny > ask > allow, and no hook allows what policy denies."""
        decision = decide(prepared.tool, prepared.effects, self.current())
        if decision.verdict == "deny" or not advice.verdict:
            return decision
        if advice.verdict == "allow":
            return decision if decision.fixed else Decision("allow", advice.reason)
        if advice.verdict == "deny":
            return Decision("deny", f"a hook blocked it: {advice.reason}")
        return Decision("ask", f"a hook wants it asked: {advice.reason}", fixed=True)

    async def admit(
        self, call_id: str, prepared: Prepared, emit: Emit, advice: Advice = NONE
    ) -> ToolOutcome | None:
        """None when the call may run; otherwise the outcome that tells the model why not."""
        decision = self._decide(prepared, advice)
        if decision.verdict == "allow":
            return None
        if decision.verdict == "deny":
            return self._refuse(call_id, prepared, decision.reason, headless=False)
        rule = "" if decision.fixed else _session_rule(prepared)
        request = ToolApprovalRequested(
            call_id,
            prepared.tool,
            prepared.digest(),
            self.masker.mask(prepared.summary),
            self.masker.mask(prepared.preview or prepared.summary),
            decision.reason,
            rule,
        )
        if self.approver is None:
            why = (
                f"{decision.reason}, and nobody can be asked in this headless run. "
                "Go on without it, or say what the user should allow."
            )
            return self._refuse(call_id, prepared, why, headless=True)
        emit(request)
        try:
            answer = await self.approver.ask(request)
        except BaseException:
            emit(ToolApprovalResolved(call_id, prepared.tool, False, "cancelled"))
            raise
        return self._answered(request, prepared, answer, emit)

    def _answered(
        self, request: ToolApprovalRequested, prepared: Prepared, answer: ApprovalAnswer, emit: Emit
    ) -> ToolOutcome | None:
        tool, call_id = prepared.tool, request.call_id
        if answer.digest != request.digest or prepared.digest() != request.digest:
            emit(ToolApprovalResolved(call_id, tool, False, "expired", "the operation is not the one shown"))
            return self._refuse(call_id, prepared, "the approval was for another operation", headless=False)
        emit(ToolApprovalResolved(call_id, tool, answer.approved, "person", answer.reason))
        if not answer.approved:
            self.refused.add(prepared.digest())
            reason = "the user said no" + (f": {answer.reason}" if answer.reason else "")
            return self._refuse(call_id, prepared, reason, headless=False)
        if answer.scope == "session" and request.session_rule:
            runs = prepared.effects[0].runs
            rule = msgspec.structs.replace(parse_rule(request.session_rule), runs=runs)
            self.grant(rule)
        return None

    def _refuse(self, call_id: str, prepared: Prepared, reason: str, *, headless: bool) -> ToolOutcome:
        self.denials.append(
            Denial(
                call_id, prepared.tool, self.masker.mask(prepared.summary), reason, headless, prepared.effects
            )
        )
        return ToolOutcome((Text(f"error (denied): {reason}"),), True, "denied", {"headless": headless})


class _GateBelow(Gate):
    """A subagent's gate; its policy is made of the one above at each decision."""

    def __init__(self, above: Gate, policy: Callable[[Policy], Policy], approver: Approver | None) -> None:
        super().__init__(policy(above.current()), approver, above.masker)
        self._above = above
        self._made = policy
        self.refused = above.refused

    def current(self) -> Policy:
        return self._made(self._above.current())

    def grant(self, rule: Rule) -> None:
        self._above.grant(rule)

    def _decide(self, prepared: Prepared, advice: Advice) -> Decision:
        if prepared.digest() in self.refused:
            return Decision("deny", "the user said no to this very operation")
        return super()._decide(prepared, advice)


def _session_rule(prepared: Prepared) -> str:
    """The narrowest rule that would cover the same operation again; empty where none may be stored."""
    if len(prepared.effects) != 1:
        return ""
    effect = prepared.effects[0]
    if effect.kind == "execute":
        words = plain_words(effect.target)
        return f"bash({' '.join(words)})" if words and storable(words) else ""
    if effect.kind == "ask" and effect.target == prepared.tool:
        return prepared.tool
    if (
        effect.kind == "network"
        and prepared.tool == "web_fetch"
        and not any(c in effect.target for c in "*?[]()")
    ):
        return f"web_fetch({effect.target})"
    if effect.kind == "write" and effect.inside and not any(c in effect.target for c in "*?[]()"):
        return f"edit({effect.target})"
    return ""
