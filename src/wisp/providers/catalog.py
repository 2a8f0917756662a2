"""What is known of models without asking anyone: windows, limits, prices, effort levels.

The data is `catalog.json` beside this module, made by `scripts/catalogue.py`, and over it the file that
`wisp models --refresh` wrote, if there is one and a later release has not overtaken it.  Read on first use.
It has a date, and says nothing of models it does not hold: unknown is None, never a guess.
"""

from __future__ import annotations

import re

import msgspec

from wisp.providers.base import ModelInfo

MOST_BYTES = 32 * 1024 * 1024
"""A refreshed file that is longer is none."""


class Catalog(msgspec.Struct, frozen=True):
    """A catalogue."""

    as_of: str
    """The day of the data, for instance `2026-08-18`."""
    source: str
    checked: str
    """The day whose prices these are."""
    models: dict[str, tuple[ModelInfo, ...]]
    """By provider."""
    by_hour: dict[str, tuple[str, ...]] = {}
    """Models whose price depends on the hour: it is not listed."""


_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")
_loaded: dict[str, Catalog] = {}
_notes: dict[str, str] = {}


def catalog(refreshed: str = "") -> Catalog:
    """The catalogue, read once.

    Args:
        refreshed: a file of newer data that lies over the bundled; it need not be there.
    """
    found = _loaded.get(refreshed)
    if found is None:
        if refreshed:
            found = _over(catalog(), refreshed)
        else:
            with open(__file__.removesuffix(".py") + ".json", "rb") as file:
                found = msgspec.json.decode(file.read(), type=Catalog)
        _loaded[refreshed] = found
    return found


def note(refreshed: str) -> str:
    """Why a file of newer data was not used, once somebody looked at it; nothing where all is well."""
    return _notes.get(refreshed, "")


def forget(refreshed: str) -> None:
    """Read that file anew when it is needed next."""
    _loaded.pop(refreshed, None)
    _notes.pop(refreshed, None)


def find(provider: str, model: str, refreshed: str = "") -> ModelInfo | None:
    """What is known of one model of a vendor, by its id or a dated snapshot of it; None where nothing is."""
    known = {info.id: info for info in catalog(refreshed).models.get(provider, ())}
    found = known.get(model)
    if found is None:
        base = known.get(_SNAPSHOT.sub("", model))
        found = msgspec.structs.replace(base, id=model) if base is not None else None
    return found


def _over(bundled: Catalog, path: str) -> Catalog:
    """The bundled catalogue under the newer one in that file."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ValueError("it is too large")
        newer = msgspec.json.decode(data, type=Catalog)
    except FileNotFoundError:
        return bundled
    except (OSError, ValueError, RecursionError) as exc:  # msgspec's errors and UnicodeError are ValueErrors
        why = exc.strerror if isinstance(exc, OSError) else exc
        _notes[path] = f"{path} is not used ({why}); run 'wisp models --refresh', or remove it"
        return bundled
    if newer.as_of < bundled.checked:
        return bundled
    models = {
        name: _merged(bundled.models.get(name, ()), newer.models.get(name, ()))
        for name in {**bundled.models, **newer.models}
    }
    return msgspec.structs.replace(newer, models=models)


def _merged(old: tuple[ModelInfo, ...], new: tuple[ModelInfo, ...]) -> tuple[ModelInfo, ...]:
    found = {info.id: info for info in (*old, *new)}
    return tuple(found[name] for name in sorted(found))
