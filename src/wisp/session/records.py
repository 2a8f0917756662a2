"""Every durable fact of a session, as one typed record each.

A session file is a sequence of these, one a line; see `session.codec` for the line and
`docs/reference/session-format.md` for the format as others may rely on it.  Records are only ever added.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from wisp.messages.content import ToolCall
from wisp.messages.message import AssistantMessage, Message, Native, Notice, ToolResult, UserMessage
from wisp.messages.tool import Effect, Replay, ToolSpec
from wisp.messages.usage import Usage
from wisp.providers.base import ModelInfo

VERSION = 1
"""The format version this program writes, and the newest it may add to."""


class Body(msgspec.Struct, frozen=True, tag_field="type"):
    """The base of every record's payload; `type` on the line is the class's tag."""


class SessionHeader(Body, frozen=True, tag="session", omit_defaults=True):
    """The first record: whose conversation this is."""

    session_id: str
    cwd: str
    created_by: str = ""
    """Name and version of the program."""
    forked_from: str = ""
    """`SESSION@MESSAGE` that this session was taken from; empty for one of its own."""


class MessageRecord(Body, frozen=True, tag="message", omit_defaults=True):
    """A message joined the history.  The record's id is the message's id."""

    message: UserMessage | AssistantMessage | ToolResult | Notice
    cost_usd: float | None = None


class RequestIntentRecord(Body, frozen=True, tag="intent.request"):
    """A request was about to be made; its answer is the message `result_id`."""

    turn: int
    result_id: str


class FrameRecord(Body, frozen=True, tag="request.frame", omit_defaults=True):
    """What the requests from here on hold beside the history; written again only when it changes."""

    provider: str
    api: str
    model: ModelInfo
    system: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    max_output: int | None = None
    effort: str = ""
    session_id: str = ""
    output_schema: dict[str, Any] | None = None


class CallIntentRecord(Body, frozen=True, tag="intent.call", omit_defaults=True):
    """A call was about to run; its result is the message `result_id`."""

    turn: int
    call: ToolCall
    result_id: str
    replay: Replay
    effectful: bool
    effects: tuple[Effect, ...] = ()
    """What it declared to do; in files of older programs empty."""


class RunEndedRecord(Body, frozen=True, tag="run.ended", omit_defaults=True):
    """A run came to its end."""

    stop_reason: str
    turns: int
    error: str = ""


class AuditRecord(Body, frozen=True, tag="audit"):
    """Something a reader should know and the model never sees: an approval, a repair, a changed setting."""

    kind: str
    facts: dict[str, Any]


def spent_beside(by: str, usage: Usage, cost: float | None, turns: int = 0) -> AuditRecord:
    """What was spent beside the conversation's own requests.

    Args:
        by: `summary`, or a subagent's name.
        cost: US dollars; None where a price is unknown.
        turns: requests that count as turns.
    """
    return AuditRecord(
        "spent", {"by": by, "usage": msgspec.to_builtins(usage), "cost_usd": cost, "turns": turns}
    )


class SnapshotRecord(Body, frozen=True, tag="files.snapshot"):
    """The working folder was kept as it was at this moment."""

    tree: str
    """The snapshot's id in the store beside the sessions."""
    when: Literal["before", "after"]
    """Before the first effect of a turn, or after the last one of a run."""
    turn: int


class FilesMovedRecord(Body, frozen=True, tag="files.moved"):
    """The folder was put back (`undo`) or forward again (`redo`) over so many steps."""

    direction: Literal["undo", "redo"]
    steps: int


class LeafRecord(Body, frozen=True, tag="leaf"):
    """The conversation goes on from another message; what followed it stays in the file, on a branch."""

    target: str
    """Id of a message; empty for the beginning."""
    reason: str = ""


class CompactionRecord(Body, frozen=True, tag="compaction", omit_defaults=True):
    """From here on requests hold a shorter history; the whole one stays in the file."""

    summary: str
    """Stands for everything before `first_kept`; empty when only outputs were cut."""
    first_kept: str
    """Id of the first message that stays; empty for all."""
    pruned: tuple[str, ...] = ()
    """Ids of results whose output is cut to a line."""
    reason: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    native: Native | None = None
    """What the provider's own compaction made of what `summary` stands for; for that provider and model."""


class TitleRecord(Body, frozen=True, tag="title"):
    """A person gave the session a name; the last one counts, an empty one takes it back."""

    name: str


class LabelRecord(Body, frozen=True, tag="label"):
    """A person marked a message; an empty label takes the mark away."""

    target: str
    label: str


class UnknownRecord(msgspec.Struct, frozen=True):
    """A record of a type this program does not know; left in the file as it is."""

    type: str


Known = (
    SessionHeader
    | MessageRecord
    | RequestIntentRecord
    | FrameRecord
    | CallIntentRecord
    | RunEndedRecord
    | AuditRecord
    | SnapshotRecord
    | FilesMovedRecord
    | LeafRecord
    | CompactionRecord
    | TitleRecord
    | LabelRecord
)


KNOWN_TYPES = frozenset(
    str(kind.__struct_config__.tag)
    for kind in (
        SessionHeader,
        MessageRecord,
        RequestIntentRecord,
        FrameRecord,
        CallIntentRecord,
        RunEndedRecord,
        AuditRecord,
        SnapshotRecord,
        FilesMovedRecord,
        LeafRecord,
        CompactionRecord,
        TitleRecord,
        LabelRecord,
    )
)


class Record(msgspec.Struct, frozen=True):
    """One record with its place in the file and in the tree."""

    seq: int
    """Counts from 1 without gaps."""
    id: str
    parent: str
    """The message this follows in the conversation; empty at the beginning."""
    at: str
    """RFC 3339, UTC."""
    body: Known | UnknownRecord
    v: int = VERSION


def message_of(record: Record) -> Message | None:
    """The message a record adds to the history, if it adds one."""
    return record.body.message if isinstance(record.body, MessageRecord) else None
