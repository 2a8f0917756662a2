"""Records to state: the one place that knows what records mean, live and at replay.  Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from wisp.messages.message import AssistantMessage, Message
from wisp.messages.usage import ZERO, Usage
from wisp.session.records import (
    KNOWN_TYPES,
    AuditRecord,
    CallIntentRecord,
    MessageRecord,
    Record,
    RunEndedRecord,
    SessionHeader,
    UnknownRecord,
)


class State(msgspec.Struct):
    """What a session is after some records.  Owned and changed by `Fold` alone."""

    header: SessionHeader | None = None
    messages: list[Message] = []
    leaf: str = ""
    """Id of the last message."""
    next_seq: int = 1
    intents: dict[str, CallIntentRecord] = {}
    """Calls that were about to run and have no result, by call id."""
    usage: Usage = ZERO
    cost_usd: float | None = 0.0
    """None once one request's cost was unknown."""
    turns: int = 0
    runs_ended: int = 0
    told: set[str] = set()
    """Repairs that a person was told of."""
    notes: list[str] = []
    """What was odd in the records, for a person."""


class Fold:
    """Adds up records, one at a time."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.state = State()
        self._seen: set[str] = set()
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Take one more record into account.  Never fails: what makes no sense becomes a note."""
        state, body = self.state, record.body
        state.next_seq = max(state.next_seq, record.seq + 1)
        if isinstance(body, MessageRecord):
            self._message(record, body)
        elif isinstance(body, CallIntentRecord):
            state.intents[body.call.id] = body
        elif isinstance(body, SessionHeader):
            if state.header is None:
                state.header = body
        elif isinstance(body, AuditRecord) and body.kind == "repair":
            notes = body.facts.get("notes")
            state.told.update(
                note for note in (notes if isinstance(notes, list) else ()) if isinstance(note, str)
            )
        elif isinstance(body, RunEndedRecord):
            state.runs_ended += 1
        elif isinstance(body, UnknownRecord) and body.type in KNOWN_TYPES:
            state.notes.append(f"record {record.seq} ({body.type}) is not understood; it was left out")

    def _message(self, record: Record, body: MessageRecord) -> None:
        state, message = self.state, body.message
        if record.id in self._seen:
            state.notes.append(f"message {record.id} stands twice; the first counts")
            return
        self._seen.add(record.id)
        state.messages.append(message)
        state.leaf = record.id
        if isinstance(message, AssistantMessage):
            state.turns += 1
            state.usage = state.usage.plus(message.usage or Usage())
            known = state.cost_usd is not None and body.cost_usd is not None
            state.cost_usd = (state.cost_usd or 0) + (body.cost_usd or 0) if known else None
            state.intents.clear()
        elif message_call := getattr(message, "call_id", ""):
            state.intents.pop(message_call, None)
