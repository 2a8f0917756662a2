"""From settings to a running host: the only place that names concrete classes.

Reads what has to be read, in this order: settings, trust, project notes, session.  Nothing of an
untrusted folder is read, nothing is started, and no connection is made.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from wisp._version import __version__
from wisp.context.blocks import Block, block, render
from wisp.harness.gate import Gate
from wisp.harness.ports import Approver, FixedInstructions
from wisp.harness.runner import AgentHarness
from wisp.harness.toolbox import Toolbox
from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import Configured, configure
from wisp.host.instructions import instruction_blocks
from wisp.host.models import Choice, ConfigError, choose, choose_fallbacks
from wisp.host.paths import environment as process_environment
from wisp.host.secrets import without_secrets
from wisp.host.service import PendingApprovals, SessionHost
from wisp.host.settings import (
    Settings,
    absolute,
)
from wisp.host.snapshot import InstructionFile, Snapshot
from wisp.loop.limits import Limits
from wisp.messages.ids import Clock, SystemClock
from wisp.messages.message import Message
from wisp.messages.usage import Price
from wisp.policy.decide import Policy
from wisp.policy.rules import BadRule, Rule, Rules, parse_rule
from wisp.providers.base import ModelInfo, Provider
from wisp.providers.http import HttpTransport
from wisp.providers.registry import build_provider
from wisp.providers.transport import Transport
from wisp.session.catalog import NoSuchSession, latest, resolve, session_path
from wisp.session.lock import Locked
from wisp.session.runner import CodingSession
from wisp.session.storage import MemoryStorage, Storage, StorageFailed
from wisp.tools.base import Tool
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace

DEAD_AFTER = 90.0
"""Seconds after which a headless run gives up an endpoint that never answered."""


class Overrides(msgspec.Struct, frozen=True):
    """Objects that a program brings along instead of having them built."""

    provider: Provider | None = None
    approver: Approver | None = None
    tools: tuple[Tool, ...] = ()
    """Added to those that are built in."""
    instructions: tuple[str, ...] = ()
    """Blocks after all others."""
    storage: Storage | None = None
    """Where the conversation is kept, instead of a session file."""


async def open_host(request: OpenRequest, overrides: Overrides | None = None) -> SessionHost:
    """Build the host that `request` describes.

    Raises:
        OpenFailed: it cannot be; says why and what to do.
    """
    own = overrides or Overrides()
    env, clock = process_environment(), SystemClock()
    configured = configure(request, env, clock)
    settings = configured.settings
    dead_after = None if request.interactive else DEAD_AFTER
    transport: Transport | None = None
    others: list[Choice] = []
    notes: list[str] = []
    try:
        if own.provider is not None:
            provider, model = own.provider, ModelInfo(settings.model or own.provider.name)
        else:
            choice = choose(
                settings, env, _runner(env, clock), dead_after=dead_after, need_key=not request.replay
            )
            others, notes = choose_fallbacks(settings, env, _runner(env, clock), dead_after=dead_after)
            transport = _transport(request, env, [choice, *others])
            provider, model = _provider([choice, *others], clock, transport), choice.model
        workspace = Workspace(configured.cwd, [absolute(d, configured.cwd) for d in settings.add_dir])
    except (ConfigError, Refused) as exc:
        raise OpenFailed(str(exc)) from None
    pending = PendingApprovals() if request.interactive and own.approver is None else None
    key_names = [table.api_key_env for table in settings.providers.values() if table.api_key_env]
    child_env = without_secrets(env, key_names)
    tools = _offered([*_tools(workspace, child_env, configured, clock), *own.tools], settings)
    gate = Gate(_policy(configured, request), own.approver or pending)
    if own.storage is not None:
        storage, resumed, session_id = own.storage, False, clock.new_id()
    else:
        storage, resumed, session_id = _storage(request, configured, clock)
    blocks = [
        *instruction_blocks(configured, workspace, clock),
        *(block("program", text, "the calling program") for text in own.instructions),
    ]

    async def close() -> None:
        workspace.close()
        if transport is not None:
            await transport.aclose()

    host = assemble_host(
        provider=provider,
        model=model,
        tools=tools,
        gate=gate,
        approvals=pending,
        storage=storage,
        session_id=session_id,
        resumed=resumed,
        cwd=configured.cwd,
        blocks=blocks,
        settings=settings,
        clock=clock,
        notes=(*map(str, configured.resolved.problems), *notes),
        prices={(other.endpoint.name, other.model.id): other.model.price for other in others},
        on_close=close,
    )
    if request.record or request.replay:
        _tell_variables(transport, host.snapshot(), blocks)
    return host


def assemble_host(
    *,
    provider: Provider,
    model: ModelInfo,
    tools: Sequence[Tool],
    gate: Gate,
    approvals: PendingApprovals | None,
    storage: Storage,
    session_id: str,
    resumed: bool,
    cwd: str,
    blocks: Sequence[Block],
    settings: Settings,
    clock: Clock,
    notes: tuple[str, ...] = (),
    prices: Mapping[tuple[str, str], Price] | None = None,
    on_close: Callable[[], Awaitable[None]] | None = None,
) -> SessionHost:
    """Put the parts together; whatever they are, they are joined the same way.

    Raises:
        OpenFailed: the stored session cannot be continued.
    """
    toolbox = Toolbox(tools, gate)
    try:
        session = CodingSession(
            storage,
            clock,
            cwd=cwd,
            session_id=session_id,
            price=model.price,
            prices=prices,
            created_by=f"wisp {__version__}",
        )
    except StorageFailed as exc:
        raise OpenFailed(str(exc), 1) from None

    def make(history: Sequence[Message]) -> AgentHarness:
        return AgentHarness(
            provider,
            model,
            toolbox,
            clock,
            instructions=FixedInstructions(*render(tuple(blocks))),
            recorder=session,
            history=history,
            effort=settings.effort,
            session_id=session.id,
        )

    session.attach(make)
    snapshot = Snapshot(
        session_id=session.id,
        session_path=session.where,
        resumed=resumed,
        provider=provider.name,
        model=model.id,
        tools=tuple(tool.spec.name for tool in tools),
        cwd=cwd,
        permission_mode=gate.policy.mode,
        sandbox="none",
        instructions=tuple(InstructionFile(b.source, b.size) for b in blocks if b.name != "environment"),
        notes=notes,
        messages=len(session.state.messages),
        output_format=settings.output_format,
    )
    limits = Limits(settings.max_turns, settings.max_cost, settings.max_tokens)
    return SessionHost(
        session,
        snapshot,
        clock,
        approvals=approvals,
        limits=limits,
        max_time=settings.max_time,
        on_close=on_close,
    )


# -- parts ------------------------------------------------------------------------------------------------


def _provider(choices: Sequence[Choice], clock: Clock, transport: Transport) -> Provider:
    """The first choice, with the others to stand in for it."""
    first, *others = choices
    provider: Provider = build_provider(first.endpoint, clock, transport)
    if not others:
        return provider
    from wisp.providers.fallback import Alternative, FallbackProvider

    def alternative(choice: Choice) -> Alternative:
        return Alternative(
            choice.endpoint.name,
            choice.model,
            lambda: build_provider(choice.endpoint, clock, transport),
        )

    return FallbackProvider(provider, [alternative(choice) for choice in others])


def _transport(request: OpenRequest, env: Mapping[str, str], choices: Sequence[Choice]) -> Transport:
    """The network, a recording of it, or one played back."""
    keys = [choice.endpoint.key.reveal() for choice in choices]
    if request.replay:
        from wisp.providers.replayed import ReplayTransport, load_recording

        try:
            recording = load_recording(request.replay)
            return ReplayTransport(
                recording.exchanges, strict=True, recorded=recording.variables, secrets=keys
            )
        except (OSError, ValueError) as exc:
            raise OpenFailed(f"--replay {request.replay}: {exc}", 2) from None
    proxies = {name: value for name, value in env.items() if name.lower().endswith("_proxy")}
    transport = HttpTransport(proxies=proxies)
    if not request.record:
        return transport
    from wisp.providers.replayed import RecordingTransport

    try:
        return RecordingTransport(transport, request.record, keys)
    except OSError as exc:
        raise OpenFailed(f"--record {request.record}: {exc.strerror or exc}", 2) from None


def _tell_variables(transport: Transport | None, snapshot: Snapshot, blocks: Sequence[Block]) -> None:
    """Say what of this run's requests another run will have otherwise."""
    from wisp.providers.replayed import RecordingTransport, ReplayTransport

    assert isinstance(transport, RecordingTransport | ReplayTransport)
    place = next((found.text for found in blocks if found.name == "environment"), "")
    transport.variables = {"environment": place, "cwd": snapshot.cwd, "session_id": snapshot.session_id}


