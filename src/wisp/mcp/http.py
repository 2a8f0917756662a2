"""A server over Streamable HTTP: every message is a POST, answers come as JSON or as a stream of events.

    2025-11-25 and older: a session with an id, a stream of the server's own (GET), streams that are resumed
    2026-07-28:           neither; a broken stream loses the call

Knows nothing of sockets, of how requests are authorised, or of what messages mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin, urlsplit

from wisp.mcp.headers import standard
from wisp.mcp.intake import Intake, Log
from wisp.mcp.ports import Authorizer, Lost, Receiver, Web, WebResponse
from wisp.mcp.sse import Events
from wisp.mcp.wire import MOST_LINE, Answer, Fault, Id, Junk, TooLong, line_of, message_of, read

MOST_RESUMED = 10
"""How often one stream is gone on with."""
MOST_CHALLENGES = 3
"""How often one request is sent again because it was not authorised."""
FAREWELL = 1.0
"""Seconds for telling a server that the session is over."""
_WAIT, _LONGEST_WAIT = 1.0, 30.0
_MODERN = "2026-07-28"


class HttpLink:
    """Implements `ports.Link`.

    Args:
        address: the server's one address.
        headers: sent with every request.
        now: seconds.
    """

    modern_first = True

    def __init__(
        self,
        address: str,
        headers: Mapping[str, str],
        web: Web,
        now: Callable[[], float],
        authorizer: Authorizer | None = None,
    ) -> None:
        self._address, self._web, self._authorizer = address, web, authorizer
        self._stated = {name.lower(): value for name, value in headers.items()}
        self._now = now
        self.version = ""
        self._session = ""
        self._log = Log()
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[Id, asyncio.Task[None]] = {}
        self._closed = False

    @property
    def said(self) -> str:
        """See `ports.Link`."""
        return self._log.text

    def open(self, receiver: Receiver) -> None:
        """See `ports.Link`; nothing is sent yet."""
        self._receiver = receiver
        self._intake = Intake(receiver.expects, receiver.receive, receiver.spoiled, self._log, self._now)

    async def send(self, message: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        """See `ports.Link`."""
        if self._closed:
            raise Lost("the connection is closed")
        id_ = message.get("id") if "method" in message else None
        if id_ is None:
            await self._tell(message)
        else:
            self._asked[id_] = self._begin(self._ask(id_, message, headers or {}))

    def drop(self, id_: Id) -> None:
        """See `ports.Link`; closing the stream is how a request is cancelled in the newest revision."""
        if (task := self._asked.pop(id_, None)) is not None:
            task.cancel()

    async def close(self) -> None:
        """See `ports.Link`."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._session:
            with suppress(Lost, TimeoutError):
                async with asyncio.timeout(FAREWELL):
                    (await self._send("DELETE", {})).abort()
        await self._web.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- requests -----------------------------------------------------------------------------------------

    async def _send(self, method: str, more: Mapping[str, str], body: bytes = b"") -> WebResponse:
        """One request, authorised, and once more where the server asks for that."""
        for _ in range(MOST_CHALLENGES):
            headers = {"accept": "application/json, text/event-stream", **self._stated, **more}
            if self.version:
                headers["mcp-protocol-version"] = self.version
            if self._session:
                headers["mcp-session-id"] = self._session
            if self._authorizer is not None and (value := await self._authorizer.header()):
                headers["authorization"] = value
            response = await self._web.request(method, self._address, headers, body)
            if 300 <= response.status < 400:
                self._redirected(response)
            elif response.status not in (401, 403) or self._authorizer is None:
                return response
            else:
                challenge = response.headers.get("www-authenticate", "")
                await response.finish()
                if not await self._authorizer.challenged(response.status, challenge):
                    raise Lost(f"the server refuses with HTTP {response.status}")
        raise Lost("the server goes on refusing, whatever is shown to it")

    def _redirected(self, response: WebResponse) -> None:
        """Follow within the same origin, and nowhere else: what is sent may hold credentials."""
        response.abort()
        aim = urljoin(self._address, response.headers.get("location", ""))
        here, there = urlsplit(self._address), urlsplit(aim)
        if response.status not in (307, 308) or (here.scheme, here.netloc) != (there.scheme, there.netloc):
            raise Lost(
                f"the server sends elsewhere, to {aim[:200]}; if that is right, configure that address"
            )
        self._address = aim

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        own = {"content-type": "application/json"}
        return own | standard(message) if self.version == _MODERN else own

    async def _tell(self, message: Mapping[str, Any]) -> None:
        """A notification or an answer of ours."""
        response = await self._send("POST", self._headers(message), line_of(message))
        await response.finish()
        if message.get("method") == "notifications/initialized":
            self._begin(self._listen())

    async def _ask(self, id_: Id, message: Mapping[str, Any], more: Mapping[str, str]) -> None:
        """A request; whatever happens, its end is told to the receiver."""
        try:
            response = await self._send("POST", self._headers(message) | dict(more), line_of(message))
        except Lost as exc:
            self._receiver.lost(str(exc))
            return
        try:
            await self._answered(id_, message, response)
        except (Lost, TooLong) as exc:
            self._receiver.refused(id_, Fault(0, str(exc)))
        finally:
            response.abort()

    async def _answered(self, id_: Id, message: Mapping[str, Any], response: WebResponse) -> None:
        if response.status == 404 and self._session:
            self._session = ""
            self._receiver.lost("the server forgot the session", untouched=True)
        elif response.status != 200:
            self._receiver.refused(id_, await _fault(response))
        else:
            if message.get("method") == "initialize":
                self._session = response.headers.get("mcp-session-id", "")
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/event-stream":
                await self._stream(id_, response)
            elif kind == "application/json":
                self._take(await _whole(response))
            else:
                raise Lost(f"the server answered with {kind[:60] or 'nothing that says what it is'}")
        if self._receiver.expects(id_):
            self._receiver.refused(id_, Fault(0, "the answer of the server ended without a result"))

    # -- streams ------------------------------------------------------------------------------------------

    def _take(self, data: bytes) -> None:
        if not self._intake.take(data):
            self._receiver.lost(self._intake.trouble)

    async def _stream(self, id_: Id, response: WebResponse) -> None:
        """Events until the answer came; a stream that breaks is gone on with where the revision knows how."""
        last, wait = "", _WAIT
        for _ in range(MOST_RESUMED):
            events = await self._events(response, lambda: not self._receiver.expects(id_))
            last, wait = events.last_id or last, wait if events.retry is None else events.retry
            if not self._receiver.expects(id_) or not last or self.version == _MODERN:
                return
            await asyncio.sleep(min(wait, _LONGEST_WAIT))
            response = await self._send("GET", {"accept": "text/event-stream", "last-event-id": last})
            if response.status != 200:
                response.abort()
                return

    async def _events(self, response: WebResponse, enough: Callable[[], bool]) -> Events:
        """Take what one stream brings, until it ends or it is enough."""
        events = Events()
        try:
            while not enough() and (piece := await response.read()):
                for data in events.feed(piece):
                    self._take(data)
        except Lost:
            if not events.last_id:
                raise
        finally:
            response.abort()
        return events

    async def _listen(self) -> None:
        """The server's own stream, where it has one: what it tells and asks outside of requests."""
        last, wait = "", _WAIT
        with suppress(TooLong):
            while not self._closed:
                more = {"accept": "text/event-stream", **({"last-event-id": last} if last else {})}
                try:
                    response = await self._send("GET", more)
                    if response.status != 200:
                        response.abort()
                        return
                    events = await self._events(response, lambda: False)
                except Lost:
                    events = Events()
                last = events.last_id or last
                wait = min(wait * 2, _LONGEST_WAIT) if events.retry is None else events.retry
                await asyncio.sleep(min(max(wait, 0.01), _LONGEST_WAIT))


async def _whole(response: WebResponse) -> bytes:
    data = bytearray()
    while piece := await response.read():
        data += piece
        if len(data) > MOST_LINE:
            raise Lost(f"the server sent an answer of more than {MOST_LINE:,} bytes")
    await response.finish()
    return bytes(data)


async def _fault(response: WebResponse) -> Fault:
    """What a refusal says: the error in its body where there is one, else its status."""
    data = b""
    with suppress(Lost):
        data = await _whole(response)
    try:
        message = read(data)
        if isinstance(message, Answer) and message.fault is not None:
            return message.fault
    except Junk:
        with suppress(Junk, ValueError):
            import json

            found = json.loads(data)
            answer = message_of({**found, "id": 0}) if isinstance(found, dict) else None
            if isinstance(answer, Answer) and answer.fault is not None:
                return answer.fault
    return Fault(-response.status, f"HTTP {response.status}")
