"""The model of a run, found: what `models` decides, plus what only asking around can tell.

Asks the servers on this machine where nothing is configured, and a local server for its window; loads a
model file.  A run with a configured provider and a key does none of this and loads nothing for it.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from wisp.host.configure import Configured
from wisp.host.models import Choice, ConfigError, NothingConfigured, Service, choose, services
from wisp.host.secrets import StoredLogins
from wisp.host.settings import Settings, absolute
from wisp.messages.ids import Clock
from wisp.providers.address import parse_url
from wisp.providers.base import ModelInfo
from wisp.providers.http import HttpTransport
from wisp.providers.transport import Transport

EMBEDDED = "gguf:"
"""A model named with this is a file."""

LetGo = Callable[[], Awaitable[None]]


async def nothing() -> None:
    """There is nothing to let go of."""


async def find_choice(
    configured: Configured,
    env: Mapping[str, str],
    clock: Clock,
    run_command: Callable[[Sequence[str]], str],
    *,
    dead_after: float | None,
    offline: bool,
) -> tuple[Choice, LetGo]:
    """The endpoint and model of a run, and what to await when it is over.

    Args:
        offline: ask nobody.

    Raises:
        ConfigError: nothing fits; says what is configured, or how to begin.
    """
    settings = configured.settings
    if settings.model.startswith(EMBEDDED):
        return await _embedded(settings, configured.cwd, env, clock)
    found: tuple[str, str] | None = None
    logins = StoredLogins(configured.paths.credentials_file)

    def pick() -> Choice:
        return choose(
            settings,
            env,
            run_command,
            dead_after=dead_after,
            logins=logins,
            found_locally=lambda: found,
            need_key=not offline,
            catalogue=configured.paths.catalogue_file,
        )

    try:
        choice = pick()
    except NothingConfigured:
        if offline:
            raise
        found = await _first_local(settings, env)
        choice = pick()
    if not offline and choice.service.local and choice.model.context_window is None:
        choice = await _with_window(choice, env)
    return choice, nothing


def catalogue_notes(path: str) -> list[str]:
    """What is wrong with the catalogue that was fetched into that file, if this run looked at it."""
    if not os.path.exists(path):
        return []
    from wisp.providers.catalog import note

    return [said] if (said := note(path)) else []


async def _first_local(settings: Settings, env: Mapping[str, str]) -> tuple[str, str] | None:
    from wisp.host.local import discover

    transport = http_transport(env)
    try:
        offers = await discover(services(settings, env).values(), transport)
    finally:
        await transport.aclose()
    return (offers[0].provider, offers[0].model) if offers else None


async def _with_window(choice: Choice, env: Mapping[str, str]) -> Choice:
    """`choice` with the window that its server names, if it names one."""
    from wisp.host.local import window_of

    transport = http_transport(env)
    try:
        window = await window_of(choice.service, choice.model.id, transport, choice.endpoint.key.reveal())
    finally:
        await transport.aclose()
    return msgspec.structs.replace(choice, model=msgspec.structs.replace(choice.model, context_window=window))


async def _embedded(
    settings: Settings, cwd: str, env: Mapping[str, str], clock: Clock
) -> tuple[Choice, LetGo]:
    from wisp.host.embedded import EmbeddedServer
    from wisp.host.models import endpoint_of, model_info
    from wisp.providers.gguf import CannotLoad

    path = absolute(settings.model.removeprefix(EMBEDDED), cwd)
    table = settings.providers.get("gguf")
    known = table.models if table is not None else {}
    named = known.get(os.path.basename(path))
    wanted = (named.context_window or 0) if named is not None else 0
    key = clock.new_id() + os.urandom(16).hex()
    server = EmbeddedServer(env, clock)
    try:
        await server.load(path, key, wanted)
    except CannotLoad as exc:
        raise ConfigError(str(exc)) from None
    service = Service("gguf", "openai-chat", server.base_url, local=True, models=known, configured=True)
    info: ModelInfo = model_info(service, os.path.basename(path))
    endpoint = endpoint_of(service, key, token=False, settings=settings, dead_after=None)

    async def close() -> None:
        server.close()

    return await _with_window(Choice(endpoint, info, service), env), close


def transport_for(env: Mapping[str, str], choices: Sequence[Choice]) -> Transport:
    """The network for services that may stand in for each other, each with its own certificates.

    Raises:
        ConfigError: a certificate file that is named is not there.
    """
    if len({_certificates(choice.service) for choice in choices}) < 2:
        return http_transport(env, choices[0].service)
    from wisp.host.routes import ByHost

    return ByHost(
        {
            parse_url(choice.endpoint.base_url).authority: http_transport(env, choice.service)
            for choice in reversed(choices)  # where two share a host, the first decides
        }
    )


def _certificates(service: Service) -> tuple[str, str, str]:
    return service.ca_bundle, service.client_cert, service.client_key


def http_transport(env: Mapping[str, str], service: Service | None = None) -> HttpTransport:
    """The network as the environment's proxies and a provider's certificates shape it.

    Raises:
        ConfigError: a certificate file that is named is not there.
    """
    proxies = {name: value for name, value in env.items() if name.lower().endswith("_proxy")}
    if service is None or not (service.ca_bundle or service.client_cert):
        return HttpTransport(proxies=proxies)
    files = [os.path.expanduser(f) for f in (service.ca_bundle, service.client_cert, service.client_key)]
    for name, path in zip(("ca_bundle", "client_cert", "client_key"), files, strict=True):
        if path and not os.path.isfile(path):
            raise ConfigError(f"[providers.{service.name}] {name}: there is no file {path}")
    client = (files[1], files[2]) if files[1] else None
    return HttpTransport(proxies=proxies, ca_bundle=files[0], client_cert=client)


def key_runner(env: Mapping[str, str], clock: Clock) -> Callable[[Sequence[str]], str]:
    """Runs an `api_key_command` of the user's own settings."""

    def run(argv: Sequence[str]) -> str:
        from wisp.workspace.capture import capture

        return capture(argv, env=env, now=clock.monotonic)

    return run
