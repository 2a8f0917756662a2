"""Which model, at which service, with which key: from settings and environment to one endpoint.

Names what is configured when the choice cannot be met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from wisp.host.secrets import MissingKey, find_key
from wisp.host.settings import ModelSettings, ProviderSettings, Settings
from wisp.messages.usage import Price
from wisp.providers.base import Api, ModelInfo
from wisp.providers.endpoint import Endpoint, Secret
from wisp.providers.registry import VENDORS, Vendor

T = TypeVar("T")

DEFAULT_MODELS = {"anthropic": "claude-sonnet-5", "openai": "gpt-5.6"}
"""What a vendor's key alone gets; both stand in the catalogue."""


class ConfigError(Exception):
    """The configuration cannot be used; the message says what to change (exit code 3)."""


class Service(msgspec.Struct, frozen=True):
    """One provider as settings, environment and built-in knowledge describe it together."""

    name: str
    api: Api
    base_url: str
    key_variables: tuple[str, ...] = ()
    key_command: tuple[str, ...] = ()
    local: bool = False
    headers: dict[str, str] = {}
    store: bool = False
    compat: dict[str, object] = {}
    models: dict[str, ModelSettings] = {}
    configured: bool = False
    """Named in the settings file."""


class Choice(msgspec.Struct, frozen=True):
    """What a run will use."""

    endpoint: Endpoint
    model: ModelInfo


def services(settings: Settings, env: Mapping[str, str]) -> dict[str, Service]:
    """Every provider that can be named, settings over built-in knowledge."""
    found = {name: _from_vendor(vendor, env) for name, vendor in VENDORS.items()}
    for name, table in settings.providers.items():
        found[name] = _from_settings(name, table, found.get(name))
    if settings.base_url and not settings.provider and "/" not in settings.model:
        found["custom"] = Service("custom", "openai-chat", settings.base_url, local=True)
    elif settings.base_url:
        name = settings.provider or settings.model.partition("/")[0]
        if name in found:
            found[name] = msgspec.structs.replace(found[name], base_url=settings.base_url)
    return found


def _from_vendor(vendor: Vendor, env: Mapping[str, str]) -> Service:
    moved = env.get(vendor.url_variable, "") if vendor.url_variable else ""
    api = vendor.api
    if moved and vendor.name == "openai":
        api = "openai-chat"  # what compatible servers speak; Responses is the vendor's own
    return Service(vendor.name, api, moved or vendor.base_url, vendor.key_variables, local=vendor.local)


def _from_settings(name: str, table: ProviderSettings, base: Service | None) -> Service:
    return Service(
        name,
        table.api or (base.api if base else "openai-chat"),
        table.base_url or (base.base_url if base else ""),
        (table.api_key_env,) if table.api_key_env else (base.key_variables if base else ()),
        table.api_key_command,
        base.local if base else False,
        table.headers,
        table.store,
        table.compat,
        table.models,
        configured=True,
    )


def choose(
    settings: Settings,
    env: Mapping[str, str],
    run_command: Callable[[Sequence[str]], str],
    *,
    dead_after: float | None,
    found_locally: Callable[[], tuple[str, str] | None] = lambda: None,
    need_key: bool = True,
) -> Choice:
    """The endpoint and model of a run.

    Args:
        settings: merged.
        env: the environment, for keys and moved addresses.
        run_command: runs an `api_key_command` and returns what it prints.
        dead_after: seconds after which an endpoint that never answered is given up; None for never.
        need_key: whether a service that wants a key must have one; not where nothing is sent.
        found_locally: looks for a local server; `(provider, model)` or None.

    Raises:
        ConfigError: nothing fits; says what is configured, or how to begin.
    """
    known = services(settings, env)
    name, model = _names(settings, known, env, found_locally)
    service = known[name]
    if not service.base_url:
        raise ConfigError(f"the provider {name!r} has no base_url; set it in [providers.{name}]")
    try:
        key = find_key(env, service.key_variables, service.key_command, run_command)
    except MissingKey as exc:
        raise ConfigError(str(exc)) from None
    if need_key and not key and service.key_variables and not service.local:
        wanted = " or ".join(service.key_variables)
        raise ConfigError(f"{name} needs a key: set {wanted}, or choose another --model")
    endpoint = Endpoint(
        name,
        service.api,
        service.base_url,
        Secret(key),
        tuple(service.headers.items()),
        store=service.store,
        max_retries=settings.max_retries,
        dead_after=dead_after,
    )
    return Choice(endpoint, model_info(service, model))


