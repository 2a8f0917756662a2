"""Chapter 8: a conversation that grows, a window that does not, and what is given up to fit.

Owns the arithmetic of a request's size, the choice of what goes, and the two attempts at recovery.  Nothing
is deleted: chapter 7's journal keeps every record, and only the fold of them gets shorter.  Not promised: a
summary is written by a model, which can leave out the one thing that mattered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from .core import Message, ToolSpec
from .journal import DurableConversation, Entry, Journal, decode_message, fold, path_to

CHARACTERS_PER_TOKEN = 4
ROW_TOKENS = 4
KEPT_SHARE = 4
"""The newest rows may keep a quarter of the room when older ones have to go."""
SUMMARISE = "Summarise the conversation so far for yourself: the goal, what was decided, what is left to do."
SUMMARY_MARK = "[summary of earlier turns]"


# region: arithmetic
def count_row(row: Message) -> int:
    """Estimate the tokens of one row: its text, its calls, and what wrapping it costs."""
    characters = len(row.content)
    for call in row.tool_calls:
        characters += len(call.name) + sum(len(name) + len(value) for name, value in call.arguments.items())
    return ROW_TOKENS + math.ceil(characters / CHARACTERS_PER_TOKEN)


def count_tools(tools: Sequence[ToolSpec]) -> int:
    """Estimate the catalog, which is sent again with every request."""
    return sum(
        ROW_TOKENS + math.ceil((len(spec.name) + len(spec.description) + sum(map(len, spec.parameters))) / 4)
        for spec in tools
    )


@dataclass
class Meter:
    """An estimate that learns.  Characters are not tokens; how far off that is shows in each real answer."""

    factor: float = 1.0

    def measure(self, rows: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Tokens that this request is expected to take, as far as is known."""
        return math.ceil(self.factor * (sum(map(count_row, rows)) + count_tools(tools)))

    def learn(self, rows: Sequence[Message], tools: Sequence[ToolSpec], used: int) -> None:
        """Correct the estimate by what the provider says it counted."""
        self.factor = used / (sum(map(count_row, rows)) + count_tools(tools))


def by_source(rows: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, int]:
    """Where the tokens are.  The first thing to ask when a request does not fit."""
    sources = {"tools": count_tools(tools)}
    for row in rows:
        kind = "summary" if row.content.startswith(SUMMARY_MARK) else row.role
        sources[kind] = sources.get(kind, 0) + count_row(row)
    return sources


# endregion: arithmetic


# region: provider with a window
class WindowExceeded(Exception):
    """The provider refused the request because of its size.  It did nothing, and it was not paid."""


