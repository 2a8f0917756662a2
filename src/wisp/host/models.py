"""Which model, at which service, with which key: from settings and environment to one endpoint.

Names what is configured when the choice cannot be met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from wisp.host.secrets import Logins, MissingKey, NoLogins, find_key
from wisp.host.settings import ModelSettings, OAuthSettings, ProviderSettings, Settings
from wisp.host.showing import nearest
from wisp.messages.usage import Price
from wisp.providers.address import parse_url
from wisp.providers.base import Api, ModelInfo
from wisp.providers.endpoint import Endpoint, Secret
from wisp.providers.errors import RequestError
from wisp.providers.registry import VENDORS, Vendor

T = TypeVar("T")

DEFAULT_MODELS = {"anthropic": "claude-sonnet-5", "openai": "gpt-5.6"}
"""What a vendor's key alone gets; both stand in the catalogue."""


class ConfigError(Exception):
    """The configuration cannot be used; the message says what to change (exit code 3)."""


class NothingConfigured(ConfigError):
    """No model, no key, no login, and no local server was found."""


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
    oauth: OAuthSettings | None = None
    ca_bundle: str = ""
    client_cert: str = ""
    client_key: str = ""

    @property
    def listed_only(self) -> bool:
        """Whether nobody but the settings says which models it has, and they say it."""
        return self.configured and bool(self.models) and self.name not in VENDORS


class Choice(msgspec.Struct, frozen=True):
    """What a run will use."""

    endpoint: Endpoint
    model: ModelInfo
    service: Service
    renewable: bool = False
    """The key is an access token of a login, which runs out and can be renewed."""


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
        oauth=table.oauth,
        ca_bundle=table.ca_bundle,
        client_cert=table.client_cert,
        client_key=table.client_key,
    )


def choose(
    settings: Settings,
    env: Mapping[str, str],
    run_command: Callable[[Sequence[str]], str],
    *,
    dead_after: float | None,
    logins: Logins | None = None,
    found_locally: Callable[[], tuple[str, str] | None] = lambda: None,
    need_key: bool = True,
    catalogue: str = "",
) -> Choice:
    """The endpoint and model of a run.

    Args:
        settings: merged.
        env: the environment, for keys and moved addresses.
        run_command: runs an `api_key_command` and returns what it prints.
        dead_after: seconds after which an endpoint that never answered is given up; None for never.
        logins: what `wisp login` stored; asked only where environment and command give nothing.
        need_key: whether a service that wants a key must have one; not where nothing is sent.
        found_locally: looks for a local server; `(provider, model)` or None.
        catalogue: the file of a catalogue that lies over the bundled one.

    Raises:
        ConfigError: nothing fits; says what is configured, or how to begin.
    """
    known = services(settings, env)
    logins = logins or NoLogins()
    try:
        name, model = _names(settings, known, _Keys(env, logins), found_locally, catalogue)
        service = known[name]
        if service.listed_only and not settings.base_url and model not in service.models:
            raise ConfigError(f"{name} has no model {model!r}; {_configured(known, _Keys(env, logins))}")
        if not service.base_url:
            raise ConfigError(f"the provider {name!r} has no base_url; set it in [providers.{name}]")
        parse_url(service.base_url)
        key = find_key(env, service.key_variables, service.key_command, run_command)
        login = None if key or name == "custom" else logins.find(name)
    except MissingKey as exc:
        raise ConfigError(str(exc)) from None
    except RequestError as exc:
        raise ConfigError(f"the provider {name!r}: {exc}") from None
    token = login is not None and login.kind == "oauth"
    key = key or (login.secret if login else "")
    if need_key and not key and not service.local and (service.key_variables or service.oauth):
        raise ConfigError(_no_key(service))
    endpoint = endpoint_of(service, key, token=token, settings=settings, dead_after=dead_after)
    return Choice(endpoint, model_info(service, model, catalogue), service, token)


def endpoint_of(
    service: Service, key: str, *, token: bool, settings: Settings, dead_after: float | None
) -> Endpoint:
    """Where requests go; an access token is sent as such whatever header the dialect uses for keys."""
    headers = dict(service.headers)
    if token and not service.api.startswith("openai"):
        headers |= {"authorization": f"Bearer {key}", "x-api-key": "", "x-goog-api-key": ""}
    return Endpoint(
        service.name,
        service.api,
        service.base_url,
        Secret(key),
        tuple(headers.items()),
        store=service.store,
        max_retries=settings.max_retries,
        dead_after=dead_after,
    )


def _no_key(service: Service) -> str:
    name = service.name
    if service.oauth is not None:
        return f"{name} needs a login: run 'wisp login {name}'"
    wanted = " or ".join(service.key_variables)
    return f"{name} needs a key: set {wanted}, run 'wisp login {name}', or choose another --model"


class _Keys:
    """Whose key is there, without looking at any of them."""

    def __init__(self, env: Mapping[str, str], logins: Logins) -> None:
        self._env, self._logins = env, logins

    def in_environment(self, service: Service) -> bool:
        return any(self._env.get(variable) for variable in service.key_variables)

    def stored(self, service: Service) -> bool:
        return service.name in self._logins.names()

    def have(self, service: Service) -> bool:
        return self.in_environment(service) or self.stored(service)


