"""Files that go along with a prompt: read as the `read` tool reads, with its limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from wisp.host.client import CommandRefused
from wisp.host.commands import Prompt
from wisp.messages.content import Text, UserBlock
from wisp.messages.tool import ToolFailure
from wisp.policy.decide import Policy, decide
from wisp.tools.base import Prepared, RunContext, Tool
from wisp.workspace.stop import StopToken

MOST = 50
"""Files of one prompt."""


class Attacher:
    """Reads the files of a prompt.

    Args:
        reader: the `read` tool of the conversation, so that what was attached counts as read.
        policy: of this moment.
    """

    def __init__(self, reader: Tool, policy: Callable[[], Policy]) -> None:
        self._reader = reader
        self._policy = policy

    async def blocks(self, prompt: Prompt) -> tuple[UserBlock, ...]:
        """What is to follow the prompt's words.

        A file that was asked for must be there.  One that is only mentioned goes along where it may be read
        unasked; `@name` may mean something else.

        Raises:
            CommandRefused: a file that was asked for cannot be read; says why.
        """
        if len(prompt.attach) > MOST:
            raise CommandRefused(f"at most {MOST} files can go along with one prompt")
        found: list[UserBlock] = []
        for path in prompt.attach:
            try:
                found += await self._read(path, await asyncio.to_thread(self._prepared, path))
            except ToolFailure as failure:
                raise CommandRefused(f"{path} cannot be attached: {failure.message}") from None
        for path in prompt.mentioned[:MOST]:
            if path in prompt.attach:
                continue
            try:
                prepared = await asyncio.to_thread(self._prepared, path)
                if decide(prepared.tool, prepared.effects, self._policy()).verdict == "allow":
                    found += await self._read(path, prepared)
            except ToolFailure:
                continue
        return tuple(found)

    def _prepared(self, path: str) -> Prepared:
        return self._reader.prepare({"path": path})

    async def _read(self, path: str, prepared: Prepared) -> list[UserBlock]:
        def work() -> tuple[UserBlock, ...]:
            outcome = prepared.run(RunContext(StopToken(), lambda text: None))
            assert not asyncio.iscoroutine(outcome)
            return outcome.content  # type: ignore[union-attr]

        content = await asyncio.to_thread(work)
        head = Text(f'\n\n<file path="{path}">\n')
        return [head, *content, Text("\n</file>")]