def choose_fallbacks(
    settings: Settings,
    env: Mapping[str, str],
    run_command: Callable[[Sequence[str]], str],
    *,
    dead_after: float | None,
) -> tuple[list[Choice], list[str]]:
    """The models of `fallback_models` in order, and a note for each that cannot be used."""
    found: list[Choice] = []
    notes: list[str] = []
    for name in settings.fallback_models:
        alone = msgspec.structs.replace(settings, model=name, provider="", base_url="")
        try:
            found.append(choose(alone, env, run_command, dead_after=dead_after))
        except ConfigError as exc:
            notes.append(f"fallback_models: {name} cannot be used: {exc}")
    return found, notes


def model_info(service: Service, model: str) -> ModelInfo:
    """What settings, and for the vendors' own models the catalogue, know of a model."""
    known = ModelInfo(model)
    if not service.configured or service.name in VENDORS:
        from wisp.providers.catalog import find

        known = find(service.name, model) or known
    table = service.models.get(model, ModelSettings())
    price = Price(
        _first(table.input_price, known.price.input),
        _first(table.output_price, known.price.output),
        _first(table.cache_read_price, known.price.cache_read),
        _first(table.cache_write_price, known.price.cache_write),
        known.price.tiers if table.input_price is None and table.output_price is None else (),
    )
    return ModelInfo(
        model,
        _first(table.context_window, known.context_window),
        _first(table.max_output, known.max_output),
        price,
        known.images if table.images is None else table.images,
        known.reasoning if table.reasoning is None else table.reasoning,
        table.efforts or known.efforts,
        {**known.compat, **service.compat, **table.compat},
    )


def _names(
    settings: Settings,
    known: Mapping[str, Service],
    env: Mapping[str, str],
    found_locally: Callable[[], tuple[str, str] | None],
) -> tuple[str, str]:
    """The names of provider and model."""
    provider, model = settings.provider, settings.model
    if provider:
        if provider not in known:
            raise ConfigError(f"there is no provider {provider!r}; {_configured(known, env)}")
        model = model.removeprefix(provider + "/")
        return provider, model or _default_model(known[provider], env)
    if "/" in model and "custom" not in known:
        provider, _, rest = model.partition("/")
        if provider in known:
            return provider, rest
        raise ConfigError(
            f"there is no provider {provider!r} for the model {model!r}; {_configured(known, env)}"
        )
    if "custom" in known:
        return "custom", model or "default"
    return _by_model(model, known, env) if model else _anything(known, env, found_locally)


def _by_model(model: str, known: Mapping[str, Service], env: Mapping[str, str]) -> tuple[str, str]:
    listed = [service.name for service in known.values() if model in service.models]
    if len(listed) == 1:
        return listed[0], model
    from wisp.providers.catalog import find

    vendors = [name for name in known if name in VENDORS and find(name, model)]
    with_key = [name for name in vendors if any(env.get(v) for v in known[name].key_variables)]
    if with_key or vendors:
        return (with_key or vendors)[0], model
    own = [service.name for service in known.values() if service.configured]
    if len(own) == 1:
        return own[0], model
    raise ConfigError(
        f"no provider is known for the model {model!r}; write PROVIDER/{model}; {_configured(known, env)}"
    )


def _anything(
    known: Mapping[str, Service],
    env: Mapping[str, str],
    found_locally: Callable[[], tuple[str, str] | None],
) -> tuple[str, str]:
    """No model was named: a configured provider, a key in the environment, or a server on this machine."""
    for service in known.values():
        if service.configured and service.models:
            return service.name, next(iter(service.models))
    for service in known.values():
        if not service.local and any(env.get(variable) for variable in service.key_variables):
            return service.name, _default_model(service, env)
    local = found_locally()
    if local is not None:
        return local
    raise ConfigError(
        "no model is configured. Three ways to go on: set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY or "
        "OPENROUTER_API_KEY); start a local server (Ollama, llama.cpp, LM Studio or vLLM); or name one with "
        "--base-url URL --model ID. 'wisp demo' needs none of them."
    )


def _default_model(service: Service, env: Mapping[str, str]) -> str:
    if service.models:
        return next(iter(service.models))
    model = DEFAULT_MODELS.get(service.name)
    if model is None:
        raise ConfigError(f"name a model of {service.name}: --model {service.name}/ID")
    return model


def _configured(known: Mapping[str, Service], env: Mapping[str, str]) -> str:
    """A list of what could have been named."""
    names = []
    for service in known.values():
        if service.models:
            names += [f"{service.name}/{model}" for model in service.models]
        elif service.configured or any(env.get(variable) for variable in service.key_variables):
            names.append(service.name)
    shown = ", ".join(sorted(names)) if names else "nothing yet"
    return f"configured: {shown}; built in: {', '.join(sorted(VENDORS))}"


def _first(a: T | None, b: T | None) -> T | None:
    return b if a is None else a
