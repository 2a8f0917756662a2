"""The catalogue is honest: dated, plausible, right to the cent or silent, and silent about the unknown."""

import importlib.util
import json
import random
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from genai_prices import Usage as TheirUsage
from genai_prices import calc_price

import wisp.providers.catalog as catalog_module
from wisp.messages.usage import Price, Tier, Usage, cost_of
from wisp.providers.catalog import catalog, find
from wisp.providers.openai_chat import compat_of
from wisp.providers.registry import VENDORS

THEIR_NAMES = {"gemini": "google", "xai": "x-ai"}
"""Vendors that genai-prices calls otherwise."""


def test_it_says_how_old_it_is_and_when_its_prices_were_checked():
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", catalog().as_of)
    assert catalog().checked >= catalog().as_of
    assert catalog().source


def test_every_vendor_of_the_catalogue_can_be_named():
    assert set(catalog().models) <= set(VENDORS)
    assert not set(catalog().models) & {name for name, vendor in VENDORS.items() if vendor.local}


@pytest.mark.parametrize("vendor", sorted(catalog().models))
def test_every_entry_is_plausible(vendor):
    ids = [info.id for info in catalog().models[vendor]]
    assert ids == sorted(set(ids))
    for info in catalog().models[vendor]:
        assert 0 < info.max_output <= info.context_window, info
        prices = (info.price.input, info.price.output)
        assert prices == (None, None) or min(prices) > 0 or info.id.endswith(":free"), info
        assert (info.price.cache_read or 0) <= (info.price.input or 0), info
        above = [tier.above for tier in info.price.tiers]
        assert above == sorted(set(above)), info
        assert info.reasoning or not info.efforts, info
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


def test_a_price_that_depends_on_the_hour_is_unknown_and_so_is_its_cost():
    content = json.loads(Path(catalog_module.__file__).with_suffix(".json").read_text())
    assert content["by_hour"]
    for vendor, models in content["by_hour"].items():
        for model in models:
            assert cost_of(Usage(1, 1), find(vendor, model).price) is None


def theirs(vendor: str, model: str, usage: Usage) -> float | None:
    """The cost by genai-prices on the day the catalogue was checked; None where it does not know the model."""
    when = datetime.fromisoformat(catalog().checked).replace(hour=12, tzinfo=UTC)
    asked = TheirUsage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
    )
    try:
        found = calc_price(
            asked, model, provider_id=THEIR_NAMES.get(vendor, vendor), genai_request_timestamp=when
        )
    except LookupError:
        return None
    return float(found.total_price)


def test_the_cost_is_that_of_genai_prices_to_the_cent_for_two_hundred_sampled_requests():
    """Tiers, cache reads and cache writes included; every usage fits the model's window."""
    rnd = random.Random(20261130)
    models = [
        (vendor, info)
        for vendor, infos in catalog().models.items()
        for info in infos
        if info.price.input is not None and theirs(vendor, info.id, Usage(1, 1, 0, 0)) is not None
    ]
    compared, tiers, reads, writes = [], 0, 0, 0
    while len(compared) < 200:
        vendor, info = rnd.choice(models)
        prompt = rnd.randrange(1, info.context_window - info.max_output // 2)
        read = rnd.randrange(prompt) if rnd.random() < 0.5 and info.price.cache_read is not None else 0
        write = (
            rnd.randrange(prompt - read) if rnd.random() < 0.5 and info.price.cache_write is not None else 0
        )
        usage = Usage(prompt - read - write, rnd.randrange(1, info.max_output), read, write)
        ours = cost_of(usage, info.price)
        other = theirs(vendor, info.id, usage)
        assert ours is not None
        assert abs(ours - other) < 0.000_001 + ours * 1e-9, (vendor, info.id, usage, ours, other)
        compared.append((vendor, info.id))
        tiers += any(prompt > tier.above for tier in info.price.tiers)
        reads, writes = reads + bool(read), writes + bool(write)
    assert min(tiers, reads, writes) >= 5
    assert {"anthropic", "openai", "gemini"} <= {vendor for vendor, _ in compared}


def test_tiers_and_cache_writes_of_the_large_vendors_agree_one_by_one():
    """Every model of three vendors, on both sides of every tier."""
    checked = 0
    for vendor in ("anthropic", "openai", "gemini"):
        for info in catalog().models[vendor]:
            for size in (10, *(tier.above + step for tier in info.price.tiers for step in (-1, 0, 1))):
                usages = [Usage(size, 7, 0, 0)]
                usages += [Usage(size - 5, 7, 5, 0)] if info.price.cache_read is not None else []
                usages += [Usage(size - 5, 7, 0, 5)] if info.price.cache_write is not None else []
                for usage in usages:
                    ours, other = cost_of(usage, info.price), theirs(vendor, info.id, usage)
                    if ours is not None and other is not None:
                        assert ours == pytest.approx(other, rel=1e-9), (info.id, usage)
                        checked += 1
    assert checked > 80


def test_the_script_knows_the_vendors_of_the_file_and_where_a_tier_begins():
    """The data of models.dev is no dependency; what the script makes of genai-prices can be seen here."""
    path = Path(__file__).resolve().parents[2] / "scripts" / "catalogue.py"
    spec = importlib.util.spec_from_file_location("catalogue_script", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert set(module.VENDORS) == set(catalog().models)
    price = module.newer_price("gemini", "gemini-2.5-pro", datetime(2026, 11, 30, tzinfo=UTC))
    assert [tier["above"] for tier in price["tiers"]] == [200_000]
    assert price["tiers"][0]["price"]["input"] == 2 * price["input"]
    assert module.newer_price("gemini", "no-such-model", datetime(2026, 11, 30, tzinfo=UTC)) is None
