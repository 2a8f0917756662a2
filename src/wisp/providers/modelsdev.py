"""What models.dev publishes, turned into catalogue entries.  Pure: reads no file, asks nobody.

The same rules for the catalogue that a release brings along (`scripts/catalogue.py`) and for one that a
person has fetched (`host.refresh`).  Effort levels and compatibility switches are what a person decided:
those of the catalogue before are kept, and a model that is new has none.  What is published comes from
outside: an entry that does not make sense is left out, a price that does not is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

VENDORS = {
    # our name -> theirs
    "anthropic": "anthropic",
    "cerebras": "cerebras",
    "deepseek": "deepseek",
    "fireworks": "fireworks-ai",
    "gemini": "google",
    "groq": "groq",
    "mistral": "mistral",
    "openai": "openai",
    "openrouter": "openrouter",
    "together": "togetherai",
    "xai": "xai",
}
SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")
"""A dated name of a model that is listed without its date says nothing new; `catalog.find` knows."""
OTHER_USES = re.compile(
    r"realtime|deep-research|computer-use|robotics|live|-image|image-|audio|tts|^gemma|-latest$"
)
KEPT_LATEST = re.compile(r"-chat-latest$")
EVERYWHERE: dict[str, dict[str, Any]] = {
    "openai": {
        "max_tokens_field": "max_completion_tokens",
        "supports_developer_role": True,
        "supports_cache_key": True,
    }
}
"""Switches of every model of a vendor."""
_RATES = ("input", "output", "cache_read", "cache_write")
_OVER = re.compile(r"context_over_(\d{1,6})([km]?)$")
_LONGEST_ID = 200


def vendor_models(name: str, listed: Any, before: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The models of one vendor that hold a conversation and call tools, by name.

    Args:
        name: the vendor, as we call it.
        listed: its models as models.dev lists them, by id.
        before: the entries of the catalogue so far, by id.
    """
    if not isinstance(listed, Mapping):
        return []
    found = []
    for model_id in sorted(key for key in listed if isinstance(key, str)):
        model = _model(model_id, listed[model_id])
        undated = SNAPSHOT.sub("", model_id)
        if model is None or (undated != model_id and undated in listed):
            continue
        old = before.get(model_id, {})
        compat = {**EVERYWHERE.get(name, {}), **old.get("compat", {})}
        if old.get("efforts"):
            model["efforts"] = old["efforts"]
        if compat:
            model["compat"] = compat
        found.append(model)
    return found


def _model(model_id: str, entry: Any) -> dict[str, Any] | None:
    if not isinstance(entry, Mapping) or not 0 < len(model_id) <= _LONGEST_ID or not model_id.isprintable():
        return None
    name = model_id.rpartition("/")[2]
    unfit = OTHER_USES.search(name) and not KEPT_LATEST.search(name)
    if entry.get("status") == "deprecated" or entry.get("tool_call") is not True or unfit:
        return None
    limit, modalities = _object(entry, "limit"), _object(entry, "modalities")
    window, output = _count(limit.get("context")), _count(limit.get("output"))
    if "text" not in _words(modalities, "output") or not 0 < output <= window:
        return None
    model: dict[str, Any] = {"id": model_id, "context_window": window, "max_output": output}
    if price := price_of(_object(entry, "cost"), free=model_id.endswith(":free")):
        model["price"] = price
    if "image" in _words(modalities, "input"):
        model["images"] = True
    if entry.get("reasoning") is True:
        model["reasoning"] = True
    return model


def price_of(cost: Mapping[str, Any], *, free: bool = False) -> dict[str, Any]:
    """A price as the catalogue has it; empty where it is unknown or is more than a `Price` can say.

    Args:
        free: the model's name says that it costs nothing; elsewhere zero stands for "not known", or for a
            plan that is paid otherwise.
    """
    try:
        price: dict[str, Any] = _rates(cost)
        tiers = [{"above": above, "price": rates} for above, rates in sorted(_tiers(cost)) if rates != price]
    except (ValueError, TypeError):
        return {}
    if not free and not price["input"] and not price["output"]:
        return {}
    if len({tier["above"] for tier in tiers}) < len(tiers):
        return {}
    return {**price, "tiers": tiers} if tiers else price


def _tiers(cost: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, float]]]:
    """The prices of long prompts; what is exact wins over the older, rounded form."""
    if exact := cost.get("tiers"):
        for tier in exact:
            size = _count(tier["tier"]["size"]) if tier["tier"].get("type") == "context" else 0
            if not size:
                raise ValueError("a tier that is not of the prompt's length")
            yield size, _rates(tier)
        return
    for key, rates in cost.items():
        if key.startswith("context_over_"):
            match = _OVER.match(key)
            if match is None:
                raise ValueError(key)
            yield int(match[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[match[2]], _rates(rates)


def _rates(cost: Mapping[str, Any]) -> dict[str, float]:
    """Raises ValueError or TypeError where a figure is missing or is none."""
    found = {name: _figure(cost[name]) for name in _RATES if cost.get(name) is not None}
    if "input" not in found or "output" not in found:
        raise ValueError("no price")
    thinking = cost.get("reasoning")
    if thinking is not None and _figure(thinking) not in (0.0, found["output"]):
        raise ValueError("thinking has a price of its own")
    return found


def _figure(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        raise ValueError("not a price")
    return float(value)


def _count(value: Any) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole and not isinstance(value, bool) and 0 < value < 1 << 40 else 0


def _object(entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = entry.get(name)
    return value if isinstance(value, Mapping) else {}


def _words(entry: Mapping[str, Any], name: str) -> set[str]:
    value = entry.get(name)
    return {word for word in value if isinstance(word, str)} if isinstance(value, list) else set()
