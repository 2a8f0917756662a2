"""What the client needs from outside: something that carries messages, a process, somebody who answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from wisp.mcp.wire import Fault, Id, Message
from wisp.workspace.process import Ending
from wisp.workspace.stop import StopToken


class Lost(Exception):
    """The connection to a server is gone or was given up; the message says why."""


class Expired(Lost):
    """The server forgot the session before it looked at the request, which can be made again in another."""


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

    def refused(self, id_: Id, fault: Fault) -> None:
        """What carries messages answered the request with this id, instead of the server."""
        ...

    def lost(self, why: str, *, untouched: bool = False) -> None:
        """Nothing will come any more; `untouched` says that what waits was not looked at."""
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

    async def send(self, message: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        """Hand a message over for sending; `headers` go with it where there are any.

        Raises:
            Lost: it cannot be sent.
        """
        ...

    def drop(self, id_: Id) -> None:
        """Nobody waits for the answer with this id any more."""
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


class WebResponse(Protocol):
    """An answer whose body is read as it comes."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""

    async def read(self) -> bytes:
        """The next bytes of the body; empty at its end.  Raises `Lost`."""
        ...

    async def finish(self) -> None:
        """Nothing more is wanted."""
        ...

    def abort(self) -> None:
        """Close the connection now."""
        ...


class Web(Protocol):
    """Sends requests to one server; follows no redirect."""

    async def request(
        self, method: str, address: str, headers: Mapping[str, str], body: bytes = b""
    ) -> WebResponse:
        """One request; waits for the head of the answer.  Raises `Lost` when there is none."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class Authorizer(Protocol):
    """Knows how requests to one server are authorised."""

    async def header(self) -> str:
        """The value of `Authorization`; empty for none."""
        ...

    async def challenged(self, status: int, challenge: str) -> bool:
        """A request was refused with 401 or 403 and this `WWW-Authenticate`; whether to send it again.

        Raises:
            Lost: it is not, and the message says what to do.
        """
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
