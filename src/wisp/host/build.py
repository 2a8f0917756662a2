"""From settings to a running host: the place that chooses concrete classes; `host/assemble.py` joins them.

Reads what has to be read, in this order: settings, trust, project notes, session.  Nothing of an
untrusted folder is read, nothing is started, and no connection is made.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from wisp.context.blocks import Block, block
from wisp.context.project import NAMES
from wisp.harness.gate import Gate
from wisp.harness.masking import Masker
from wisp.harness.ports import Approver, Questioner
from wisp.host.asking import ModelService, model_service
from wisp.host.assemble import Around, assemble_host
from wisp.host.childenv import child_environment
from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.closing import closing
from wisp.host.commands import Prompt
from wisp.host.configure import Configured, configure, rules_of
from wisp.host.delegating import Delegation, Surroundings
from wisp.host.events import ErrorReported, ProcessEnded
from wisp.host.external import External
from wisp.host.instructions import instruction_stack
from wisp.host.mending import changes_folder, recover
from wisp.host.models import ConfigError
from wisp.host.news import HostNews
from wisp.host.paths import environment as process_environment
from wisp.host.plugging import (
    load_extensions,
    make_hooks,
    outside_tools,
    plugged_blocks,
    plugged_boundary,
    plugged_notes,
    watch_plugged,
)
from wisp.host.questions import PendingApprovals, PendingQuestions
from wisp.host.sandbox import box_state, make_box, sandboxed_policy
from wisp.host.secrets import known_secrets, without_secrets
from wisp.host.service import Attach, SessionHost
from wisp.host.settings import (
    absolute,
)
from wisp.host.snapshot import Snapshot
from wisp.host.storing import storage_for
from wisp.host.tooling import attribution, built_in_tools, offered
from wisp.loop.boundary import Boundary
from wisp.messages.content import UserBlock
from wisp.messages.ids import Clock, SystemClock
from wisp.providers.base import Provider
from wisp.providers.transport import Transport
from wisp.session.ports import FileHistory
from wisp.session.storage import Storage
from wisp.tools.base import Tool
from wisp.tools.ledger import ReadLedger
from wisp.workspace.background import Background, Backgrounds
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace

if TYPE_CHECKING:
    from wisp.host.answers import AnswerCheck
    from wisp.host.conversation import Conversation
    from wisp.host.extending import Extensions

_FOLDERS = (".wisp", ".agents", ".claude", ".mcp.json")


class Overrides(msgspec.Struct, frozen=True):
    """Objects that a program brings along instead of having them built."""

    provider: Provider | None = None
    approver: Approver | None = None
    questioner: Questioner | None = None
    boundary: Boundary | None = None
    tools: tuple[Tool, ...] = ()
    """Added to those that are built in."""
    instructions: tuple[str, ...] = ()
    """Blocks after all others."""
    prompt: str = ""
    """What every request begins with, instead of wisp's own words."""
    hurry: asyncio.Event | None = None
    """Once it is set, nobody is waited for any more."""
    storage: Storage | None = None
    """Where the conversation is kept, instead of a session file."""


async def open_conversation(request: OpenRequest) -> Conversation:
    """A host, and around it what a person can change while it is open.

    Raises:
        OpenFailed: see `open_host`.
    """
    from wisp.host.conversation import Conversation

    return Conversation(request, await open_host(request), open_host)


async def open_host(request: OpenRequest, overrides: Overrides | None = None) -> SessionHost:
    """Build the host that `request` describes.

    Raises:
        OpenFailed: it cannot be; says why and what to do.  A limit that cannot be read is a reason.
    """
    external = External()
    try:
        return await _open(request, overrides or Overrides(), external)
    except BaseException as exc:
        await external.close()
        if isinstance(exc, OpenFailed):
            exc.output_format = process_environment().get("WISP_OUTPUT_FORMAT", "")
        raise


def _at_first(configured: Configured, request: OpenRequest, clock: Clock) -> tuple[str, ...]:
    """What is wrong with the settings, and what of the folder is not read where nobody can be asked."""
    wrong = tuple(map(str, configured.resolved.problems))
    if request.interactive or not request.own_process or request.no_project or configured.trusted:
        return wrong
    if not any(os.path.lexists(os.path.join(configured.cwd, name)) for name in (*NAMES, *_FOLDERS)):
        return wrong
    from wisp.host.trusting import not_read

    return (*wrong, *not_read(configured, clock))


