"""Records to state: the one place that knows what records mean, live and at replay.  Pure.

A conversation of any length is folded in bounded memory when the fold is given a way to `read` messages
again: what a summary stands for is then remembered by its place alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from wisp.messages.message import AssistantMessage, Message, Notice, ToolResult, UserMessage
from wisp.messages.usage import Usage
from wisp.session.compact import pruned, shortened, summary_text
from wisp.session.earlier import SAID_ALL, Earlier
from wisp.session.records import (
    KNOWN_TYPES,
    AuditRecord,
    CallIntentRecord,
    CompactionRecord,
    FilesMovedRecord,
    FrameRecord,
    LabelRecord,
    LeafRecord,
    MessageRecord,
    Record,
    RunEndedRecord,
    SessionHeader,
    SnapshotRecord,
    TitleRecord,
    UnknownRecord,
)
from wisp.session.state import FileStep, State

__all__ = ["NAVIGATED", "NAVIGATED_BACK", "FileStep", "Fold", "Node", "State"]

NAVIGATED, NAVIGATED_BACK = "navigate", "navigate_back"
"""Reasons of a `LeafRecord`: a person went to another branch, or took that back."""
HELD_MOST, HELD_AFTER = 32 << 20, 8 << 20
"""Bytes of records no request can hold, and what is kept of a conversation beyond that."""

Read = Callable[[int], Message]
"""A message again, from the place of its record."""


class Node(NamedTuple):
    """One message of the tree."""

    parent: str
    place: int
    """Where its record stands; -1 when only memory has it."""
    size: int
    message: Message | None
    """None when it must be read again."""


class Fold:
    """Adds up records, one at a time.

    Args:
        records: where to begin.
        state: what earlier records added up to, when they are not given; `nodes` is then not whole.
        read: reads messages again, so that they need not all be held.
        most: bytes of records held at once, with `read`.
    """

    def __init__(
        self,
        records: Iterable[Record] = (),
        *,
        state: State | None = None,
        read: Read | None = None,
        most: int = HELD_MOST,
    ) -> None:
        self.state = state or State()
        self.whole = state is None
        """Whether every message is in `nodes`."""
        self.nodes: dict[str, Node] = {}
        self._read = read
        self._most = most
        self._held = 0
        self._path: list[str] = [m.id for m in self.state.messages]
        self.compactions: list[tuple[str, CompactionRecord]] = []
        for record in records:
            self.add(record)

    def add(self, record: Record, place: int = -1, size: int = 0) -> None:
        """Take one more record into account.  Never fails: what makes no sense becomes a note."""
        state, body = self.state, record.body
        state.next_seq = max(state.next_seq, record.seq + 1)
        if isinstance(body, MessageRecord):
            self._message(record, body, place, size)
        elif isinstance(body, CallIntentRecord):
            state.intents[body.call.id] = body
        elif isinstance(body, FrameRecord):
            state.frame = body
        elif isinstance(body, SessionHeader):
            if state.header is None:
                state.header = body
        elif isinstance(body, AuditRecord):
            self._audited(body)
        elif isinstance(body, RunEndedRecord):
            state.runs_ended += 1
        elif isinstance(body, SnapshotRecord):
            self._snapshot(body, record.at)
        elif isinstance(body, FilesMovedRecord):
            moved = body.steps if body.direction == "redo" else -body.steps
            state.applied = max(0, min(len(state.steps), state.applied + moved))
        elif isinstance(body, LeafRecord):
            self._leaf(record, body)
        elif isinstance(body, CompactionRecord):
            self.compactions.append((state.leaf, body))
            if not self._compact(body):
                state.notes.append(f"record {record.seq} keeps a message that is not there; it was left out")
        elif isinstance(body, TitleRecord):
            state.title = body.name
        elif isinstance(body, LabelRecord):
            state.labels.pop(body.target, None)
            if body.label:
                state.labels[body.target] = body.label
        elif isinstance(body, UnknownRecord) and body.type in KNOWN_TYPES:
            state.notes.append(f"record {record.seq} ({body.type}) is not understood; it was left out")

    def _audited(self, body: AuditRecord) -> None:
        """What a later run must know of what was told or set; never part of a request."""
        facts = body.facts
        if body.kind == "spent":
            self._spent(facts)
        elif body.kind == "repair":
            notes = facts.get("notes")
            told = notes if isinstance(notes, list) else ()
            self.state.told.update(note for note in told if isinstance(note, str))
        elif body.kind == "setting" and isinstance(changed := facts.get("changed"), dict):
            for name, change in changed.items():
                value = change.get("to") if isinstance(change, dict) else None
                self.state.settings[name] = value if isinstance(value, str) else None

    def _spent(self, facts: dict[str, Any]) -> None:
        """What summaries and subagents spend is spent by the session."""
        state = self.state
        try:
            usage = msgspec.convert(facts.get("usage"), Usage)
            cost = msgspec.convert(facts.get("cost_usd"), float | None)
            state.turns += msgspec.convert(facts.get("turns", 0), int)
        except msgspec.ValidationError:
            return
        state.usage = state.usage.plus(usage)
        state.cost_usd = None if cost is None or state.cost_usd is None else state.cost_usd + cost

    def path(self, target: str) -> list[str]:
        """Ids of the messages from the beginning to `target`.

        Raises:
            KeyError: `target` is no message of this session.
        """
        found = []
        while target:
            found.append(target)
            target = self.nodes[target].parent
        return found[::-1]

    def message(self, message_id: str) -> Message:
        """A message of the tree, read again where it is not held."""
        node = self.nodes[message_id]
        if node.message is not None:
            return node.message
        assert self._read is not None, "a message that is not held can be read again"
        return self._read(node.place)

    def _message(self, record: Record, body: MessageRecord, place: int, size: int) -> None:
        state, message = self.state, body.message
        if record.id in self.nodes:
            state.notes.append(f"message {record.id} stands twice; the first counts")
            return
        self.nodes[record.id] = Node(state.leaf, place, size, message)
        self._joined(record.id, message, size)
        if isinstance(message, AssistantMessage):
            state.turns += 1
            state.usage = state.usage.plus(message.usage or Usage())
            known = state.cost_usd is not None and body.cost_usd is not None
            state.cost_usd = (state.cost_usd or 0) + (body.cost_usd or 0) if known else None
            state.intents.clear()
        elif message_call := getattr(message, "call_id", ""):
            state.intents.pop(message_call, None)

    def _joined(self, message_id: str, message: Message, size: int) -> None:
        """A message follows on the way from the beginning."""
        state = self.state
        if isinstance(message, UserMessage):
            state.prompt, state.follows = message_id, state.leaf
        state.messages.append(message)
        state.context.append(message)
        self._path.append(message_id)
        state.leaf = message_id
        self._held += size
        if self._held > self._most and self._read is not None and not isinstance(message, ToolResult):
            self._too_large()

    # -- branches -----------------------------------------------------------------------------------------

    def _leaf(self, record: Record, body: LeafRecord) -> None:
        """Go on from another message: the history is the way from the beginning to it."""
        state = self.state
        if body.target and body.target not in self.nodes:
            state.notes.append(
                f"record {record.seq} goes back to a message that is not there; it was left out"
            )
            return
        if body.reason == NAVIGATED:
            state.moves.append(state.leaf)
        elif body.reason == NAVIGATED_BACK and state.moves:
            state.moves.pop()
        self._walk(body.target)
        state.intents.clear()

    def _walk(self, target: str) -> None:
        """Have `state` hold the way to `target`, with the compactions of it in their places."""
        state = self.state
        state.messages, state.context, state.earlier, state.shortened = [], [], Earlier(), None
        state.leaf = state.prompt = state.follows = ""
        self._path, self._held = [], 0
        waiting: dict[str, list[CompactionRecord]] = {}
        for leaf, body in self.compactions:
            waiting.setdefault(leaf, []).append(body)
        for message_id in self.path(target):
            self._joined(message_id, self.message(message_id), self.nodes[message_id].size)
            for body in waiting.get(message_id, ()):
                self._compact(body)

    # -- getting shorter ----------------------------------------------------------------------------------

    def _compact(self, body: CompactionRecord) -> bool:
        state = self.state
        made = shortened(state.context, body.summary, body.first_kept, body.pruned, body.native)
        if made is None and state.shortened is not None and body.summary:  # it was dropped as too large
            kept = [m for m in state.context if not isinstance(m, Notice) or m.id != "summary"]
            made = [Notice(body.summary, "summary", body.native), *kept]
        if made is None:
            return False
        state.context = made
        if body.summary:
            state.shortened = None
            self._forget(body.first_kept)
        return True

    def _forget(self, first_kept: str) -> None:
        """Let go of the messages before `first_kept`, where they can be read again."""
        if self._read is None or first_kept not in self._path:
            return
        place = self._path.index(first_kept)
        self.state.earlier.take(self.state.messages[:place])
        for message_id in self._path[:place]:
            node = self.nodes.get(message_id)
            if node is not None:
                self._held -= node.size
                self.nodes[message_id] = node._replace(message=None)
        del self.state.messages[:place], self._path[:place]

    def _too_large(self) -> None:
        """Nothing summarised the conversation and no request could hold it: keep its end and the facts."""
        state, kept, first = self.state, 0, len(self._path) - 1
        for place in range(len(self._path) - 1, 0, -1):
            node = self.nodes.get(self._path[place])
            kept += node.size if node else 0
            if kept > HELD_AFTER * self._most // HELD_MOST:
                break
            if not isinstance(state.messages[place], ToolResult):
                first = place
        first_kept = self._path[first]
        if first == 0:
            return
        self._forget(first_kept)
        summary = summary_text("", (), "", SAID_ALL, state.earlier)
        state.context = [Notice(summary, "summary"), *pruned(state.messages, frozenset())]
        state.shortened = CompactionRecord(summary, first_kept, (), "size")

    def _snapshot(self, body: SnapshotRecord, at: str) -> None:
        state = self.state
        prompt = state.prompt
        last = state.steps[-1] if state.steps and state.applied == len(state.steps) else None
        if last is not None and not last.after and last.prompt == prompt:
            last.after = body.tree
        if body.when == "before":
            del state.steps[state.applied :]
            state.steps.append(FileStep(prompt, body.turn, body.tree, "", state.follows, at))
            state.applied = len(state.steps)
