"""The catalogue is honest: dated, plausible, and silent about what it does not know."""

import re

import pytest

from wisp.messages.usage import Price, Tier, Usage, cost_of
from wisp.providers.catalog import catalog, find
from wisp.providers.openai_chat import compat_of

MODELS = [info for models in catalog().models.values() for info in models]


def test_it_says_how_old_it_is():
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", catalog().as_of)
    assert catalog().source


@pytest.mark.parametrize("info", MODELS, ids=lambda info: info.id)
def test_every_entry_is_plausible(info):
    assert 0 < info.max_output < info.context_window
    assert 0 < info.price.input < info.price.output
    assert (info.price.cache_read or 0) < info.price.input
    assert info.reasoning or not info.efforts
    compat_of(info.compat)


def test_a_dated_snapshot_is_the_model_it_is_of():
    assert (
        find("anthropic", "claude-sonnet-4-5-20250929").price == find("anthropic", "claude-sonnet-4-5").price
    )
    assert find("openai", "gpt-5.2-2025-12-11").id == "gpt-5.2-2025-12-11"


@pytest.mark.parametrize(("provider", "model"), [("openai", "gpt-99"), ("nobody", "gpt-5"), ("openai", "")])
def test_what_is_not_known_is_none(provider, model):
    assert find(provider, model) is None


def test_a_long_prompt_costs_its_own_price():
    price = Price(1.0, 2.0, 0.1, tiers=(Tier(1000, Price(10.0, 20.0, 1.0)),))
    assert cost_of(Usage(1000, 0), price) == pytest.approx(0.001)
    assert cost_of(Usage(1000, 0, 1), price) == pytest.approx(0.010001)
    assert cost_of(Usage(None, 5), price) is None