def choose_fallbacks(
    settings: Settings,
    env: Mapping[str, str],
    run_command: Callable[[Sequence[str]], str],
    *,
    dead_after: float | None,
    logins: Logins | None = None,
    catalogue: str = "",
) -> tuple[list[Choice], list[str]]:
    """The models of `fallback_models` in order, and a note for each that cannot be used."""
    found: list[Choice] = []
    notes: list[str] = []
    for name in settings.fallback_models:
        alone = msgspec.structs.replace(settings, model=name, provider="", base_url="")
        try:
            choice = choose(
                alone, env, run_command, dead_after=dead_after, logins=logins, catalogue=catalogue
            )
            found.append(choice)
        except ConfigError as exc:
            notes.append(f"fallback_models: {name} cannot be used: {exc}")
    return found, notes


def model_info(service: Service, model: str, catalogue: str = "") -> ModelInfo:
    """What settings, and for the vendors' own models the catalogue, know of a model.

    Args:
        catalogue: the file of a catalogue that lies over the bundled one.
    """
    known = ModelInfo(model)
    if not service.configured or service.name in VENDORS:
        from wisp.providers.catalog import find

        known = find(service.name, model, catalogue) or known
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
        {**known.compat, **_own_ways(service), **service.compat, **table.compat},
    )


def _own_ways(service: Service) -> dict[str, object]:
    """What a vendor offers at its own address, and a server that only speaks its dialect may not."""
    vendor = VENDORS.get(service.name)
    own = vendor is not None and service.base_url == vendor.base_url and service.api == "openai-responses"
    return {"compaction": True} if own and service.name == "openai" else {}


def _names(
    settings: Settings,
    known: Mapping[str, Service],
    keys: _Keys,
    found_locally: Callable[[], tuple[str, str] | None],
    catalogue: str,
) -> tuple[str, str]:
    """The names of provider and model."""
    provider, model = settings.provider, settings.model
    if provider:
        if provider not in known:
            raise ConfigError(
                f"there is no provider {provider!r}{nearest(provider, known)}; {_configured(known, keys)}"
            )
        model = model.removeprefix(provider + "/")
        return provider, model or _default_model(known[provider])
    if "/" in model and "custom" not in known:
        provider, _, rest = model.partition("/")
        if provider in known:
            return provider, rest
        raise ConfigError(
            f"there is no provider {provider!r}{nearest(provider, known)} for the model {model!r}; "
            f"{_configured(known, keys)}"
        )
    if "custom" in known:
        return "custom", model or "default"
    return _by_model(model, known, keys, catalogue) if model else _anything(known, keys, found_locally)


def _by_model(model: str, known: Mapping[str, Service], keys: _Keys, catalogue: str) -> tuple[str, str]:
    listed = [service.name for service in known.values() if model in service.models]
    if len(listed) == 1:
        return listed[0], model
    from wisp.providers.catalog import find

    vendors = [name for name in known if name in VENDORS and find(name, model, catalogue)]
    with_key = [name for name in vendors if keys.have(known[name])]
    if with_key or vendors:
        return (with_key or vendors)[0], model
    own = [service.name for service in known.values() if service.configured]
    if len(own) == 1:
        return own[0], model
    raise ConfigError(
        f"no provider is known for the model {model!r}; write PROVIDER/{model}; {_configured(known, keys)}"
    )


def _anything(
    known: Mapping[str, Service],
    keys: _Keys,
    found_locally: Callable[[], tuple[str, str] | None],
) -> tuple[str, str]:
    """No model was named: a configured provider, a key in the environment, or a server on this machine."""
    for service in known.values():
        if service.configured and service.models:
            return service.name, next(iter(service.models))
    for there in (keys.in_environment, keys.stored):
        for service in known.values():
            if not service.local and there(service):
                return service.name, _default_model(service)
    local = found_locally()
    if local is not None:
        return local
    raise NothingConfigured(
        "no model is configured. Three ways to go on: set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY or "
        "OPENROUTER_API_KEY) or run 'wisp login'; start a local server (Ollama, llama.cpp, LM Studio or "
        "vLLM); or name one with --base-url URL --model ID. 'wisp demo' needs none of them."
    )


def _default_model(service: Service) -> str:
    if service.models:
        return next(iter(service.models))
    model = DEFAULT_MODELS.get(service.name)
    if model is None:
        raise ConfigError(f"name a model of {service.name}: --model {service.name}/ID")
    return model


def _configured(known: Mapping[str, Service], keys: _Keys) -> str:
    """A list of what could have been named."""
    names = []
    for service in known.values():
        if service.models:
            names += [f"{service.name}/{model}" for model in service.models]
        elif service.configured or keys.have(service):
            names.append(service.name)
    shown = ", ".join(sorted(names)) if names else "nothing yet"
    return f"configured: {shown}; built in: {', '.join(sorted(VENDORS))}"


def _first(a: T | None, b: T | None) -> T | None:
    return b if a is None else a
