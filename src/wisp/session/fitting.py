"""Keeping a conversation within the model's window: when, and what becomes of it.

Implements the loop's `Fitter`.  Decides by size, plans with `session.compact`, has the older part told in
short, by the provider's own compaction where there is one, and hands the session one record; history itself
is never rewritten.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from wisp.context.blocks import Block
from wisp.context.estimate import Meter, measured, tokens_of, tokens_of_frame
from wisp.context.ledger import ledger
from wisp.loop.events import CompactionCompleted, CompactionStarted, ContextPressure, ErrorReported, Event
from wisp.loop.ports import Fitted
from wisp.messages.laws import open_calls
from wisp.messages.message import Message, Native, Notice
from wisp.messages.usage import Usage, cost_of
from wisp.providers.base import ModelRequest, Provider
from wisp.session.compact import Plan, plan, shortened, summary_text
from wisp.session.ports import CompactionWatch
from wisp.session.records import AuditRecord, CompactionRecord, spent_beside
from wisp.session.state import State
from wisp.session.summarize import Account, account_of, foreign, sealed_by, seals

RESERVE = 16_384
"""Tokens kept free for the answer, or a quarter of a small window."""
MOST_FAILURES = 2
"""Compactions without gain after which none is tried by itself any more."""


def reserve_of(window: int) -> int:
    """Tokens of a window that the conversation leaves free."""
    return min(RESERVE, window // 4)


class WindowKeeper:
    """Watches one conversation.

    Args:
        provider: who is asked for a summary.
        history: the whole conversation, for the list of files.
        commit: makes a compaction, or what it cost, durable.
        older: the whole conversation before a message.
    """

    def __init__(
        self,
        provider: Callable[[], Provider],
        history: Callable[[], State],
        commit: Callable[[CompactionRecord | AuditRecord], Awaitable[None]],
        older: Callable[[str], Awaitable[list[Message]]],
    ) -> None:
        self._provider = provider
        self._history = history
        self._commit = commit
        self._older = older
        self._meter = Meter()
        self._failures = 0
        self._seals = True
        """Whether the provider's own compaction is still worth asking for."""
        self._wanted: str | None = None
        self.watch: CompactionWatch | None = None
        """Asked before and told after each compaction."""

    def ask_for(self, instructions: str) -> None:
        """Compact before the next request, whatever the size."""
        self._wanted = instructions

    def explain(self, request: ModelRequest) -> str:
        """See `loop.ports.Fitter.explain`."""
        blocks = [Block("instructions", text, "built-in", 0) for text in request.system]
        return ledger(blocks, request.tools, request.messages, request.model.context_window).sentence()

    async def fit(self, request: ModelRequest, *, overflow: bool) -> AsyncIterator[Event | Fitted]:
        """See `loop.ports.Fitter.fit`."""
        messages = request.messages
        window = request.model.context_window
        wanted, self._wanted = self._wanted, None
        frame = tokens_of_frame(request.system, request.tools)
        strange = foreign(messages, request, self._provider())
        if not window and not overflow and wanted is None and not strange:
            return
        window = window or max(4_000, (frame + self._meter.total(messages)) // 2)
        room = window - reserve_of(window) - frame
        if strange:
            async for item in self._retold(request, (frame, room)):
                if isinstance(item, Fitted):
                    messages = item.messages
                    request = msgspec.structs.replace(request, messages=messages)
                yield item
        before = measured(messages, frame, self._meter.total(messages))
        if not overflow and wanted is None and (before <= room + frame or self._failures >= MOST_FAILURES):
            return
        reason = "overflow" if overflow else "manual" if wanted is not None else "threshold"
        if reason == "threshold":
            yield ContextPressure(before, window, window - before)
        found = self._plan(messages, room, before, forced=overflow or wanted is not None)
        if found is None:
            self._failures += 1
            if self._failures == 1:
                yield ErrorReported(
                    _too_full(frame, before, window, messages[-1] if messages else None), "context"
                )
            return
        trigger: Literal["manual", "auto"] = "manual" if reason == "manual" else "auto"
        if self.watch is not None and (why := await self.watch.before_compaction(trigger, wanted or "")):
            yield ErrorReported(f"the conversation is not shortened, a hook forbids it: {why}", "context")
            return
        yield CompactionStarted(reason, before)
        async for item in self._shorten(request, found, (frame, room), before, reason, wanted or ""):
            yield item

    def _plan(self, messages: Sequence[Message], room: int, before: int, *, forced: bool) -> Plan | None:
        if room < 500 or open_calls(messages):
            return None
        estimated = sum(map(tokens_of, messages)) or 1
        scale = max(1.0, before / (estimated + 1)) if not forced else 1.0
        return plan(messages, int(room / min(scale, 2.0)), tokens_of, force=forced)

    async def _shorten(
        self, request: ModelRequest, found: Plan, size: tuple[int, int], before: int, reason: str, wanted: str
    ) -> AsyncIterator[Event | Fitted]:
        frame, room = size
        estimated_before = frame + sum(map(tokens_of, request.messages))
        first = found.kept[0].id if found.summarise else ""
        native: Native | None = None
        bill = _Bill()
        if found.summarise and not wanted and self._seals and seals(request):
            native, failure = await self._sealed(request, found, bill)
            if failure:
                yield ErrorReported(f"the provider's own compaction {failure}; a summary is made", "context")
        summary = ""
        if found.summarise:
            summary, failure = await self._told(request, found.summarise, first, room, wanted, bill, native)
            if failure:
                yield ErrorReported(f"no summary could be made ({failure}); facts are kept", "context")
        made = shortened(request.messages, summary, first, found.pruned, native)
        after = frame + sum(map(tokens_of, made or ()))
        if made is None or after >= estimated_before:
            self._failures += 1
            yield CompactionCompleted(reason, "no_gain", before, before, bill.usage, bill.cost)
            return
        self._failures = self._failures + 1 if after > estimated_before * 0.9 else 0
        await self._commit(
            CompactionRecord(summary, first, found.pruned, reason, before, after, native=native)
        )
        self._meter = Meter()
        if self.watch is not None:
            await self.watch.after_compaction("manual" if reason == "manual" else "auto", summary)
        yield CompactionCompleted(reason, "completed", before, after, bill.usage, bill.cost)
        yield Fitted(tuple(made), bill.usage, bill.cost)

    async def _sealed(self, request: ModelRequest, found: Plan, bill: _Bill) -> tuple[Native | None, str]:
        """The provider's own compaction, where it helps; otherwise why not."""
        sealed = await sealed_by(found.summarise, request, self._provider())
        await self._pay("compaction", sealed.usage, request, bill)
        if sealed.native is None:
            self._seals = False  # it would cost a request each time
            return None, f"failed ({sealed.failure})"
        stands = Notice("", "summary", sealed.native)
        if tokens_of(stands) >= sum(map(tokens_of, found.summarise)):
            return None, "is not shorter than the conversation"
        return sealed.native, ""

    async def _told(
        self,
        request: ModelRequest,
        older: Sequence[Message],
        first: str,
        room: int,
        wanted: str,
        bill: _Bill,
        native: Native | None = None,
    ) -> tuple[str, str]:
        """The text that stands for `older`, and why it holds no account; with `native` none is wanted."""
        account = Account("")
        if native is None:
            account = await account_of(older, request.model, self._provider(), wanted)
            await self._pay("summary", account.usage, request, bill)
        whole = self._history()
        return summary_text(account.text, whole.messages, first, room, whole.earlier), account.failure

    async def _pay(self, by: str, usage: Usage | None, request: ModelRequest, bill: _Bill) -> None:
        if usage is None:
            return
        cost = cost_of(usage, request.model.price)
        bill.add(usage, cost)
        await self._commit(spent_beside(by, usage, cost))

    async def _retold(self, request: ModelRequest, size: tuple[int, int]) -> AsyncIterator[Event | Fitted]:
        """Put a summary of our own in the place of a compaction that this provider cannot read."""
        frame, room = size
        first = request.messages[1].id if len(request.messages) > 1 else ""
        if not first:
            return
        before = frame + sum(map(tokens_of, request.messages))
        yield CompactionStarted("provider", before)
        bill = _Bill()
        summary, failure = await self._told(request, await self._older(first), first, room, "", bill)
        if failure:
            yield ErrorReported(f"no summary could be made ({failure}); facts are kept", "context")
        made = shortened(request.messages, summary, first, ())
        assert made is not None, "its first message is there"
        after = frame + sum(map(tokens_of, made))
        await self._commit(CompactionRecord(summary, first, (), "provider", before, after))
        self._meter = Meter()
        yield CompactionCompleted("provider", "completed", before, after, bill.usage, bill.cost)
        yield Fitted(tuple(made), bill.usage, bill.cost)


class _Bill:
    """What one compaction cost, however many requests it took."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.cost: float | None = 0.0

    def add(self, usage: Usage, cost: float | None) -> None:
        self.usage = usage if self.usage is None else self.usage.plus(usage)
        self.cost = None if cost is None or self.cost is None else self.cost + cost


def _too_full(frame: int, before: int, window: int, last: Message | None) -> str:
    alone = tokens_of(last) if last is not None else 0
    if alone > window // 2:
        return (
            f"the last message alone takes about {alone:,} of {window:,} tokens and cannot be made smaller. "
            "Put it into a file and name that, or use a larger model."
        )
    return (
        f"the conversation takes about {before:,} of {window:,} tokens and cannot be made smaller: "
        f"instructions and tools alone take {frame:,}. Start a new session, or use a larger model."
    )
