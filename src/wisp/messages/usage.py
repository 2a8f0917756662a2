"""Tokens and money: what one request used, and how such figures add up.

`None` always means unknown, never zero.  Prices and who asks for them live elsewhere.
"""

from __future__ import annotations

import msgspec


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one request or of several, in four parts that do not overlap.

    Providers count differently; each adapter normalises to this.  The whole prompt is
    `input_tokens + cache_read_tokens + cache_write_tokens`.
    """

    input_tokens: int | None = None
    """Prompt tokens neither read from nor written to a cache."""
    output_tokens: int | None = None
    """Everything the model produced, reasoning included."""
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    """The part of `output_tokens` that was reasoning; for information, never added."""

    def plus(self, other: Usage) -> Usage:
        """The sum, part by part; a part unknown on one side is unknown in the sum."""
        return Usage(
            _plus(self.input_tokens, other.input_tokens),
            _plus(self.output_tokens, other.output_tokens),
            _plus(self.cache_read_tokens, other.cache_read_tokens),
            _plus(self.cache_write_tokens, other.cache_write_tokens),
            _plus(self.reasoning_tokens, other.reasoning_tokens),
        )

    @property
    def prompt_tokens(self) -> int | None:
        """Every token of the prompt, cached or not; unknown when the uncached part is."""
        if self.input_tokens is None:
            return None
        return self.input_tokens + (self.cache_read_tokens or 0) + (self.cache_write_tokens or 0)


ZERO = Usage(0, 0, 0, 0, 0)
"""The sum of no requests."""


class Price(msgspec.Struct, frozen=True, omit_defaults=True):
    """List prices in US dollars per million tokens; `None` is unknown."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    tiers: tuple[Tier, ...] = ()
    """Other prices for long prompts, shortest first."""


class Tier(msgspec.Struct, frozen=True, omit_defaults=True):
    """The price of a request whose whole prompt is longer than `above` tokens."""

    above: int
    price: Price


def cost_of(usage: Usage, price: Price) -> float | None:
    """What one request's `usage` costs at `price` in US dollars, or None where a figure that matters is
    unknown.  Sums of several requests have no cost of their own where the price has tiers."""
    for tier in price.tiers:
        if (usage.prompt_tokens or 0) > tier.above:
            price = tier.price
    total = 0.0
    pairs = (
        (usage.input_tokens, price.input),
        (usage.output_tokens, price.output),
        (usage.cache_read_tokens or 0, price.cache_read),
        (usage.cache_write_tokens or 0, price.cache_write),
    )
    for tokens, rate in pairs:
        if tokens is None:
            return None
        if tokens and rate is None:
            return None
        total += tokens * (rate or 0.0) / 1_000_000
    return total


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
