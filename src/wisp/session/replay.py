"""A stored session's requests and calls once more, each with what the records say came of it.  Pure.

A request is its frame (the record `request.frame`) and the history of that moment, which is the same fold
that a live session goes on from; so what comes out is what was asked, not what would be asked today.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from wisp.messages.message import AssistantMessage, Message
from wisp.messages.tool import Effect
from wisp.providers.base import ModelRequest
from wisp.session.fold import Fold
from wisp.session.records import (
    AuditRecord,
    CallIntentRecord,
    FrameRecord,
    MessageRecord,
    RequestIntentRecord,
)
from wisp.session.scan import Placed


class Asked(msgspec.Struct, frozen=True):
    """One request of a session."""

    number: int
    """From 1, in the order they were made."""
    turn: int
    after: str
    """Id of the message it followed."""
    result_id: str
    """Id of its answer."""
    frame: FrameRecord | None
    """None in a session of a program that did not note it."""
    messages: tuple[Message, ...]
    answer: AssistantMessage | None
    """None where none was kept: the request failed, or the program ended."""

    @property
    def request(self) -> ModelRequest | None:
        """What was asked; None without a frame."""
        frame = self.frame
        if frame is None:
            return None
        return ModelRequest(
            frame.model,
            self.messages,
            frame.system,
            frame.tools,
            frame.max_output,
            frame.effort,
            frame.session_id,
            frame.output_schema,
        )


class Judged(msgspec.Struct, frozen=True):
    """One call of a session that was decided about, and how it went."""

    call_id: str
    tool: str
    summary: str
    ran: bool
    asked: bool
    """A person was asked."""
    reason: str
    """Why it did not run; empty where it did."""
    effects: tuple[Effect, ...]
    """What it declared to do."""
    known: bool
    """Whether that was noted; a session of an older build may not say."""


def asked(records: Iterable[Placed], fold: Fold) -> Iterator[Asked]:
    """Every request of a session, oldest first, on every branch.

    Args:
        records: of the whole session, in order.
        fold: empty; it is fed with them, and must be able to read messages again.
    """
    waiting: Asked | None = None
    number = 0
    for record, place, size in records:
        body = record.body
        if waiting is not None and isinstance(body, MessageRecord) and record.id == waiting.result_id:
            if isinstance(body.message, AssistantMessage):
                waiting = msgspec.structs.replace(waiting, answer=body.message)
            yield waiting
            waiting = None
        fold.add(record, place, size)
        if isinstance(body, RequestIntentRecord):
            if waiting is not None:
                yield waiting
            number += 1
            state = fold.state
            waiting = Asked(
                number, body.turn, state.leaf, body.result_id, state.frame, tuple(state.context), None
            )
    if waiting is not None:
        yield waiting


def judged(records: Iterable[Placed]) -> Iterator[Judged]:
    """Every call that was decided about, in the order of the decisions."""
    asked_about: set[str] = set()
    for placed in records:
        body = placed.record.body
        if isinstance(body, AuditRecord) and body.kind == "approval":
            asked_about.add(_text(body, "call_id"))
        elif isinstance(body, AuditRecord) and body.kind == "denial":
            call_id = _text(body, "call_id")
            yield Judged(
                call_id,
                _text(body, "tool"),
                _text(body, "summary"),
                False,
                call_id in asked_about or body.facts.get("headless") is True,
                _text(body, "reason"),
                _effects(body.facts.get("effects")),
                "effects" in body.facts,
            )
        elif isinstance(body, CallIntentRecord):
            call = body.call
            known = bool(body.effects) or not body.effectful
            person = call.id in asked_about
            yield Judged(call.id, call.name, _shown(body), True, person, "", body.effects, known)


def _shown(body: CallIntentRecord) -> str:
    """What the call does, in a line."""
    targets = ", ".join(effect.target for effect in body.effects)
    return f"{body.call.name} {targets or body.call.arguments}"


def _text(body: AuditRecord, name: str) -> str:
    value = body.facts.get(name)
    return value if isinstance(value, str) else ""


def _effects(value: object) -> tuple[Effect, ...]:
    try:
        return msgspec.convert(value or (), tuple[Effect, ...])
    except msgspec.ValidationError:
        return ()
