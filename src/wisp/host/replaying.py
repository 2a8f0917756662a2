"""`wisp sessions replay`: a stored session's requests made again, compared, asked of another model, or its
calls held against another policy.  Nothing is run, and only another model is asked over the network.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

import msgspec

from wisp.host.asking import model_service
from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import Configured, rules_of
from wisp.host.models import ConfigError
from wisp.host.sandbox import policy_of
from wisp.host.settings import merge, read_file
from wisp.messages.ids import Clock
from wisp.messages.message import AssistantMessage
from wisp.policy.decide import decide
from wisp.policy.modes import Decision
from wisp.providers.base import ModelRequest
from wisp.providers.errors import RequestError
from wisp.providers.events import Failed, Finished
from wisp.providers.registry import dialect
from wisp.providers.wire import Builder, dump
from wisp.session.branches import resolve_entry
from wisp.session.catalog import resolve
from wisp.session.open import opened_scan
from wisp.session.records import SessionHeader
from wisp.session.replay import Asked, Judged, asked, judged
from wisp.session.scan import Placed


class Rebuilt(msgspec.Struct, frozen=True):
    """A request of a session as bytes."""

    asked: Asked
    body: bytes
    """Empty where it cannot be made again."""
    sha256: str
    same: bool | None
    """Whether it is byte for byte what was sent; None where nobody can tell."""
    why: str
    """Why it is not, or why nobody can tell; empty where it is."""


class Compared(msgspec.Struct, frozen=True):
    """A call under the policy it was decided by, and under another."""

    call: Judged
    decision: Decision | None
    """Of the other policy; None where the session does not say what the call would have done."""

    @property
    def before(self) -> str:
        """`allow`, `ask` or `deny`, as it went."""
        return "ask" if self.call.asked else "allow" if self.call.ran else "deny"


class Answered(msgspec.Struct, frozen=True):
    """What another model said to a request."""

    rebuilt: Rebuilt
    provider: str
    model: str
    answer: AssistantMessage


def rebuilt(configured: Configured, prefix: str, entry: str = "") -> Iterator[Rebuilt]:
    """The requests of a session, oldest first; with `entry` the one that it answers or that followed it.

    Raises:
        NoSuchSession: none, or several, begin with `prefix`.
        OpenFailed: no request belongs to `entry`.
        OSError: the file cannot be read.
    """
    path = resolve(configured.session_base, prefix)
    wanted = ""
    if entry:
        with opened_scan(path) as (scan, fold):
            for record, place, size in scan:
                fold.add(record, place, size)
            wanted = resolve_entry(fold, entry)
    maker, found = _Maker(), False
    with opened_scan(path) as (scan, fold):
        for one in asked(scan, fold):
            made = maker.make(one)
            if not wanted or wanted in (one.result_id, one.after):
                yield made
                found = True
    if wanted and not found:
        raise OpenFailed(f"no request was made at {entry!r}; 'wisp sessions replay ID' lists them", 1)


class _Maker:
    """Makes the bytes of one session's requests, in their order."""

    def __init__(self) -> None:
        self._builders: dict[tuple[str, str, bool], Builder] = {}

    def make(self, one: Asked) -> Rebuilt:
        """The bytes of a request, compared with what was sent."""
        request, frame = one.request, one.frame
        if request is None or frame is None:
            return Rebuilt(one, b"", "", None, "the session does not say what was sent beside the history")
        native = one.answer.native if one.answer is not None else None
        bodies = [self._body(frame.api, frame.provider, store, request) for store in (False, True)]
        if not any(bodies):
            body = dump(request)
            why = f"requests of {frame.api!r} are no bytes; this is what was asked"
            return Rebuilt(one, body, _digest(body), None, why)
        if one.answer is None:
            return Rebuilt(one, bodies[0], _digest(bodies[0]), None, "no answer was kept")
        if native is None or not native.request:
            why = "the answer does not say what was sent for it: an older program, or 'scrub' changed it"
            return Rebuilt(one, bodies[0], _digest(bodies[0]), None, why)
        for body in bodies:
            if _digest(body) == native.request:
                return Rebuilt(one, body, native.request, True, "")
        why = "it differs from what was sent"
        if (native.provider, native.model) != (frame.provider, frame.model.id):
            why = f"{native.provider}/{native.model} stood in and was sent it in its own form"
        return Rebuilt(one, bodies[0], _digest(bodies[0]), False, why)

    def _body(self, api: str, provider: str, store: bool, request: ModelRequest) -> bytes:
        key = (api, provider, store)
        try:
            builder = self._builders.get(key) or dialect(api).builder(provider, store=store)
        except RequestError:
            return b""
        self._builders[key] = builder
        return builder.build(request).body


def _digest(body: bytes) -> str:
    import hashlib

    return hashlib.sha256(body).hexdigest()


def ask_other(
    request: OpenRequest,
    configured: Configured,
    env: Mapping[str, str],
    clock: Clock,
    one: Rebuilt,
) -> Answered:
    """Ask the configured model what another was asked; nothing of its answer is run.

    Raises:
        OpenFailed: there is no such model, the request is not known, or it could not be answered.
    """
    asked_ = one.asked.request
    if asked_ is None:
        raise OpenFailed(f"request {one.asked.number} cannot be made again: {one.why}", 1)
    return asyncio.run(_asked_other(request, configured, env, clock, one, asked_))


async def _asked_other(
    request: OpenRequest,
    configured: Configured,
    env: Mapping[str, str],
    clock: Clock,
    one: Rebuilt,
    asked_: ModelRequest,
) -> Answered:
    try:
        service = await model_service(request, None, configured, env, clock)
    except ConfigError as exc:
        raise OpenFailed(str(exc)) from None
    model = service.model
    effort = configured.settings.effort or asked_.effort
    changed = msgspec.structs.replace(asked_, model=model, max_output=None, effort=effort, session_id="")
    answer: AssistantMessage | None = None
    try:
        async for event in service.provider.stream(changed):
            if isinstance(event, Failed):
                raise OpenFailed(f"{service.provider.name} did not answer: {event.message}", 4)
            if isinstance(event, Finished):
                answer = event.message
    finally:
        await service.close()
    assert answer is not None, "a stream ends with one or the other"
    return Answered(one, service.provider.name, model.id, answer)


def compared(configured: Configured, prefix: str, file: str) -> Iterator[Compared]:
    """Every call of a session and what the settings in `file` would have decided.

    `file` is a settings file; its `permission_mode` and `[permissions]` count, nothing else of it.

    Raises:
        NoSuchSession: none, or several, begin with `prefix`.
        OpenFailed: the file cannot be read whole, or holds no rules that can be understood.
        OSError: the session cannot be read.
    """
    layer, problems = read_file(file)
    resolved = merge([layer], problems)
    if resolved.problems or not layer.values:
        raise OpenFailed("; ".join(map(str, resolved.problems)) or f"{file} holds no settings", 2)
    rules = rules_of(msgspec.structs.replace(configured, resolved=resolved))
    with opened_scan(resolve(configured.session_base, prefix)) as (scan, fold):

        def noted() -> Iterator[Placed]:
            for placed in scan:
                if isinstance(placed.record.body, SessionHeader):
                    fold.add(placed.record)
                yield placed

        calls = list(judged(noted()))
    header = fold.state.header
    boxed = any(effect.boxed for call in calls for effect in call.effects)
    policy = policy_of(configured, resolved.settings.permission_mode, rules, sandboxed=boxed)
    if header is not None:
        policy = msgspec.structs.replace(policy, root=header.cwd)
    for call in calls:
        yield Compared(call, decide(call.tool, call.effects, policy) if call.known else None)
