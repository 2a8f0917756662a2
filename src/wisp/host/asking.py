"""Whom a run asks: the chosen model and those that may stand in for it, each with its credentials renewed.

Joins what `choosing` found, the network, recordings, renewal and fallback.  Knows no tools and no session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from wisp.host.choosing import LetGo, catalogue_notes, find_choice, key_runner, transport_for
from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import Configured
from wisp.host.models import Choice, choose_fallbacks
from wisp.host.secrets import StoredLogins
from wisp.host.settings import Settings
from wisp.messages.ids import Clock
from wisp.providers.base import ModelInfo, Provider
from wisp.providers.registry import build_provider
from wisp.providers.transport import Transport

DEAD_AFTER = 90.0
"""Seconds after which a headless run gives up an endpoint that never answered."""

MOST_RECORDED = 1 << 30
"""Bytes of a recording that is played back."""

_USUAL_EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})

Told = Callable[[str, str], None]
"""Takes a provider's name and a key that replaces the one it had."""


class Renewals:
    """The access tokens of one run: who is told of a new one, and what to let go at the end."""

    def __init__(self) -> None:
        self.told: Told = lambda provider, token: None
        self.let_go: list[LetGo] = []

    def hear(self, provider: str, token: str) -> None:
        """A token was renewed."""
        self.told(provider, token)


class ModelService(msgspec.Struct, frozen=True):
    """Whom this run asks, and what has to be let go afterwards."""

    provider: Provider
    model: ModelInfo
    choices: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()
    transport: Transport | None = None
    renewals: Renewals = msgspec.field(default_factory=Renewals)

    def watch(self, told: Told) -> None:
        """Have `told` hear of every key that replaces another, before it is used."""
        self.renewals.told = told

    async def close(self) -> None:
        """Close connections and whatever was started for them."""
        for let_go in self.renewals.let_go:
            await let_go()
        if self.transport is not None:
            await self.transport.aclose()


async def model_service(
    request: OpenRequest,
    own: Provider | None,
    configured: Configured,
    env: Mapping[str, str],
    clock: Clock,
) -> ModelService:
    """The provider that the program brought, or the configured one with its fallbacks.

    Raises:
        ConfigError: no model can be used.
        OpenFailed: a recording cannot be read or written.
    """
    settings = configured.settings
    if own is not None:
        return ModelService(own, ModelInfo(settings.model or own.name))
    dead_after = None if request.interactive else DEAD_AFTER
    run, offline = key_runner(env, clock), bool(request.replay)
    choice, let_go = await find_choice(configured, env, clock, run, dead_after=dead_after, offline=offline)
    path, catalogue = configured.paths.credentials_file, configured.paths.catalogue_file
    others, notes = choose_fallbacks(
        settings, env, run, dead_after=dead_after, logins=StoredLogins(path), catalogue=catalogue
    )
    transport = _transport(request, env, [choice, *others])
    renewals = Renewals()
    renewals.let_go.append(let_go)

    def build(choice: Choice) -> Provider:
        return _provider(choice, renewals, path, env, clock, transport, settings)

    provider = _with_fallbacks(build(choice), others, build)
    notes = [*notes, *catalogue_notes(catalogue), *_effort_notes(settings.effort, choice.model)]
    return ModelService(provider, choice.model, (choice, *others), tuple(notes), transport, renewals)


def _effort_notes(effort: str, model: ModelInfo) -> tuple[str, ...]:
    """What becomes of a level that the model does not know, or that nobody knows."""
    if effort and model.efforts and effort not in model.efforts:
        levels = ", ".join(model.efforts)
        return (f"effort: {model.id} knows no {effort!r} but {levels}; its default is used",)
    if effort and not model.efforts and effort not in _USUAL_EFFORTS:
        return (f"effort: nothing is known of the levels of {model.id}; {effort!r} is sent as it is",)
    return ()


def _provider(
    choice: Choice,
    renewals: Renewals,
    path: str,
    env: Mapping[str, str],
    clock: Clock,
    transport: Transport,
    settings: Settings,
) -> Provider:
    """The provider of one choice; where its key is an access token, one that renews it."""
    if not choice.renewable:
        return build_provider(choice.endpoint, clock, transport)
    from wisp.host.renewal import renewing

    made, let_go = renewing(choice, path, env, clock, transport, settings)
    made.renewed = lambda token: renewals.hear(choice.endpoint.name, token)
    renewals.let_go.append(let_go)
    return made


def _with_fallbacks(
    first: Provider, others: Sequence[Choice], build: Callable[[Choice], Provider]
) -> Provider:
    """`first`, with the others to stand in for it."""
    if not others:
        return first
    from wisp.providers.fallback import Alternative, FallbackProvider

    def alternative(choice: Choice) -> Alternative:
        return Alternative(choice.endpoint.name, choice.model, lambda: build(choice))

    return FallbackProvider(first, [alternative(choice) for choice in others])


def _transport(request: OpenRequest, env: Mapping[str, str], choices: Sequence[Choice]) -> Transport:
    """The network, a recording of it, or one played back."""
    keys = [choice.endpoint.key.reveal() for choice in choices]
    if request.replay:
        from wisp.host.given import whole_file
        from wisp.providers.replayed import ReplayTransport, recording_in

        try:
            recording = recording_in(whole_file(request.replay, MOST_RECORDED), request.replay)
            return ReplayTransport(
                recording.exchanges, strict=True, recorded=recording.variables, secrets=keys
            )
        except (OSError, ValueError) as exc:
            raise OpenFailed(f"--replay {request.replay}: {exc}", 2) from None
    transport = transport_for(env, choices)
    if not request.record:
        return transport
    from wisp.providers.replayed import RecordingTransport

    try:
        return RecordingTransport(transport, request.record, keys)
    except OSError as exc:
        raise OpenFailed(f"--record {request.record}: {exc.strerror or exc}", 2) from None
