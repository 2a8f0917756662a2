"""Model servers on this machine: which run, what they offer, how large a window they really have.

Asked only where nothing is configured, for a model of a local server whose window no setting names, and
by `wisp models`.  Everything together takes `PATIENCE`; a server that is slower is not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from wisp.host.models import Service
from wisp.providers.address import Url, is_loopback, parse_url
from wisp.providers.endpoint import Timeouts
from wisp.providers.errors import ProviderError
from wisp.providers.http import HttpTransport
from wisp.providers.transport import Response

PATIENCE = 0.2
"""Seconds for all questions to all servers together."""
MOST_BYTES = 4 << 20
_TIMEOUTS = Timeouts(connect=5.0, first_byte=5.0, idle=5.0, progress=5.0)
"""Never reached: `PATIENCE` ends everything before."""

Found = dict[str, Any]


class Offer(msgspec.Struct, frozen=True):
    """One model that a running server offers."""

    provider: str
    model: str
    context_window: int | None = None


async def discover(
    services: Iterable[Service], transport: HttpTransport, patience: float = PATIENCE
) -> list[Offer]:
    """What the servers among `services` that run on this machine offer, in the order of `services`.

    The window is asked for the first model of each.
    """
    asked = [service for service in services if service.local and _here(service)]
    found: dict[str, list[Offer]] = {}
    asker = _Asker(transport)

    async def look(service: Service) -> None:
        names = _names(await asker.get(parse_url(service.base_url), "/models"))
        offers = found[service.name] = [Offer(service.name, name) for name in names]
        if offers:
            window = await _window(service, offers[0].model, asker)
            offers[0] = msgspec.structs.replace(offers[0], context_window=window)

    await _within([look(service) for service in asked], patience)
    return [offer for service in asked for offer in found.get(service.name, ())]


async def window_of(
    service: Service, model: str, transport: HttpTransport, key: str = "", patience: float = PATIENCE
) -> int | None:
    """The window of one model as its server says; None where it does not say."""
    found: list[int | None] = []

    async def look() -> None:
        found.append(await _window(service, model, _Asker(transport, key)))

    await _within([look()], patience)
    return found[0] if found else None


async def _within(questions: list[Any], patience: float) -> None:
    """Ask everything at once; give up what is not answered in time."""
    tasks = [asyncio.ensure_future(question) for question in questions]
    if not tasks:
        return
    try:
        await asyncio.wait(tasks, timeout=patience)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, Exception) and not isinstance(outcome, ProviderError):
            raise outcome


def _here(service: Service) -> bool:
    try:
        return is_loopback(parse_url(service.base_url).host)
    except ProviderError:
        return False


def _names(answer: Found) -> list[str]:
    """The models that can hold a conversation in an OpenAI list."""
    rows = answer.get("data")
    names = [row.get("id") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [name for name in names if isinstance(name, str) and name and "embed" not in name.lower()]


# -- how large a window, product by product ---------------------------------------------------------------


async def _window(service: Service, model: str, asker: _Asker) -> int | None:
    ask = _PRODUCTS.get(service.name)
    if ask is None:
        return None
    base = parse_url(service.base_url)
    return await ask(asker, msgspec.structs.replace(base, path=base.path.removesuffix("/v1")), model)


async def _ollama(asker: _Asker, root: Url, model: str) -> int | None:
    """What the model's file sets, else what it was loaded with, else what it was trained for."""
    shown, loaded = await asyncio.gather(
        asker.post(root, "/api/show", {"model": model}), asker.get(root, "/api/ps")
    )
    for line in str(shown.get("parameters", "")).splitlines():
        name, _, value = line.strip().partition(" ")
        if name == "num_ctx":
            return _count(value.strip())
    for row in _rows(loaded.get("models")):
        if model in (row.get("name"), row.get("model")) and _count(row.get("context_length")):
            return _count(row.get("context_length"))
    info = shown.get("model_info")
    lengths = [v for k, v in info.items() if k.endswith(".context_length")] if isinstance(info, dict) else []
    return _count(lengths[0]) if lengths else None


async def _llama_cpp(asker: _Asker, root: Url, model: str) -> int | None:
    """The window of one slot, which is what a request gets."""
    found = (await asker.get(root, "/props")).get("default_generation_settings")
    return _count(found.get("n_ctx")) if isinstance(found, dict) else None


async def _lm_studio(asker: _Asker, root: Url, model: str) -> int | None:
    """What the model is loaded with, else the most it can be loaded with."""
    for row in _rows((await asker.get(root, "/api/v0/models")).get("data")):
        if row.get("id") == model:
            return _count(row.get("loaded_context_length")) or _count(row.get("max_context_length"))
    return None


async def _vllm(asker: _Asker, root: Url, model: str) -> int | None:
    """It stands in the list of models."""
    for row in _rows((await asker.get(root, "/v1/models")).get("data")):
        if row.get("id") == model:
            return _count(row.get("max_model_len"))
    return None


_Ask = Callable[["_Asker", Url, str], Awaitable[int | None]]
_PRODUCTS: Mapping[str, _Ask] = {
    "ollama": _ollama,
    "llama.cpp": _llama_cpp,
    "lmstudio": _lm_studio,
    "vllm": _vllm,
    "gguf": _llama_cpp,
}


def _rows(value: Any) -> list[Found]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _count(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    return value if isinstance(value, int) and 0 < value < 1 << 40 else None


# -- small questions --------------------------------------------------------------------------------------


class _Asker:
    """Asks one kind of small question over a transport."""

    def __init__(self, transport: HttpTransport, key: str = "") -> None:
        self._transport = transport
        self._key = key

    async def get(self, url: Url, path: str) -> Found:
        """The JSON object at `path`; empty where there is none."""
        return await _object(await self._transport.get(url, url.joined(path), self._headers(url), _TIMEOUTS))

    async def post(self, url: Url, path: str, question: Found) -> Found:
        """The same in answer to a question."""
        body = msgspec.json.encode(question)
        headers = [*self._headers(url), ("content-type", "application/json")]
        headers.append(("content-length", str(len(body))))
        return await _object(await self._transport.send(url, url.joined(path), headers, body, _TIMEOUTS))

    def _headers(self, url: Url) -> list[tuple[str, str]]:
        headers = [("host", url.authority), ("accept", "application/json"), ("accept-encoding", "identity")]
        return [*headers, ("authorization", f"Bearer {self._key}")] if self._key else headers


async def _object(answer: Response) -> Found:
    """The JSON object of a good answer; empty for any other."""
    data = bytearray()
    while piece := await answer.read():
        data += piece
        if len(data) > MOST_BYTES:
            answer.abort()
            return {}
    await answer.finish()
    try:
        return msgspec.json.decode(bytes(data), type=Found) if answer.status == 200 else {}
    except msgspec.MsgspecError:
        return {}
