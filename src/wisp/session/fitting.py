"""Keeping a conversation within the model's window: when, and what becomes of it.

Implements the loop's `Fitter`.  Decides by size, plans with `session.compact`, has the older part told in
short, and hands the session one record; history itself is never rewritten.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Literal

from wisp.context.blocks import Block
from wisp.context.estimate import Meter, measured, tokens_of, tokens_of_frame
from wisp.context.ledger import ledger
from wisp.loop.events import CompactionCompleted, CompactionStarted, ContextPressure, ErrorReported, Event
from wisp.loop.ports import Fitted
from wisp.messages.laws import open_calls
from wisp.messages.message import Message
from wisp.messages.usage import Usage, cost_of
from wisp.providers.base import ModelRequest, Provider
from wisp.session.compact import Plan, plan, shortened, summary_text
from wisp.session.ports import CompactionWatch
from wisp.session.records import AuditRecord, CompactionRecord, spent_beside
from wisp.session.state import State
from wisp.session.summarize import account_of

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
    """

    def __init__(
        self,
        provider: Callable[[], Provider],
        history: Callable[[], State],
        commit: Callable[[CompactionRecord | AuditRecord], Awaitable[None]],
    ) -> None:
        self._provider = provider
        self._history = history
        self._commit = commit
        self._meter = Meter()
        self._failures = 0
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
        if not window and not overflow and wanted is None:
            return
        window = window or max(4_000, (frame + self._meter.total(messages)) // 2)
        room = window - reserve_of(window) - frame
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
        usage: Usage | None = None
        cost: float | None = 0.0
        summary = ""
        if found.summarise:
            account = await account_of(found.summarise, request.model, self._provider(), wanted)
            usage = account.usage
            whole = self._history()
            summary = summary_text(account.text, whole.messages, found.kept[0].id, room, whole.earlier)
            if account.failure:
                yield ErrorReported(
                    f"no summary could be made ({account.failure}); facts are kept", "context"
                )
            if usage is not None:
                cost = cost_of(usage, request.model.price)
                await self._commit(spent_beside("summary", usage, cost))
        first = found.kept[0].id if found.summarise else ""
        made = shortened(request.messages, summary, first, found.pruned)
        after = frame + sum(map(tokens_of, made or ()))
        estimated_before = frame + sum(map(tokens_of, request.messages))
        if made is None or after >= estimated_before:
            self._failures += 1
            yield CompactionCompleted(reason, "no_gain", before, before, usage, cost)
            return
        self._failures = self._failures + 1 if after > estimated_before * 0.9 else 0
        await self._commit(CompactionRecord(summary, first, found.pruned, reason, before, after))
        self._meter = Meter()
        if self.watch is not None:
            await self.watch.after_compaction("manual" if reason == "manual" else "auto", summary)
        yield CompactionCompleted(reason, "completed", before, after, usage, cost)
        yield Fitted(tuple(made), usage, cost)


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