def _tools(
    workspace: Workspace, env: Mapping[str, str], configured: Configured, clock: Clock
) -> Sequence[Tool]:
    from wisp.tools.builtin import default_tools
    from wisp.workspace.text import DEFAULT_FALLBACKS

    chosen = configured.settings.encoding
    return default_tools(
        workspace,
        environment=env,
        clock=clock,
        spool_folder=configured.paths.output,
        shell=configured.settings.shell,
        encodings=(chosen,) if chosen else DEFAULT_FALLBACKS,
    )


def _offered(tools: Sequence[Tool], settings: Settings) -> Sequence[Tool]:
    if settings.tools is None:
        return tools
    names = [tool.spec.name for tool in tools]
    unknown = [name for name in settings.tools if name not in names]
    if unknown:
        raise OpenFailed(f"there is no tool {unknown[0]!r}; the tools are: {', '.join(names)}", 2)
    return [tool for tool in tools if tool.spec.name in settings.tools]


def _policy(configured: Configured, request: OpenRequest) -> Policy:
    settings = configured.settings
    mode = settings.permission_mode
    if settings.sandbox == "required":
        raise OpenFailed("no sandbox works here yet; use --sandbox auto or off")
    if request.yes:
        raise OpenFailed(
            "--yes needs a working sandbox and there is none here; to run everything unasked, "
            "say so: --permission-mode full"
        )
    return Policy(mode, configured.cwd, _rules(configured))


