"""How much a run may use, and the check that is made before each request.  Values and arithmetic only."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wisp.messages.message import Message
from wisp.messages.usage import ZERO, Price, Usage, cost_of


class Limits(msgspec.Struct, frozen=True):
    """Ceilings of one run; None is no ceiling."""

    max_turns: int | None = None
    """Requests; exactly this many are made at most."""
    max_cost: float | None = None
    """US dollars at list price."""
    max_tokens: int | None = None
    """Prompt and output tokens of all requests together."""
    max_time: float | None = None
    """Seconds of work, waiting for a person left out."""
    max_repeats: int | None = None
    """Turns in a row that make the same calls and get the same results."""

    def beyond(self, spent: Spent) -> Limits:
        """These limits again, counted from `spent`."""
        tokens = (spent.usage.prompt_tokens or 0) + (spent.usage.output_tokens or 0)
        return Limits(
            None if self.max_turns is None else spent.turns + self.max_turns,
            None if self.max_cost is None or spent.cost is None else spent.cost + self.max_cost,
            None if self.max_tokens is None or _unknown(spent) else tokens + self.max_tokens,
            None if self.max_time is None else spent.seconds + self.max_time,
            self.max_repeats,
        )


class Spent(msgspec.Struct, frozen=True):
    """What a run has used so far."""

    turns: int = 0
    usage: Usage = ZERO
    cost: float | None = 0.0
    """None once one request's cost was unknown."""
    seconds: float = 0.0

    def and_also(self, other: Spent) -> Spent:
        """Both together."""
        known = self.cost is not None and other.cost is not None
        return Spent(
            self.turns + other.turns,
            self.usage.plus(other.usage),
            (self.cost or 0) + (other.cost or 0) if known else None,
            self.seconds + other.seconds,
        )

    def after(self, usage: Usage | None, cost: float | None) -> Spent:
        """With one more request."""
        total = self.usage.plus(usage or Usage())
        both_known = self.cost is not None and cost is not None
        return Spent(
            self.turns + 1, total, (self.cost or 0) + (cost or 0) if both_known else None, self.seconds
        )

    def beside(self, usage: Usage | None, cost: float | None) -> Spent:
        """With a request that is no turn of the run: a summary."""
        after = self.after(usage, cost)
        return Spent(self.turns, after.usage, after.cost, self.seconds)


def _unknown(spent: Spent) -> bool:
    return spent.usage.prompt_tokens is None or spent.usage.output_tokens is None


class Exhausted(msgspec.Struct, frozen=True):
    """Which ceiling was reached."""

    which: str
    """`turns`, `cost`, `tokens`, `time` or `loop`."""
    message: str


def exhausted(limits: Limits, spent: Spent, coming: float | None = None, whose: str = "") -> Exhausted | None:
    """The ceiling that forbids another request, if any.

    A ceiling in dollars cannot be kept where a price is unknown, so an unknown cost reaches it.

    Args:
        coming: what the request will cost at the least; None where that is unknown.
        whose: whose limits they are, as `of this session`; empty for the run's.
    """
    of = f" {whose}" if whose else ""
    if limits.max_turns is not None and spent.turns >= limits.max_turns:
        return Exhausted("turns", f"the limit of {limits.max_turns} turns{of} is used up")
    if limits.max_cost is not None:
        if spent.cost is None:
            return Exhausted("cost", f"the cost so far is unknown, so {name('cost', whose)} cannot be kept")
        if spent.cost >= limits.max_cost:
            return Exhausted("cost", f"the budget of ${limits.max_cost:g}{of} is used up (${spent.cost:.4f})")
        if coming is not None and spent.cost + coming > limits.max_cost:
            left = f"${limits.max_cost - spent.cost:.4f} are left of the budget of ${limits.max_cost:g}{of}"
            return Exhausted("cost", f"the next request would cost ${coming:.4f} or more, and {left}")
    if limits.max_tokens is not None:
        prompt, output = spent.usage.prompt_tokens, spent.usage.output_tokens
        if prompt is None or output is None:
            return Exhausted(
                "tokens", f"the tokens used so far are unknown, so {name('tokens', whose)} cannot be kept"
            )
        if prompt + output >= limits.max_tokens:
            return Exhausted("tokens", f"the budget of {limits.max_tokens} tokens{of} is used up")
    if limits.max_time is not None and spent.seconds >= limits.max_time:
        return Exhausted("time", f"the time of {limits.max_time:g} seconds{of} is used up")
    return None


def name(which: str, whose: str) -> str:
    """How a person knows a limit."""
    return f"the limit in {which} {whose}" if whose else f"--max-{which}"


BYTES_PER_TOKEN = 4
"""A guess, for what no provider has counted yet."""


def projected(last: Usage, since: Sequence[Message], price: Price) -> float | None:
    """What the next request will cost at the least, in US dollars: the prompt of the last one again, its
    answer and what came since; nothing for the answer to come.

    Args:
        last: what the last request used.
        since: messages after its answer.

    None where a figure or a price is unknown.
    """
    prompt, output = last.prompt_tokens, last.output_tokens
    if prompt is None or output is None:
        return None
    new = output + sum(map(_tokens, since))
    cached = bool(last.cache_read_tokens or last.cache_write_tokens)
    if cached:
        return cost_of(Usage(new, 0, prompt, 0), price)
    return cost_of(Usage(prompt + new, 0, 0, 0), price)


def _tokens(message: Message) -> int:
    return len(message.text.encode("utf-8", "replace")) // BYTES_PER_TOKEN
