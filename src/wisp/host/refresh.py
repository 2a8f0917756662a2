"""Fetching a newer catalogue of models, when a person asks for it: never at start, never by itself.

Owns the request and the file.  What the data mean is `providers.modelsdev`; that the file is read, and when,
is `providers.catalog`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from wisp.host.choosing import http_transport
from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.messages.ids import Clock, iso
from wisp.providers.address import Url, is_loopback, parse_url
from wisp.providers.base import ModelInfo
from wisp.providers.catalog import Catalog, catalog, forget
from wisp.providers.endpoint import Timeouts
from wisp.providers.errors import ProviderError
from wisp.providers.http import HttpTransport
from wisp.providers.modelsdev import VENDORS, vendor_models
from wisp.session.whole import replace_private

SOURCE = "https://models.dev/api.json"
MOST_BYTES = 16 * 1024 * 1024
"""An answer that is longer is refused; that of models.dev has about 3 MB."""
_TIMEOUTS = Timeouts(connect=10.0, first_byte=30.0, idle=30.0, progress=60.0)


def refresh(configured: Configured, env: Mapping[str, str], clock: Clock, address: str = "") -> str:
    """Fetch, convert and keep a catalogue; says what it holds.

    Args:
        address: another source than models.dev, in the same format.

    Raises:
        OpenFailed: it was not to be had; what was there before still holds.
    """
    path = configured.paths.catalogue_file
    try:
        url = checked(address or SOURCE)
        published = _decoded(asyncio.run(_fetched(url, env)), url)
        bundled = catalog()
        made = converted(published, bundled, iso(clock.now())[:10], str(url))
        if not any(made.models.values()):
            raise OpenFailed(f"{url} lists no model that wisp can use; is it the format of models.dev?", 1)
        replace_private(path, msgspec.json.encode(made) + b"\n")
    except ProviderError as exc:
        raise OpenFailed(f"the catalogue was not refreshed: {exc.message}", 1) from None
    except OSError as exc:
        raise OpenFailed(f"the catalogue cannot be kept in {path}: {exc.strerror or exc}", 1) from None
    forget(path)
    known = {(name, info.id) for name, listed in bundled.models.items() for info in listed}
    found = [(name, info.id) for name, listed in made.models.items() for info in listed]
    new = sum(pair not in known for pair in found)
    overtaken = "" if made.as_of >= bundled.checked else "; what wisp brings along is newer and is used"
    return f"{len(found)} models of {made.as_of} from {url}, {new} of them new, are in {path}{overtaken}"


def checked(address: str) -> Url:
    """An address that a catalogue may come from.

    Raises:
        OpenFailed: it is none, or anybody on the way could change what it answers.
    """
    try:
        url = parse_url(address)
    except ProviderError:
        raise OpenFailed(f"{address[:200]!r} is not an address", 2) from None
    if url.scheme != "https" and not is_loopback(url.host):
        raise OpenFailed(f"{url} is not https: prices could be changed on the way", 2)
    return url


async def _fetched(url: Url, env: Mapping[str, str]) -> bytes:
    transport = http_transport(env)
    try:
        return await fetched(url, transport)
    finally:
        await transport.aclose()


async def fetched(url: Url, transport: HttpTransport, most: int = MOST_BYTES) -> bytes:
    """The body of a good answer of at most that length.

    Raises:
        ProviderError: the service cannot be reached, or its answer breaks off.
        OpenFailed: any other answer.  A redirect is not followed: a person has to name where it leads.
    """
    headers = [("host", url.authority), ("accept", "application/json"), ("accept-encoding", "identity")]
    answer = await transport.get(url, url.path or "/", headers, _TIMEOUTS)
    if answer.status != 200:
        answer.abort()
        where = answer.headers.get("location", "")
        if 300 <= answer.status < 400 and where:
            raise OpenFailed(f"{url} sends on to {where[:200]!r}; if you trust that, name it with --from", 1)
        raise OpenFailed(f"{url} answers with HTTP {answer.status}; the catalogue was not refreshed", 1)
    pieces, size = [], 0
    while piece := await answer.read():
        answer.progressed()
        pieces.append(piece)
        size += len(piece)
        if size > most:
            answer.abort()
            raise OpenFailed(f"the answer of {url} is longer than {most:,} bytes; it was not used", 1)
    await answer.finish()
    return b"".join(pieces)


def _decoded(data: bytes, url: Url) -> dict[str, Any]:
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise OpenFailed(f"the answer of {url} is not a list of models; it was not used", 1) from None


def converted(published: Mapping[str, Any], bundled: Catalog, day: str, source: str) -> Catalog:
    """What models.dev says as a catalogue.

    Of a model that is known, effort levels and switches stay, a price where none is published, and that a
    price which depends on the hour is unknown.
    """
    models: dict[str, tuple[ModelInfo, ...]] = {}
    for name, theirs in VENDORS.items():
        vendor = published.get(theirs)
        listed = vendor.get("models") if isinstance(vendor, dict) else None
        known = {info.id: info for info in bundled.models.get(name, ())}
        before = {key: {"efforts": info.efforts, "compat": info.compat} for key, info in known.items()}
        found = msgspec.convert(vendor_models(name, listed, before), tuple[ModelInfo, ...])
        models[name] = tuple(
            _priced(info, known.get(info.id), bundled.by_hour.get(name, ())) for info in found
        )
    return Catalog(day, f"models.dev as fetched from {source}", day, models, bundled.by_hour)


def _priced(info: ModelInfo, known: ModelInfo | None, by_hour: tuple[str, ...]) -> ModelInfo:
    unset = ModelInfo(info.id).price
    if info.id in by_hour:
        return msgspec.structs.replace(info, price=unset)
    if info.price == unset and known is not None:
        return msgspec.structs.replace(info, price=known.price)
    return info
