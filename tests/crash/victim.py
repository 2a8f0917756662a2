"""A whole run in a process of its own that kills itself at one chosen record: run by `test_kill_repair.py`.

    python victim.py PROJECT SESSION_FILE N before|after

Everything is real (provider, tools, policy, session file); only the storage is wrapped, through the same
seam a program would use, to send this process SIGKILL before or after the N-th append.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from wisp.host.build import Overrides, open_host
from wisp.host.client import OpenRequest
from wisp.host.commands import Prompt
from wisp.host.events import AgentCompleted
from wisp.session.fold import Fold
from wisp.session.journal import FileJournal
from wisp.session.records import Record
from wisp.session.state import State
from wisp.session.storage import Loaded


class KillingStorage:
    """A journal that dies at one append."""

    def __init__(self, inner: FileJournal, number: int, when: str) -> None:
        self._inner = inner
        self._left = number
        self._when = when

    @property
    def where(self) -> str:
        return self._inner.where

    def load(self) -> Loaded:
        return self._inner.load()

    def append(self, records: Sequence[Record], *, sync: bool) -> None:
        self._left -= 1
        if self._left == 0 and self._when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        self._inner.append(records, sync=sync)
        if self._left == 0 and self._when == "after":
            os.kill(os.getpid(), signal.SIGKILL)

    def folded(self) -> Fold:
        return self._inner.folded()

    def remember(self, state: State) -> None:
        self._inner.remember(state)

    def close(self) -> None:
        self._inner.close()


async def main(project: str, path: str, number: int, when: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    storage = KillingStorage(FileJournal(path), number, when)
    request = OpenRequest(options={"permission_mode": "full"}, cwd=project)
    host = await open_host(request, Overrides(storage=storage))
    events = host.events()
    await host.send(Prompt("the tests fail, find and fix the bug"))
    async for envelope in events:
        if isinstance(envelope.event, AgentCompleted):
            break
    await host.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]))
    print("finished")
