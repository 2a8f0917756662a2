"""Chapter 7: two aids for proving what the journal promises: requests on record, and a writer that dies.

Owns nothing that a run needs.  A replay needs something to be compared with, and a crash has to happen at a
chosen record and not at any.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .core import Message, Provider, ToolSpec
from .journal import DurableConversation, Journal, Record


# region: recorded requests
class Recorded:
    """Notes what each request was, so that a replay has something to be compared with."""

    def __init__(self, provider: Provider, conversation: DurableConversation) -> None:
        self._provider = provider
        self._conversation = conversation

    async def complete(self, history: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """Write the request down as an audit record, then make it."""
        self._conversation.note("request", text=as_text(history))
        return await self._provider.complete(history, tools)


def as_text(rows: Sequence[Message]) -> str:
    """A request, byte for byte."""
    return json.dumps([asdict(row) for row in rows])


# endregion: recorded requests


# region: dying journal
class DyingJournal(Journal):
    """Ends its own process, without a goodbye, once it holds this many records."""

    def __init__(self, path: Path, dies_at: int) -> None:
        super().__init__(path)
        self._dies_at = dies_at

    def append(self, kind: str, body: Mapping[str, Any]) -> Record:
        """Write the record; if it was the last one allowed, what comes next is another process's problem."""
        record = super().append(kind, body)
        if record.id == self._dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return record


# endregion: dying journal
