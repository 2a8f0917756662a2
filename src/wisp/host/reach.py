"""Which services can be reached and how, for `wisp doctor`: keys, proxies, certificates, local servers.

Never a secret among them, nor a proxy's password; nobody outside this machine is asked.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping

from wisp.host.choosing import http_transport
from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.keys import Keys
from wisp.host.local import Offer, discover
from wisp.host.models import Service
from wisp.providers.address import parse_url
from wisp.providers.errors import ProviderError

Fact = tuple[str, str, str]
"""Name, status, detail; see `host.doctor.Finding`."""

_PROXIES = ("https_proxy", "http_proxy", "all_proxy")


def facts(configured: Configured, env: Mapping[str, str]) -> list[Fact]:
    """Everything about reaching models."""
    keys = Keys(configured, env)
    found = [*_providers(keys), *_local(keys.services.values(), env)]
    if not found:
        found = [
            ("providers", "missing", "no key, no login, no provider is configured, no local server runs")
        ]
    return [*found, *_network(keys.services.values(), env)]


def _providers(keys: Keys) -> list[Fact]:
    found: list[Fact] = []
    try:
        sources = {row.provider: row.source for row in keys.standings() if row.source}
    except OpenFailed as exc:
        found.append(("credentials", "problem", str(exc)))
        sources = {}
    for service in keys.services.values():
        source = sources.get(service.name, "")
        if not service.configured and not source:
            continue
        wants = bool(service.key_variables or service.oauth) and not service.local
        usable = bool(service.base_url) and (bool(source) or not wants)
        key = f"key from {source}" if source else "no key"
        detail = f"{service.api} at {_shown(service.base_url)}, {key}"
        found.append((f"provider {service.name}", "ok" if usable else "problem", detail))
    return found


def _local(services: Iterable[Service], env: Mapping[str, str]) -> list[Fact]:
    rows: dict[str, list[str]] = {}
    for offer in asyncio.run(_offers(services, env)):
        rows.setdefault(offer.provider, []).append(offer.model)
    return [
        (f"local server {name}", "ok", f"offers {', '.join(models[:5])}{' ...' if len(models) > 5 else ''}")
        for name, models in rows.items()
    ]


async def _offers(services: Iterable[Service], env: Mapping[str, str]) -> list[Offer]:
    transport = http_transport(env)
    try:
        return await discover(services, transport)
    finally:
        await transport.aclose()


def _network(services: Iterable[Service], env: Mapping[str, str]) -> list[Fact]:
    found: list[Fact] = []
    for name, value in sorted(env.items()):
        if name.lower() in _PROXIES and value:
            address = _shown(value if "://" in value else f"http://{value}")
            usable = not address.startswith("(")
            found.append(("proxy", "ok" if usable else "problem", f"{name}: {address}"))
        elif name.lower() == "no_proxy" and value:
            found.append(("proxy", "info", f"{name}: {value}"))
        elif name in ("SSL_CERT_FILE", "SSL_CERT_DIR") and value:
            there = os.path.exists(value)
            detail = (
                f"{name}: {value}" if there else f"{name}: there is nothing at {value}; nothing is trusted"
            )
            found.append(("certificates", "ok" if there else "problem", detail))
    for service in services:
        for name in ("ca_bundle", "client_cert", "client_key"):
            path = os.path.expanduser(getattr(service, name))
            if path and not os.path.isfile(path):
                detail = f"[providers.{service.name}] {name}: there is no file {path}"
                found.append(("certificates", "problem", detail))
    return found


def _shown(address: str) -> str:
    """An address without the name and password it may hold."""
    try:
        return str(parse_url(address)) if address else "(no base_url)"
    except ProviderError:
        return "(not an http address)"
