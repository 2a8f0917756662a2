"""What the client needs from outside: something that carries messages, a process, somebody who answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from wisp.mcp.wire import Id, Message
from wisp.workspace.process import Ending
from wisp.workspace.stop import StopToken


class Lost(Exception):
    """The connection to a server is gone or was given up; the message says why."""


class Receiver(Protocol):
    """Where a link hands on what comes; all but `expects` on the event loop."""

    def expects(self, id_: Id) -> bool:
        """Whether an answer with this id is waited for; called from any thread."""
        ...

    def receive(self, message: Message) -> None:
        """A message came."""
        ...

    def spoiled(self, id_: Id, why: str) -> None:
        """The answer with this id came and cannot be used."""
        ...

    def lost(self, why: str) -> None:
        """Nothing will come any more."""
        ...


class Link(Protocol):
    """One connection to one server; opened once, closed once."""

    modern_first: bool
    """Whether the newest era of the protocol is tried before `initialize`."""
    version: str
    """The protocol version that was agreed on; empty until then."""

    def open(self, receiver: Receiver) -> None:
        """Begin; returns at once."""
        ...

    async def send(self, message: Mapping[str, Any]) -> None:
        """Hand a message over for sending.

        Raises:
            Lost: it cannot be sent.
        """
        ...

    async def close(self) -> None:
        """End it, and with it what it started; returns when that is done."""
        ...

    @property
    def said(self) -> str:
        """The end of what the server wrote to its log; for people."""
        ...


class Start(Protocol):
    """Runs a server's program to its end; blocking, called in a thread of its own.

    Each function is given pieces of one output; one that returns False ends the program.
    """

    def __call__(
        self,
        stop: StopToken,
        output: Callable[[bytes], object],
        errors: Callable[[bytes], object],
        stdin: int,
    ) -> Ending:
        """Raises `Refused` when it cannot be started."""
        ...


class NotOffered(Exception):
    """The server asks for something that is not done here; the message says what."""


class Answerer(Protocol):
    """Answers what a server asks: for roots, for a model, for a person."""

    @property
    def capabilities(self) -> dict[str, Any]:
        """What servers are told can be asked for."""
        ...

    async def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result.

        Raises:
            NotOffered: this is not answered here.
        """
        ...
