"""How much a run may use, and the check that is made before each request.  Values and arithmetic only."""

from __future__ import annotations

import msgspec

from wisp.messages.usage import ZERO, Usage


class Limits(msgspec.Struct, frozen=True):
    """Ceilings of one run; None is no ceiling."""

    max_turns: int | None = None
    """Requests; exactly this many are made at most."""
    max_cost: float | None = None
    """US dollars at list price."""
    max_tokens: int | None = None
    """Prompt and output tokens of all requests together."""


class Spent(msgspec.Struct, frozen=True):
    """What a run has used so far."""

    turns: int = 0
    usage: Usage = ZERO
    cost: float | None = 0.0
    """None once one request's cost was unknown."""

    def after(self, usage: Usage | None, cost: float | None) -> Spent:
        """With one more request."""
        total = self.usage.plus(usage or Usage())
        both_known = self.cost is not None and cost is not None
        return Spent(self.turns + 1, total, (self.cost or 0) + (cost or 0) if both_known else None)

    def beside(self, usage: Usage | None, cost: float | None) -> Spent:
        """With a request that is no turn of the run: a summary."""
        after = self.after(usage, cost)
        return Spent(self.turns, after.usage, after.cost)


class Exhausted(msgspec.Struct, frozen=True):
    """Which ceiling was reached."""

    which: str
    """`turns`, `cost` or `tokens`."""
    message: str


def exhausted(limits: Limits, spent: Spent) -> Exhausted | None:
    """The ceiling that forbids another request, if any.

    A ceiling in dollars cannot be kept where a price is unknown, so an unknown cost reaches it.
    """
    if limits.max_turns is not None and spent.turns >= limits.max_turns:
        return Exhausted("turns", f"the limit of {limits.max_turns} turns is used up")
    if limits.max_cost is not None:
        if spent.cost is None:
            return Exhausted("cost", "the cost so far is unknown, so --max-cost cannot be kept")
        if spent.cost >= limits.max_cost:
            return Exhausted("cost", f"the budget of ${limits.max_cost:g} is used up (${spent.cost:.4f})")
    if limits.max_tokens is not None:
        prompt, output = spent.usage.prompt_tokens, spent.usage.output_tokens
        if prompt is None or output is None:
            return Exhausted("tokens", "the tokens used so far are unknown, so --max-tokens cannot be kept")
        if prompt + output >= limits.max_tokens:
            return Exhausted("tokens", f"the budget of {limits.max_tokens} tokens is used up")
    return None
