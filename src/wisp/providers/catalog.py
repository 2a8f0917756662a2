"""What is known of models without asking anyone: windows, limits, prices, effort levels.

The data is `catalog.json` beside this module, made by `scripts/catalogue.py`, read on first use.  It
has a date, and says nothing of models it does not hold: unknown is None, never a guess.
"""

from __future__ import annotations

import re

import msgspec

from wisp.providers.base import ModelInfo


class Catalog(msgspec.Struct, frozen=True):
    """The bundled catalogue."""

    as_of: str
    """The day of the data, for instance `2026-08-18`."""
    source: str
    checked: str
    """The day whose prices these are."""
    models: dict[str, tuple[ModelInfo, ...]]
    """By provider."""


_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")
_loaded: Catalog | None = None


def catalog() -> Catalog:
    """The catalogue, read once."""
    global _loaded
    if _loaded is None:
        path = __file__.removesuffix(".py") + ".json"
        with open(path, "rb") as file:
            _loaded = msgspec.json.decode(file.read(), type=Catalog)
    return _loaded


def find(provider: str, model: str) -> ModelInfo | None:
    """What is known of one model of a vendor, by its id or a dated snapshot of it; None where nothing is."""
    known = {info.id: info for info in catalog().models.get(provider, ())}
    found = known.get(model)
    if found is None:
        base = known.get(_SNAPSHOT.sub("", model))
        found = msgspec.structs.replace(base, id=model) if base is not None else None
    return found