async def _open(request: OpenRequest, own: Overrides, external: External) -> SessionHost:
    env, clock = process_environment(), SystemClock()
    configured = configure(request, env, clock)
    settings = configured.settings
    if settings.login_path or request.editor:
        from wisp.host.loginpath import wanted, widened

        if wanted(settings.login_path, request.editor, env):
            env = await widened(env, clock.monotonic)
    extensions = await load_extensions(request, configured, env, clock)
    service, workspace = await _foundation(request, own, configured, env, clock, extensions)
    questions = PendingQuestions() if request.converses and own.questioner is None else None
    pending = PendingApprovals() if request.interactive and own.approver is None else None
    key_names = [table.api_key_env for table in settings.providers.values() if table.api_key_env]
    child_env = child_environment(env, key_names, settings.environment)
    _close_to_others(request, env, key_names, any(choice.endpoint.key for choice in service.choices))
    backgrounds = Backgrounds()
    mended = recover(changes_folder(configured.cwd, configured.paths.state))
    box = make_box(workspace, configured, env, clock)
    talks = own.questioner or questions
    external.begin(configured, workspace, env, clock, box, talks)
    stack = instruction_stack(configured, workspace, clock, own.prompt)
    ledger = ReadLedger(request.buffers)
    hooks = make_hooks(settings, workspace, child_env, clock, ledger, extensions, box)
    built_in = built_in_tools(workspace, child_env, configured, clock, box, backgrounds, ledger)
    asked, fixed = own.approver or pending, own.provider is not None
    more = partial(outside_tools, external, extensions)
    around = Surroundings(
        request, configured, env, child_env, clock, service, workspace, box, stack, hooks, asked, fixed, more
    )
    delegation = Delegation(around)
    added = (*delegation.tools(), *own.tools)
    tools = offered(configured, built_in, stack.skills, talks, added, extensions)
    policy = sandboxed_policy(configured, request, box, rules_of(configured))
    gate = Gate(policy, asked, _masker(env, service))
    external.mask(gate.masker)
    checker, wish = _checking(request, configured, clock, own.boundary)
    news = HostNews(workspace, backgrounds, trusted=configured.trusted, servers=external.servers)
    outside = await external.tools(not request.converses, settings.max_time, own.hurry)
    told = [block("program", text, "the calling program") for text in own.instructions]
    blocks = [*stack.blocks, *external.blocks(), *await plugged_blocks(extensions), *told, *wish]
    kept = storage_for(request, configured, clock, own.storage)
    host = assemble_host(
        provider=service.provider,
        model=service.model,
        tools=tools,
        external_tools=outside,
        gate=gate,
        approvals=pending,
        around=Around(
            questions=questions,
            questioner=talks,
            boundary=plugged_boundary(hooks, checker or own.boundary, news, gate),
            day_file=configured.paths.day_file,
            skills=stack.skills,
            news=news,
            values={"ATTRIBUTION": attribution(settings)},
            files=_file_history(kept.storage, workspace, configured),
            prices={(c.endpoint.name, c.model.id): c.model.price for c in service.choices[1:]},
            save_plan=_plan_saver(configured, clock),
            hooks=hooks.calls if hooks is not None else None,
            hooking=hooks,
            branch=stack.branch,
            attach=_attacher(built_in, gate, request.attach),
            external=external,
        ),
        storage=kept.storage,
        session_id=kept.new_id,
        resumed=kept.resumed,
        cwd=configured.cwd,
        blocks=blocks,
        settings=settings,
        clock=clock,
        sandbox=box_state(box),
        notes=(
            *_at_first(configured, request, clock),
            *service.notes,
            *mended,
            *kept.notes,
            *stack.notes,
            *external.notes,
            *delegation.notes,
            *plugged_notes(hooks, extensions),
        ),
        on_close=closing(configured, clock, service, workspace, box, backgrounds, external),
    )
    host.extensions, delegation.parent = extensions, host
    _connect(host, request, checker, backgrounds, external)
    _tell_variables(request, service.transport, host.snapshot(), blocks)
    return host


async def _foundation(
    request: OpenRequest,
    own: Overrides,
    configured: Configured,
    env: Mapping[str, str],
    clock: Clock,
    extensions: Extensions | None,
) -> tuple[ModelService, Workspace]:
    """Whom the run asks and where it works; a run whose limits cannot be read is not begun."""
    if configured.lost_bounds:
        raise OpenFailed("; ".join(configured.lost_bounds) + "; a run without this limit is not begun")
    try:
        service = extensions.service(configured.settings) if extensions and not own.provider else None
        service = service or await model_service(request, own.provider, configured, env, clock)
        folders = [absolute(folder, configured.cwd) for folder in configured.settings.add_dir]
        return service, Workspace(configured.cwd, folders)
    except (ConfigError, Refused) as exc:
        # A settings file that could not be read may well be why there is no model.
        raise OpenFailed("; ".join([*map(str, configured.resolved.problems), str(exc)])) from None


