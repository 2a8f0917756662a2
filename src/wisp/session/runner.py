"""`CodingSession`: a conversation that lasts.  Opens, resumes, records and recovers.

Implements the harness's `Recorder`: everything the harness is about to do or has settled becomes a
record first.  What records mean is `session.fold`'s business; how they reach the disk is the storage's.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal

from wisp.harness.repair import interrupted
from wisp.harness.runner import AgentHarness
from wisp.loop.events import (
    AgentCompleted,
    ErrorReported,
    Event,
    RepairReported,
)
from wisp.loop.limits import Limits
from wisp.loop.ports import CallIntent, RequestIntent
from wisp.loop.settle import uncancelled
from wisp.messages.ids import Clock, iso
from wisp.messages.message import AssistantMessage, Message, ToolResult, UserMessage
from wisp.messages.tool import ToolOutcome
from wisp.messages.usage import Price, cost_of
from wisp.providers.base import Provider
from wisp.session.auditing import Auditor, settings_changed
from wisp.session.events import SessionSaved
from wisp.session.fitting import WindowKeeper
from wisp.session.fold import Fold
from wisp.session.intents import called, framed
from wisp.session.keeping import Keeping
from wisp.session.ports import FileHistory
from wisp.session.records import (
    VERSION,
    AuditRecord,
    CompactionRecord,
    Known,
    LeafRecord,
    MessageRecord,
    Record,
    RequestIntentRecord,
    RunEndedRecord,
    SessionHeader,
    SnapshotRecord,
    TitleRecord,
)
from wisp.session.recover import Recovery, plan
from wisp.session.state import State
from wisp.session.storage import Storage, StorageFailed


class CodingSession:
    """One durable conversation.

    Args:
        storage: where records go; loaded here, and closed by `close`.
        clock: time and identifiers.
        cwd: the folder a new session belongs to, absolute.
        session_id: the id of a new session; an existing one keeps its own, and one whose first record is
            damaged takes that of its file.
        price: list prices, for the cost of each answer.
        prices: those of other models that may answer, by provider and model.
        created_by: name and version of the program, for the header.
        files: keeps the working folder before the first effect of each turn, for undo.

    Raises:
        StorageFailed: the stored session was written by a newer program and can only be read.
    """

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        *,
        cwd: str,
        session_id: str,
        price: Price | None = None,
        prices: Mapping[tuple[str, str], Price] | None = None,
        created_by: str = "wisp",
        files: FileHistory | None = None,
    ) -> None:
        self._files = files
        self._kept: tuple[int, int] | None = None
        self._said: list[Event] = []
        self._storage = storage
        self.keeping = Keeping(storage)
        self._committing = asyncio.Lock()
        self._clock = clock
        self._price = price or Price()
        self._prices = prices or {}
        loaded = storage.load()
        if loaded.newest_version > VERSION:
            storage.close()
            raise StorageFailed(
                f"{storage.where} was written in format {loaded.newest_version}; this program knows "
                f"{VERSION}. It can be shown, not continued: update wisp."
            )
        self._fold = Fold(loaded.records, state=loaded.state)
        self.notes = [f"byte {d.offset}: {d.message}" for d in loaded.damage] + self.state.notes
        header = self.state.header
        self.id = header.session_id if header else _name_of(storage.where) or session_id
        self._new = [] if header else [self._record(SessionHeader(self.id, cwd, created_by))]
        if self.state.shortened is not None:
            self._new.append(self._record(self.state.shortened))
            self.notes.append(
                "the conversation was larger than any request; its older part is kept as a summary"
            )
        self._recovery = plan(self.state, clock.new_id)
        self.harness: AgentHarness | None = None
        self.window = WindowKeeper(self._provider, lambda: self.state, self._compacted, self._older)

    def _provider(self) -> Provider:
        assert self.harness is not None
        return self.harness.provider

    async def _compacted(self, body: CompactionRecord | AuditRecord) -> None:
        await self._commit([self._record(body)], sync=True)

    async def _older(self, first: str) -> list[Message]:
        """The conversation before the message `first`, from its beginning."""
        state = self.state
        if not state.earlier.count:
            return state.messages[: next(n for n, m in enumerate(state.messages) if m.id == first)]
        fold = self._fold if self._fold.whole else self._storage.folded()
        way = fold.path(state.leaf)
        return [fold.message(found) for found in way[: way.index(first)]]

    @property
    def state(self) -> State:
        """What the records add up to."""
        return self._fold.state

    @property
    def where(self) -> str:
        """The session file; empty in memory."""
        return self._storage.where

    def attach(self, make: Callable[[Sequence[Message]], AgentHarness]) -> AgentHarness:
        """Make the harness that continues this conversation; `make` gets the history."""
        self.harness = make(tuple(self.state.context))
        self.harness.told.update(self.state.told)
        return self.harness

    async def prompt(
        self, message: UserMessage, *, limits: Limits | None = None
    ) -> AsyncGenerator[Event, None]:
        """Run one prompt; see `AgentHarness.prompt`.  Recovers first what a crash left open."""
        assert self.harness is not None, "attach a harness first"
        notes = (*self.notes, *[note async for note in self._recover()])
        if notes:
            self.notes = []
            await self.audit("repair", {"notes": list(notes)})
            yield RepairReported(notes)
        self.keeping.begin()
        gate = self.harness.toolbox.gate
        auditor = Auditor(self.audit, lambda: self.state, limits or Limits(), gate)
        async with aclosing(self.harness.prompt(message, limits=limits)) as events:
            async for event in events:
                await auditor.note(event)
                while self._said:
                    yield self._said.pop(0)
                if isinstance(event, AgentCompleted):
                    yield SessionSaved(self.where, self.state.count)
                yield event

    async def _recover(self) -> AsyncGenerator[str, None]:
        while self._recovery:
            step, *rest = self._recovery
            result = step.result or await self._rerun(step)
            await self.settled(result)
            self._recovery = tuple(rest)
            assert self.harness is not None
            self.harness.adopt(result)
            yield f"call {step.call.id} ({step.call.name}): {result.code or 'run again'}"

    async def _rerun(self, step: Recovery) -> ToolResult:
        """Run a harmless call again, if it is still allowed without asking; stopped when this task is."""
        assert self.harness is not None
        call = step.call
        ready = await self.harness.toolbox.prepare_unasked(call)
        if ready.failure is not None or ready.effectful:
            return interrupted(call, step.result_id)
        running = asyncio.ensure_future(ready.run(lambda event: None))
        try:
            outcome = await asyncio.shield(running)
        except asyncio.CancelledError:
            running.cancel()
            await uncancelled(_done(running))
            raise
        return ToolResult(call.id, call.name, outcome.content, outcome.is_error, outcome.code, step.result_id)

    # -- the harness's recorder ---------------------------------------------------------------------------

    async def accepted(self, messages: tuple[Message, ...]) -> None:
        """Record messages that joined the history; synced."""
        await self._commit([self._message(message) for message in messages], sync=True)

    async def about_to(self, intent: RequestIntent | CallIntent) -> None:
        """Record an intent; synced before anything that cannot be repeated."""
        if isinstance(intent, RequestIntent):
            bodies: list[Known] = [RequestIntentRecord(intent.turn, intent.result_id)]
            frame = framed(intent)
            if frame != self.state.frame:
                bodies.insert(0, frame)
            await self._commit([self._record(body) for body in bodies], sync=False)
            return
        if intent.effectful:
            await self._keep_files("before", intent.turn)
        await self._commit([self._record(called(intent))], sync=intent.replay == "never")

    async def settled(self, outcome: AssistantMessage | ToolResult) -> None:
        """Record an answer or a result; synced."""
        await self._commit([self._message(outcome)], sync=True)

    async def audit(self, kind: str, facts: dict[str, Any]) -> None:
        """Record a fact the model never sees."""
        await self._commit([self._record(AuditRecord(kind, facts))], sync=False)

    async def ended(self, how: AgentCompleted) -> None:
        """Record the end of a run; synced."""
        if self._kept is not None:
            await self._keep_files("after", how.turns)
            self._kept = None
        await self._commit([self._record(RunEndedRecord(how.stop_reason, how.turns, how.error))], sync=True)

    async def _keep_files(self, when: Literal["before", "after"], turn: int) -> None:
        """Take a snapshot, once a turn; where that fails, say so and go on without undo for this run."""
        mark = (self.state.runs_ended, turn)
        if self._files is None or (when == "before" and self._kept == mark):
            return
        files, first = self._files, self._kept is None
        loop = asyncio.get_running_loop()
        if first and self.state.steps:
            files.warm(self.state.steps[-1].after or self.state.steps[-1].before)
        try:
            tree = await uncancelled(_awaited(loop.run_in_executor(None, files.take)))
        except OSError as exc:
            self._files = None
            facts = {"covered": False, "why": str(exc)}
            self._said.append(ErrorReported(f"undo does not cover what follows: {exc}", "undo"))
            await self.audit("undo", facts)
            return
        self._kept = mark
        await self._commit([self._record(SnapshotRecord(tree, when, turn))], sync=False)

    # -- between runs -------------------------------------------------------------------------------------

    async def go(self, wanted: str, *, summarise: bool = False) -> None:
        """Have the conversation go on from the message `wanted`; empty takes the last such move back.

        Args:
            wanted: an id, its beginning, a label, or the number of a message.
            summarise: have the branch that is left told in short where the conversation goes on.

        Raises:
            NoSuchEntry: there is no such message, or no move to take back.
        """
        from wisp.session.moving import moved

        fold = self._fold if self._fold.whole else self._storage.folded()
        bodies = await moved(fold, wanted, self.harness if summarise else None, self._clock)
        self._fold = fold
        records = [
            self._record(body, body.message.id if isinstance(body, MessageRecord) else "") for body in bodies
        ]
        await self._commit(records, sync=True)
        self._recovery = plan(self.state, self._clock.new_id)
        if self.harness is not None:
            self.harness.restart(self.state.context)

    async def set_(self, settings: Mapping[str, str]) -> None:
        """Note that settings of the run are changed; the caller changes them."""
        await settings_changed(self.audit, self.state, settings)

    async def name(self, name: str) -> None:
        """Give the session a name; an empty one takes it back."""
        await self._commit([self._record(TitleRecord(" ".join(name.split())[:200]))], sync=True)

    def close(self) -> None:
        """Let go of the file and its lock."""
        if not self.keeping.unkept:
            self._storage.remember(self.state)
        self._storage.close()

    # -- records ------------------------------------------------------------------------------------------

    def _message(self, message: Message) -> Record:
        cost = None
        if isinstance(message, AssistantMessage) and message.usage is not None:
            native = message.native
            other = self._prices.get((native.provider, native.model)) if native is not None else None
            cost = cost_of(message.usage, other or self._price)
        return self._record(MessageRecord(message, cost), message.id)

    def _record(self, body: Known, record_id: str = "") -> Record:
        """The next record; numbering goes on from those still being committed."""
        now = iso(self._clock.now())
        return Record(0, record_id or self._clock.new_id(), "", now, body)

    async def _commit(self, records: list[Record], *, sync: bool) -> None:
        await uncancelled(self._commit_whole(records, sync))

    async def _commit_whole(self, records: list[Record], sync: bool) -> None:
        async with self._committing:
            await self._commit_one(records, sync)

    async def _commit_one(self, records: list[Record], sync: bool) -> None:
        whole = [*self._new, *records]
        numbered: list[Record] = []
        seq, leaf = self.state.next_seq, self.state.leaf
        for record in whole:
            numbered.append(Record(seq, record.id, leaf, record.at, record.body))
            seq += 1
            leaf = record.id if isinstance(record.body, MessageRecord) else leaf
            leaf = record.body.target if isinstance(record.body, LeafRecord) else leaf
        await self.keeping.append(numbered, sync=sync)
        self._new = []
        for record in numbered:
            self._fold.add(record)


async def _awaited(future: asyncio.Future[str]) -> str:
    return await future


async def _done(task: asyncio.Future[ToolOutcome]) -> None:
    await asyncio.wait([task])


def _name_of(where: str) -> str:
    """The session id that a file's name says; empty for what is no session file."""
    name = os.path.basename(where)
    return name.removesuffix(".jsonl") if name.endswith(".jsonl") else ""
