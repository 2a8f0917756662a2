"""Commands that a person runs themselves beside the conversation, through the gate that calls go through.

Owns the one that runs, and what the model is still to be told of; knows nothing of how it is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from wisp.harness.toolbox import Toolbox
from wisp.host.client import CommandRefused
from wisp.host.commands import Shell
from wisp.host.events import ShellEnded, ShellStarted
from wisp.loop.events import Event
from wisp.messages.codec import ascii_json
from wisp.messages.content import Text, ToolCall, UserBlock
from wisp.messages.ids import Clock

Tell = Callable[[Event], None]
MOST = 20
"""Commands that wait to be told to the model; the oldest are dropped beyond."""


class ShellLines:
    """What a person runs with `!`.

    Args:
        toolbox: the conversation's; a command that policy denies does not run.
        tell: takes what happens.
    """

    def __init__(self, toolbox: Callable[[], Toolbox], clock: Clock, tell: Tell) -> None:
        self._toolbox = toolbox
        self._clock = clock
        self._tell = tell
        self._task: asyncio.Task[None] | None = None
        self._untold: list[str] = []

    @property
    def running(self) -> asyncio.Task[None] | None:
        """The command that runs."""
        return self._task

    def start(self, command: Shell) -> None:
        """Run it beside the conversation; told by `shell.started` and `shell.ended`.

        Raises:
            CommandRefused: there is no command, or another one runs.
        """
        if not command.command.strip():
            raise CommandRefused("there is no command after the !")
        if self._task is not None:
            raise CommandRefused("a command is running; stop it first")
        self._task = asyncio.ensure_future(self._run(command))

    def stop(self) -> None:
        """Stop the command that runs, if one does."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self, command: Shell) -> None:
        call = bash(command.command, self._clock)
        began = self._clock.monotonic()
        self._tell(ShellStarted(call.id, command.command, command.told))
        text, failed = "stopped before it began", True
        try:
            ready = await self._toolbox().prepare_written(call, self._tell)
            outcome = ready.failure or await ready.run(self._tell)
            text, failed = outcome.text, outcome.is_error
        except asyncio.CancelledError:
            pass  # it was stopped while it was judged; what runs tells of its own stop
        finally:
            self._task = None
        if command.told:
            self._untold = [*self._untold, _told(command.command, text)][-MOST:]
        took = round(1000 * (self._clock.monotonic() - began))
        self._tell(ShellEnded(call.id, command.command, text, failed, took, command.told))

    def untold(self) -> tuple[UserBlock, ...]:
        """What the model is to be told with the next message, once."""
        blocks = tuple(Text(text) for text in self._untold)
        self._untold.clear()
        return blocks


def bash(command: str, clock: Clock) -> ToolCall:
    """A call of the shell tool."""
    return ToolCall(clock.new_id(), "bash", ascii_json({"command": command}).decode())


def _told(command: str, output: str) -> str:
    return f"\n\n<user_shell>\n$ {command}\n{output}\n</user_shell>"
