"""Records to state: the one place that knows what records mean, live and at replay.  Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from wisp.messages.message import AssistantMessage, Message, UserMessage
from wisp.messages.usage import ZERO, Usage
from wisp.session.compact import shortened
from wisp.session.records import (
    KNOWN_TYPES,
    AuditRecord,
    CallIntentRecord,
    CompactionRecord,
    FilesMovedRecord,
    LeafRecord,
    MessageRecord,
    Record,
    RunEndedRecord,
    SessionHeader,
    SnapshotRecord,
    UnknownRecord,
)


class FileStep(msgspec.Struct):
    """One turn that may have changed files, as snapshots before and after it."""

    prompt: str
    """Id of the user message whose run it belongs to."""
    turn: int
    before: str
    after: str = ""
    """Empty when the program ended before it could be taken."""


class State(msgspec.Struct):
    """What a session is after some records.  Owned and changed by `Fold` alone."""

    header: SessionHeader | None = None
    messages: list[Message] = []
    context: list[Message] = []
    """What requests hold: `messages`, or the shorter form after a compaction."""
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
    steps: list[FileStep] = []
    """Turns that changed files, oldest first; those beyond `applied` were undone."""
    applied: int = 0
    told: set[str] = set()
    """Repairs that a person was told of."""
    notes: list[str] = []
    """What was odd in the records, for a person."""


class Fold:
    """Adds up records, one at a time."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.state = State()
        self._compactions: list[tuple[str, CompactionRecord]] = []
        self._nodes: dict[str, tuple[str, Message]] = {}
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
        elif isinstance(body, SnapshotRecord):
            self._snapshot(body)
        elif isinstance(body, FilesMovedRecord):
            moved = body.steps if body.direction == "redo" else -body.steps
            state.applied = max(0, min(len(state.steps), state.applied + moved))
        elif isinstance(body, LeafRecord):
            self._leaf(record, body)
        elif isinstance(body, CompactionRecord):
            self._compactions.append((state.leaf, body))
            made = shortened(state.context, body.summary, body.first_kept, body.pruned)
            if made is None:
                state.notes.append(f"record {record.seq} keeps a message that is not there; it was left out")
            else:
                state.context = made
        elif isinstance(body, UnknownRecord) and body.type in KNOWN_TYPES:
            state.notes.append(f"record {record.seq} ({body.type}) is not understood; it was left out")

    def _message(self, record: Record, body: MessageRecord) -> None:
        state, message = self.state, body.message
        if record.id in self._nodes:
            state.notes.append(f"message {record.id} stands twice; the first counts")
            return
        self._nodes[record.id] = (state.leaf, message)
        state.messages.append(message)
        state.context.append(message)
        state.leaf = record.id
        if isinstance(message, AssistantMessage):
            state.turns += 1
            state.usage = state.usage.plus(message.usage or Usage())
            known = state.cost_usd is not None and body.cost_usd is not None
            state.cost_usd = (state.cost_usd or 0) + (body.cost_usd or 0) if known else None
            state.intents.clear()
        elif message_call := getattr(message, "call_id", ""):
            state.intents.pop(message_call, None)

    def _leaf(self, record: Record, body: LeafRecord) -> None:
        """Go on from another message: the history is the way from the beginning to it."""
        state = self.state
        if body.target and body.target not in self._nodes:
            state.notes.append(
                f"record {record.seq} goes back to a message that is not there; it was left out"
            )
            return
        path: list[Message] = []
        node = body.target
        while node:
            node, message = self._nodes[node]
            path.append(message)
        state.messages = path[::-1]
        state.leaf = body.target
        self._shorten()
        state.intents.clear()

    def _shorten(self) -> None:
        """Apply the compactions of this branch in order, each to what the history was by then."""
        places = {message.id: place for place, message in enumerate(self.state.messages)}
        context: list[Message] = []
        done = 0
        for leaf, body in self._compactions:
            place = places.get(leaf)
            if place is None:
                continue
            context += self.state.messages[done : place + 1]
            context = shortened(context, body.summary, body.first_kept, body.pruned) or context
            done = place + 1
        self.state.context = [*context, *self.state.messages[done:]]

    def _snapshot(self, body: SnapshotRecord) -> None:
        state = self.state
        prompt = next((m.id for m in reversed(state.messages) if isinstance(m, UserMessage)), "")
        last = state.steps[-1] if state.steps and state.applied == len(state.steps) else None
        if last is not None and not last.after and last.prompt == prompt:
            last.after = body.tree
        if body.when == "before":
            del state.steps[state.applied :]
            state.steps.append(FileStep(prompt, body.turn, body.tree))
            state.applied = len(state.steps)
