"""The models a person can choose from, as rows: settings, running local servers, the catalogue."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from wisp.host.choosing import http_transport
from wisp.host.configure import Configured
from wisp.host.local import Offer, discover
from wisp.host.models import Service, model_info, services
from wisp.host.secrets import MissingKey, StoredLogins
from wisp.providers.catalog import catalog

Row = dict[str, Any]


def models(configured: Configured, env: Mapping[str, str], words: str, *, all_: bool) -> list[Row]:
    """One row a model; see `host.small.HostLibrary.models`."""
    catalogue = configured.paths.catalogue_file
    known = services(configured.settings, env)
    try:
        stored = set(StoredLogins(configured.paths.credentials_file).names())
    except MissingKey:
        stored = set()  # `wisp auth status` and `wisp doctor` say what is wrong with the file
    offers = asyncio.run(_offers(known.values(), env))
    rows: list[Row] = []
    for service in known.values():
        has_key = service.name in stored or any(env.get(name) for name in service.key_variables)
        found: dict[str, Row] = {
            name: _row(service, name, catalogue, "configured") for name in service.models
        }
        for offer in offers:
            if offer.provider == service.name:
                found[offer.model] = _row(
                    service, offer.model, catalogue, "running here", offer.context_window
                )
        if (has_key and not service.models) or all_ or words:
            status = "key found" if has_key else "no key"
            for listed in catalog(catalogue).models.get(service.name, ()):
                found.setdefault(listed.id, _row(service, listed.id, catalogue, status))
        rows += found.values()
    wanted = words.lower().split()
    return [row for row in rows if all(word in _text(row) for word in wanted)]


async def _offers(known: Iterable[Service], env: Mapping[str, str]) -> list[Offer]:
    transport = http_transport(env)
    try:
        return await discover(known, transport)
    finally:
        await transport.aclose()


def _row(service: Service, name: str, catalogue: str, status: str, window: int | None = None) -> Row:
    info = model_info(service, name, catalogue)
    return {
        "provider": service.name,
        "model": name,
        "context_window": info.context_window or window,
        "max_output": info.max_output,
        "price": msgspec.to_builtins(info.price),
        "images": info.images,
        "reasoning": info.reasoning,
        "efforts": list(info.efforts),
        "status": status,
    }


def _text(row: Row) -> str:
    flags = " ".join(name for name in ("images", "reasoning") if row[name])
    return f"{row['provider']}/{row['model']} {row['status']} {flags}".lower()
