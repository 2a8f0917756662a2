"""The tree of one session: finding an entry, showing it, and taking a branch into a session of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from wisp.messages.message import AssistantMessage, Message, Notice, ToolResult, UserMessage
from wisp.session.codec import encode
from wisp.session.fold import Fold
from wisp.session.open import Tree
from wisp.session.records import (
    CompactionRecord,
    Known,
    LabelRecord,
    MessageRecord,
    Record,
    SessionHeader,
    TitleRecord,
)
from wisp.session.scan import record_at


class NoSuchEntry(LookupError):
    """No message, or more than one, is meant; the message says which."""


class Entry(msgspec.Struct, frozen=True):
    """One message as a line of the tree."""

    number: int
    """Counts messages in the order they were written, from 1."""
    id: str
    parent: str
    depth: int
    """How many branchings lie before it."""
    kind: str
    """`user`, `assistant`, `tool_result` or `notice`."""
    text: str
    """Its first line."""
    label: str
    current: bool
    """Whether it is on the way from the beginning to where the conversation stands."""
    leaf: bool
    """Whether the conversation stands here."""


def entries(fold: Fold) -> Iterator[Entry]:
    """Every message, each branch after the message it begins at; those of the current way last, so that a
    reader finds where the conversation stands at the end."""
    order = {message_id: number for number, message_id in enumerate(fold.nodes, 1)}
    below: dict[str, list[str]] = {}
    for message_id, node in fold.nodes.items():
        below.setdefault(node.parent, []).append(message_id)
    current = set(fold.path(fold.state.leaf))
    waiting = [(child, 0) for child in reversed(_sorted(below.get("", []), current))]
    while waiting:
        message_id, depth = waiting.pop()
        message = fold.message(message_id)
        yield Entry(
            order[message_id],
            message_id,
            fold.nodes[message_id].parent,
            depth,
            kind_of(message),
            first_line(message),
            fold.state.labels.get(message_id, ""),
            message_id in current,
            message_id == fold.state.leaf,
        )
        children = _sorted(below.get(message_id, []), current)
        for place, child in reversed(list(enumerate(children))):
            waiting.append((child, depth if place == len(children) - 1 else depth + 1))


def _sorted(children: list[str], current: set[str]) -> list[str]:
    return [c for c in children if c not in current] + [c for c in children if c in current]


def kind_of(message: Message) -> str:
    """The message's kind as it is called in the file."""
    return str(message.__struct_config__.tag)


def first_line(message: Message) -> str:
    """What stands for a message in a list."""
    if isinstance(message, AssistantMessage):
        text = message.text.strip() or ", ".join(f"calls {call.name}" for call in message.calls)
    elif isinstance(message, ToolResult):
        text = f"{message.name}: {message.text.strip()}"
    else:
        assert isinstance(message, UserMessage | Notice)
        text = message.text.strip()
    return text.split("\n", 1)[0][:200]


def resolve_entry(fold: Fold, wanted: str) -> str:
    """The id of the message that `wanted` means: its id, its label, its number, or the beginning of its id.

    Raises:
        NoSuchEntry: none or several.
    """
    if wanted in fold.nodes:
        return wanted
    labelled = [target for target, label in fold.state.labels.items() if label == wanted]
    if not labelled and wanted.isascii() and wanted.isdigit() and len(wanted) < 10:
        labelled = list(fold.nodes)[int(wanted) - 1 : int(wanted)] if int(wanted) else []
    found = labelled or [message_id for message_id in fold.nodes if wanted and message_id.startswith(wanted)]
    if len(found) != 1:
        many = f"{len(found)} entries are meant by {wanted!r}; give more of the id"
        none = f"there is no entry {wanted!r}; 'wisp sessions tree ID' numbers them"
        raise NoSuchEntry(many if found else none)
    return found[0]


def fork_lines(tree: Tree, target: str, session_id: str, created_by: str, at: str) -> Iterator[bytes]:
    """The lines of a new session that goes on from the message `target` of another.

    Messages keep their ids; compactions, labels and the name of the way to `target` come along, other
    branches and what concerns files does not.
    """
    fold = tree.fold
    header = fold.state.header
    source = f"{header.session_id if header else ''}@{target}"
    waiting: dict[str, list[CompactionRecord]] = {}
    for leaf, body in fold.compactions:
        waiting.setdefault(leaf, []).append(body)
    way = fold.path(target)
    seq, last = 0, ""

    def line(body: Known, record_id: str, when: str = at) -> bytes:
        nonlocal seq
        seq += 1
        return encode(Record(seq, record_id, last, when, body))

    cwd = header.cwd if header else ""
    yield line(SessionHeader(session_id, cwd, created_by, source), f"{session_id}-0")
    for message_id in way:
        record = record_at(tree.descriptor, fold.nodes[message_id].place)
        assert isinstance(record.body, MessageRecord)
        yield line(record.body, message_id, record.at)
        last = message_id
        for number, body in enumerate(waiting.get(message_id, ())):
            yield line(body, f"{message_id}-{number}", record.at)
    members = set(way)
    for number, (marked, label) in enumerate(fold.state.labels.items(), 1):
        if marked in members:
            yield line(LabelRecord(marked, label), f"{session_id}-{number}")
    if fold.state.title:
        yield line(TitleRecord(fold.state.title), f"{session_id}-title")


def clone_lines(tree: Tree, session_id: str, created_by: str) -> Iterator[bytes]:
    """Every undamaged record of a session, byte for byte, under another session id."""
    for place, size in tree.places:
        raw = os.pread(tree.descriptor, size, place)
        if b'"type":"session"' in raw[:400]:
            record = record_at(tree.descriptor, place)
            if isinstance(record.body, SessionHeader):
                source = f"{record.body.session_id}@"
                body = SessionHeader(session_id, record.body.cwd, created_by, source)
                yield encode(msgspec.structs.replace(record, body=body))
                continue
        yield raw + b"\n"


__all__ = [
    "Entry",
    "NoSuchEntry",
    "clone_lines",
    "entries",
    "first_line",
    "fork_lines",
    "kind_of",
    "resolve_entry",
]