# -- parts ------------------------------------------------------------------------------------------------


def _masker(env: Mapping[str, str], service: ModelService) -> Masker:
    """What masks every credential that is known, also one that is renewed later."""
    keys = {c.endpoint.name: c.endpoint.key.reveal() for c in service.choices if c.endpoint.key}
    masker = Masker(known_secrets(env, keys))
    service.watch(masker.add)
    return masker


def _attacher(tools: Sequence[Tool], gate: Gate, first: Sequence[str]) -> Attach:
    """How files that go along with a prompt are read; those of the command line go with the first one."""
    waiting = list(first)

    async def attach(prompt: Prompt) -> tuple[UserBlock, ...]:
        if not (waiting or prompt.attach or prompt.mentioned):
            return ()
        from wisp.host.attaching import Attacher

        reader = next(tool for tool in tools if tool.spec.name == "read")
        whole = msgspec.structs.replace(prompt, attach=(*waiting, *prompt.attach))
        found = await Attacher(reader, gate.current).blocks(whole)
        waiting.clear()
        return found

    return attach


def _checking(
    request: OpenRequest, configured: Configured, clock: Clock, inner: Boundary | None
) -> tuple[AnswerCheck | None, list[Block]]:
    """What holds the answers against the schema that was asked for, and how the model is told of it."""
    if not request.output_schema:
        return None, []
    from wisp.host.answers import WISH, AnswerCheck, read_schema, schema_judge

    schema = read_schema(absolute(request.output_schema, configured.cwd))
    told = block("schema", WISH + msgspec.json.encode(schema).decode(), "--output-schema")
    return AnswerCheck(schema_judge(schema), clock, inner), [told]


def _close_to_others(
    request: OpenRequest, env: Mapping[str, str], key_names: Sequence[str], has_key: bool
) -> None:
    """Keep other processes from reading credentials in this one, where it is ours and has any."""
    if not request.own_process:
        return
    secret = env.keys() - without_secrets(env, key_names).keys()
    if secret or has_key:
        from wisp.workspace.private import keep_private

        keep_private(secret)


def _file_history(storage: Storage, workspace: Workspace, configured: Configured) -> FileHistory | None:
    """What undoes changes of files, for a session that is kept."""
    if not storage.where:
        return None
    from wisp.host.undo import snapshots_of

    return snapshots_of(workspace, configured.paths.state, configured.session_base)


def _connect(
    host: SessionHost,
    request: OpenRequest,
    checker: AnswerCheck | None,
    backgrounds: Backgrounds,
    external: External,
) -> None:
    """Let what has something to tell reach the front ends."""
    if checker is not None:
        checker.tell = host.tell
    watch_plugged(host, request)
    external.watch(lambda said: host.tell(ErrorReported(said, "mcp")))
    if external.asking is not None:
        external.asking.tell = host.tell
    host.let_go = backgrounds.let_go
    backgrounds.on_end = _telling(host, asyncio.get_running_loop())


def _telling(host: SessionHost, loop: asyncio.AbstractEventLoop) -> Callable[[Background], None]:
    """How the end of a background command is told, from whatever thread."""

    def ended(one: Background) -> None:
        event = ProcessEnded(one.name, one.command, one.ending.code if one.ending else None)
        with suppress(RuntimeError):  # the event loop may be gone; a thread must not fail for that
            loop.call_soon_threadsafe(host.tell, event)

    return ended


def _plan_saver(configured: Configured, clock: Clock) -> Callable[[str], str]:
    """How a plan is kept: also one of a conversation that was put into plan mode later."""

    def keep(plan: str) -> str:
        from wisp.host.plans import save_plan

        return save_plan(configured.paths.plans, clock, plan)

    return keep


def _tell_variables(
    request: OpenRequest, transport: Transport | None, snapshot: Snapshot, blocks: Sequence[Block]
) -> None:
    """Say what of a recorded run's requests another run will have otherwise."""
    if not (request.record or request.replay):
        return
    from wisp.providers.replayed import RecordingTransport, ReplayTransport

    assert isinstance(transport, RecordingTransport | ReplayTransport)
    place = next((found.text for found in blocks if found.name == "environment"), "")
    transport.variables = {"environment": place, "cwd": snapshot.cwd, "session_id": snapshot.session_id}