class MeteredProvider(Protocol):
    """A provider that says how many tokens its last request took."""

    used: int

    async def complete(self, history: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """As in chapter 1; raises WindowExceeded when the request is too large."""


# endregion: provider with a window


# region: cut
def choose_cut(entries: Sequence[Entry], front: int, keep: int) -> int:
    """Return the index where what is kept begins: as far up as `keep` tokens allow.

    A cut may stand before a user or an assistant row and never before a result, which would then answer a
    call that nobody sees.  The last exchange always stays, however large, since it is what is being answered.
    """
    allowed = [number for number in range(front, len(entries)) if entries[number][1].role != "tool"]
    for number in allowed:
        if sum(count_row(row) for _, row in entries[number:]) <= keep:
            return number
    return allowed[-1] if allowed else len(entries)


def touched_files(journal: Journal) -> str:
    """The files that were read and changed, by the calls that succeeded, since the conversation began.

    The journal knows this exactly, however often rows were replaced, so it is not left to the summary.
    """
    path = path_to(journal.records, journal.leaf)
    rows = [decode_message(record.body) for record in path if record.kind == "message"]
    failed = {row.tool_call_id for row in rows if row.role == "tool" and row.content.startswith("error:")}
    lines = []
    for name in ("read", "edit"):
        calls = [
            call for row in rows for call in row.tool_calls if call.name == name and call.id not in failed
        ]
        if calls:
            lines.append(f"files {name}: {', '.join(sorted({call.arguments['path'] for call in calls}))}")
    return "\n".join(lines)


# endregion: cut


# region: fitting
class CannotFit(Exception):
    """Nothing more can be given up.  Says what takes the space."""


class FittingProvider:
    """Stands between the loop and the provider and makes every request fit, in three steps.

    Old output goes first, because it can be had again.  Then a summary takes the place of old turns.  When
    the provider still refuses, the estimate was wrong: once more, with half the room, and then no further.
    """

    def __init__(
        self,
        provider: MeteredProvider,
        conversation: DurableConversation,
        window: int,
        *,
        reserve: int,
        front: int = 1,
        report: Callable[[str], None] = print,
    ) -> None:
        """Args: window and reserve in tokens; front is the number of rows at the top that always stay."""
        self._provider = provider
        self._conversation = conversation
        self._limit = window - reserve
        self._front = front
        self._report = report
        self.meter = Meter()
        self.largest = 0

    async def complete(self, history: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """Make room if needed and ask.  The rows come from the conversation, which may have got shorter."""
        await self._fit(tools, self._limit)
        try:
            return await self._ask(tools)
        except WindowExceeded as refused:
            self._report(f"overflow: the provider refused ({refused})")
        await self._fit(tools, self._limit // 2, again=True)
        try:
            return await self._ask(tools)
        except WindowExceeded as refused:
            raise CannotFit(self._explain(tools)) from refused

    async def _ask(self, tools: Sequence[ToolSpec]) -> Message:
        rows = tuple(self._conversation.rows)
        answer = await self._provider.complete(rows, tools)
        self.meter.learn(rows, tools, self._provider.used)
        self.largest = max(self.largest, self._provider.used)
        return answer

    async def _fit(self, tools: Sequence[ToolSpec], limit: int, *, again: bool = False) -> None:
        before = self._measure(tools)
        if before <= limit and not again:
            return
        entries = self._entries()
        cut = choose_cut(entries, self._front, limit // KEPT_SHARE)
        if cut > self._front:
            last = entries[cut - 1][0]
            self._shorten("pruning", {"last": last})
            if self._measure(tools) > limit // 2:
                await self._compact(self._entries()[:cut], last)
        after = self._measure(tools)
        self._report(f"made room: {before} -> {after} tokens of {limit} (estimated)")
        if after > limit and not again:
            raise CannotFit(self._explain(tools))

    async def _compact(self, old: Sequence[Entry], last: int) -> None:
        """Let a summary stand for old rows, unless it would take more room than they do."""
        rows = [row for _, row in old]
        try:
            summary = (await self._provider.complete((*rows, Message("user", SUMMARISE)), ())).content
        except WindowExceeded:
            summary = "(no summary could be made: these turns were too long for one request)"
        text = f"{SUMMARY_MARK}\n{summary}\n{touched_files(self._conversation.journal)}"
        if count_row(Message("user", text)) < sum(count_row(row) for row in rows[self._front :]):
            self._shorten("compaction", {"front": self._front, "last": last, "summary": text})

    def _entries(self) -> list[Entry]:
        return fold(self._conversation.journal.records, self._conversation.journal.leaf)

    def _measure(self, tools: Sequence[ToolSpec]) -> int:
        return self.meter.measure(self._conversation.rows, tools)

    def _shorten(self, kind: str, body: dict[str, object]) -> None:
        """Record the decision, then take the rows from the same fold that a resumed run would use."""
        self._conversation.journal.append(kind, body)
        self._conversation.rows[:] = [row for _, row in self._entries()]

    def _explain(self, tools: Sequence[ToolSpec]) -> str:
        sources = sorted(by_source(self._conversation.rows, tools).items(), key=lambda item: -item[1])
        return "the request does not fit: " + ", ".join(f"{name} {size}" for name, size in sources)


# endregion: fitting
