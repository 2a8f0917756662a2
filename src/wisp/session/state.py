"""What a session is after some records.  Values only; `session.fold` alone changes them."""

from __future__ import annotations

import msgspec

from wisp.messages.message import Message
from wisp.messages.usage import ZERO, Usage
from wisp.session.earlier import Earlier
from wisp.session.records import CallIntentRecord, CompactionRecord, FrameRecord, SessionHeader


class FileStep(msgspec.Struct):
    """One turn that may have changed files, as snapshots before and after it."""

    prompt: str
    """Id of the user message whose run it belongs to."""
    turn: int
    before: str
    after: str = ""
    """Empty when the program ended before it could be taken."""
    follows: str = ""
    """Id of the message before the prompt; empty when it was the first."""
    at: str = ""
    """When `before` was taken, RFC 3339."""


class State(msgspec.Struct):
    """What a session is after some records.  Owned and changed by `Fold` alone."""

    header: SessionHeader | None = None
    messages: list[Message] = []
    """The conversation; of a very long one, what `earlier` does not stand for."""
    context: list[Message] = []
    """What requests hold: `messages`, or the shorter form after a compaction."""
    earlier: Earlier = msgspec.field(default_factory=Earlier)
    """What went before `messages` and is no longer held."""
    shortened: CompactionRecord | None = None
    """Set when the conversation is too large for any request and was shortened while it was read; to be
    recorded by whoever goes on with it."""
    leaf: str = ""
    """Id of the last message."""
    prompt: str = ""
    """Id of the last user message."""
    follows: str = ""
    """Id of the message before it."""
    next_seq: int = 1
    intents: dict[str, CallIntentRecord] = {}
    """Calls that were about to run and have no result, by call id."""
    usage: Usage = ZERO
    cost_usd: float | None = 0.0
    """None once one request's cost was unknown."""
    frame: FrameRecord | None = None
    """What the last request held beside the history, where that was read."""
    turns: int = 0
    runs_ended: int = 0
    steps: list[FileStep] = []
    """Turns that changed files, oldest first; those beyond `applied` were undone."""
    applied: int = 0
    title: str = ""
    """The name a person gave it."""
    labels: dict[str, str] = {}
    """Marks of messages, by message id."""
    moves: list[str] = []
    """Where the conversation stood before each move between branches that can be taken back."""
    settings: dict[str, str | None] = {}
    """Settings of the run as they were last recorded: provider, model, permission mode."""
    told: set[str] = set()
    """Repairs that a person was told of."""
    notes: list[str] = []
    """What was odd in the records, for a person."""

    @property
    def count(self) -> int:
        """How many messages the conversation has."""
        return self.earlier.count + len(self.messages)
