"""Chapter 10: faults, one at a time, at every moment where they can happen.

Owns the ways of breaking a run and the run that is broken.  A fault is not random here: it is aimed at the
first opportunity, then at the second, until the run gets past it, so that no moment is left out.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .checkpoint_02 import PROMPT
from .core import Message, Provider, ToolCall, ToolSpec
from .journal import DurableConversation, Journal, Record, encode_record
from .person import Control
from .scripted import RuleProvider
from .steering import Conversation, Execute, converse, stoppable_tools
from .workbench import PROJECT, TOOLS

JOURNAL = "journal.jsonl"


def quiet(line: str) -> None:
    """Say nothing."""


def run(conversation: Conversation, provider: Provider, tools: Execute) -> str:
    """One run of chapter 6's loop."""
    return asyncio.run(converse(conversation, provider, TOOLS, tools, Control(), report=quiet))


def reset(root: Path, files: Mapping[str, str] = PROJECT) -> None:
    """Put the project back as it was, without a past."""
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    (root / JOURNAL).unlink(missing_ok=True)


# region: faults
class Fault(Exception):
    """What we broke on purpose.  Not a ToolFailure: the loop must not mistake it for an observation."""


@dataclass
class FaultyProvider:
    """Fails one request and serves the others."""

    provider: Provider
    at: int
    asked: int = 0

    async def complete(self, history: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """As in chapter 1, but for one time."""
        self.asked += 1
        if self.asked == self.at:
            raise Fault(f"request {self.at}")
        return await self.provider.complete(history, tools)


def faulty_tools(execute: Execute, at: int, *, after: bool) -> Execute:
    """A host bug in one call, before its effect or after it."""
    count = 0

    async def run(call: ToolCall) -> str:
        nonlocal count
        count += 1
        if count == at and not after:
            raise Fault(f"before call {at}")
        observation = await execute(call)
        if count == at:
            raise Fault(f"after call {at}")
        return observation

    return run


class FullDisk(Journal):
    """A disk that takes half of one line and then no more."""

    full_at = 0

    def append(self, kind: str, body: Mapping[str, Any]) -> Record:
        """Write half a record when its number comes up."""
        number = (self.records[-1].id if self.records else 0) + 1
        if number == self.full_at:
            line = encode_record(Record(number, self.leaf, kind, body))
            os.write(self._file, line[: len(line) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().append(kind, body)


FAULTS = ("request fails", "bug before effect", "bug after effect", "disk full")


def broken_run(root: Path, fault: str, at: int) -> int | None:
    """Run with one fault; return how many records were acknowledged, or None when it never came to it."""
    journal = FullDisk(root / JOURNAL)
    journal.full_at = at if fault == "disk full" else 0
    tools = stoppable_tools(root, quiet)
    if fault.startswith("bug"):
        tools = faulty_tools(tools, at, after=fault == "bug after effect")
    provider = FaultyProvider(RuleProvider("a"), at if fault == "request fails" else 0)
    try:
        conversation = DurableConversation(journal)
        conversation.add(Message("user", PROMPT))
        run(conversation, provider, tools)
    except (Fault, OSError):
        return len(journal.records)
    finally:
        journal.close()
    return None


# endregion: faults