def _rules(configured: Configured) -> Rules:
    permissions = configured.settings.permissions

    def parsed(texts: Sequence[str]) -> tuple[Rule, ...]:
        try:
            return tuple(map(parse_rule, texts))
        except BadRule as exc:
            raise OpenFailed(str(exc), 2) from None

    return Rules(parsed(permissions.allow), parsed(permissions.deny))


def _storage(request: OpenRequest, configured: Configured, clock: Clock) -> tuple[Storage, bool, str]:
    """`(storage, whether it continues something, the id of a new session)`."""
    from wisp.session.journal import FileJournal, create_private_folder

    new_id = clock.new_id()
    if request.no_session:
        return MemoryStorage(), False, new_id
    base = configured.session_base
    try:
        path = None
        if request.resume:
            path = resolve(base, request.resume)
        elif request.continue_:
            path = latest(base, configured.cwd)
        resumed = path is not None
        path = path or session_path(base, configured.cwd, new_id)
        create_private_folder(os.path.dirname(path))
        return FileJournal(path), resumed, new_id
    except NoSuchSession as exc:
        raise OpenFailed(str(exc), 2) from None
    except Locked as exc:
        raise OpenFailed(f"{exc}; wait for it, or start a new session", 1) from None
    except OSError as exc:
        where = exc.filename or base
        raise OpenFailed(
            f"the session cannot be kept ({where}: {exc.strerror or exc}); "
            "use --session-dir DIR, or --no-session to keep nothing",
            1,
        ) from None


def _runner(env: Mapping[str, str], clock: Clock) -> Callable[[Sequence[str]], str]:
    """Runs an `api_key_command` of the user's own settings."""

    def run(argv: Sequence[str]) -> str:
        from wisp.workspace.capture import capture

        return capture(argv, env=env, now=clock.monotonic)

    return run
