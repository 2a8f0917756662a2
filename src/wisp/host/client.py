"""What a front end holds: a way to send commands and to watch events, in process or across a pipe."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from wisp.host.commands import AnyCommand
from wisp.host.events import Envelope
from wisp.host.snapshot import Snapshot


class CommandRefused(Exception):
    """The host understood the command and cannot do it now; the message says why."""


class HostClient(Protocol):
    """One front end's connection to a host."""

    async def send(self, command: AnyCommand) -> None:
        """Have `command` done; returns when it was taken, not when what it started has ended.

        Raises:
            CommandRefused: it cannot be done now.
        """
        ...

    def snapshot(self) -> Snapshot:
        """The state at this moment; events seen afterwards come after it."""
        ...

    def events(self) -> AsyncIterator[Envelope]:
        """Every event from now on; ends when the host closes.  Each call is a subscription of its own."""
        ...

    async def close(self) -> None:
        """Stop what runs, settle it, and let everything go."""
        ...
