"""A provider over HTTP: one dialect, one endpoint, and the patience to try again.

Streams the events of `providers.events`, checked by the grammar.  Knows no wire format and opens no
connection itself: dialect and transport are given.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from wisp.messages.content import AssistantBlock, Text, Thinking
from wisp.messages.ids import Clock
from wisp.messages.message import Native, UserMessage
from wisp.providers.address import Url, parse_url
from wisp.providers.assemble import Assembler
from wisp.providers.base import ModelRequest
from wisp.providers.caching import CacheWatch
from wisp.providers.document import document_of
from wisp.providers.endpoint import Endpoint
from wisp.providers.errors import ProviderError, RequestError, WireError
from wisp.providers.events import (
    CacheBroken,
    Failed,
    Finished,
    ProviderEvent,
    Repaired,
    Retrying,
    Started,
    Withdrawn,
)
from wisp.providers.grammar import StreamGrammar
from wisp.providers.retry import RetryPolicy, wait_before_retry
from wisp.providers.sse import SseReader
from wisp.providers.toolnames import ToolNames
from wisp.providers.transport import Headers, Response, Transport
from wisp.providers.window import room_left
from wisp.providers.wire import Decoder, Dialect, Target, WireRequest

MAX_ERROR_BODY = 64 * 1024
GRACE = 5.0
"""Seconds an answer that is over may still add to itself (its usage) before we go on."""
USER_AGENT = "wisp"


class HttpProvider:
    """One configured model service.

    Args:
        endpoint: where it is.
        dialect: the module of `providers.registry` that speaks its language.
        transport: what carries the bytes; shared by providers and closed by whoever made it.
        clock: time for retry hints, ids for calls that came without one.
        sleep: waits between attempts.
        jitter: a source of numbers in [0, 1).
    """

    def __init__(
        self,
        endpoint: Endpoint,
        dialect: Dialect,
        transport: Transport,
        clock: Clock,
        *,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._dialect = dialect
        self._transport = transport
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter or self._own_jitter
        self._url = parse_url(endpoint.base_url)
        self._builder = dialect.builder(endpoint.name, store=endpoint.store)
        self._cache = CacheWatch()
        self._policy = RetryPolicy(max_retries=endpoint.max_retries, deadline=endpoint.dead_after)
        key = endpoint.key.reveal() if endpoint.key else ""
        self._secrets = tuple(text for text in (key, *(value for _, value in endpoint.headers)) if text)
        self._headers = self._fixed_headers(key)

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self._endpoint.name

    @property
    def api(self) -> str:
        """The dialect it speaks."""
        return self._endpoint.api

    @property
    def url(self) -> Url:
        """Where it is, without credentials when shown."""
        return self._url

    def warm(self) -> None:
        """Read certificates while the prompt is put together; no network."""
        self._transport.warm(self._url)

    async def aclose(self) -> None:
        """Close idle connections; of a shared transport too."""
        await self._transport.aclose()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """Ask the model; see `providers.base.Provider.stream`."""
        wire = self._builder.build(request)
        if request.compact and wire.document is None:
            yield Failed("request", f"{self.name} ({self.api}) has no compaction of its own")
            return
        began = self._clock.monotonic()
        answered = lowered = False
        attempt = 0
        grammar = StreamGrammar()
        names = ToolNames(wire.names, [tool.name for tool in request.tools])
        for told in self._beforehand(request, wire):
            grammar.feed(told)
            yield told
        while True:
            attempt += 1
            run = _Attempt(self, request, wire)
            try:
                try:
                    await run.open(self._time_left(began, answered))
                    while not run.done:
                        for event in await run.more():
                            event = names.mended(event)
                            if isinstance(event, Finished):
                                event = run.noted(event)
                            grammar.feed(event)
                            run.assembler.feed(event)
                            yield event
                finally:
                    await run.close()
                return
            except ProviderError as exc:
                error = exc
            answered = answered or run.answered
            reason = self._redacted(error.message)
            delay = self._wait(error, attempt, began, answered)
            room = 0 if lowered else room_left(error)
            if room:  # the prompt fits and only the output figure was too high: ask for what is left
                lowered, delay = True, 0.0
                wire = self._builder.build(msgspec.structs.replace(request, max_output=room))
            if wire.cursor and not grammar.begun and _cursor_refused(error):
                delay, wire = 0.0, self._builder.build(request, whole=True)
                reason = f"the stored response cannot be continued; sending the whole conversation ({reason})"
            if delay is None:
                partial = run.assembler.partial(reason, run.native()) if grammar.begun else None
                yield Failed(error.kind, reason, error.status, partial, error.retryable)
                return
            again = Retrying(attempt + 1, self._policy.max_retries + 1, delay, reason, error.status)
            for event in (Withdrawn(reason), again) if grammar.begun else (again,):
                grammar.feed(event)
                yield event
            await self._sleep(delay)

    def _beforehand(self, request: ModelRequest, wire: WireRequest) -> list[ProviderEvent]:
        """What is to be told of a request before it is made."""
        found: list[ProviderEvent] = []
        if wire.notes:
            found.append(Repaired(tuple(dict.fromkeys(wire.notes))))
        reasons = () if request.compact else self._cache.breaks(request, rewritten=wire.rewritten)
        if reasons:
            found.append(CacheBroken(reasons))
        return found

    def _wait(self, error: ProviderError, attempt: int, began: float, answered: bool) -> float | None:
        """Seconds before the next attempt, or None; the deadline is for endpoints that never answered."""
        policy = msgspec.structs.replace(self._policy, deadline=None) if answered else self._policy
        elapsed = self._clock.monotonic() - began
        return wait_before_retry(policy, attempt=attempt, error=error, elapsed=elapsed, jitter=self._jitter)

    def _time_left(self, began: float, answered: bool) -> float | None:
        if self._policy.deadline is None or answered:
            return None
        return max(self._policy.deadline - (self._clock.monotonic() - began), 0.05)

    def _fixed_headers(self, key: str) -> Headers:
        named = {
            "host": self._url.authority,
            "user-agent": USER_AGENT,
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            "content-type": "application/json",
        }
        named.update(self._dialect.auth_headers(key))
        if self._url.userinfo and "authorization" not in named:
            import base64

            named["authorization"] = "Basic " + base64.b64encode(self._url.userinfo.encode()).decode()
        for name, value in self._endpoint.headers:
            named[name.strip().lower()] = value.strip()
        return [(name, value) for name, value in named.items() if value]

    def _redacted(self, text: str) -> str:
        from wisp.providers.faults import redact  # only a run with errors pays for it

        return redact(text, self._secrets)

    def _own_jitter(self) -> float:
        """A number in [0, 1) from the end of a fresh id, which is random."""
        return int.from_bytes(self._clock.new_id()[-4:].encode(), "big") % 997 / 997

    def _call_id(self) -> str:
        return "call_" + self._clock.new_id()


def _cursor_refused(error: ProviderError) -> bool:
    """Whether a service no longer has, or will not use, the stored response it was to continue."""
    if not isinstance(error, RequestError) or error.status not in (400, 404):
        return False
    text = error.message.lower()
    return "previous_response" in text or "previous response" in text or "not found" in text


def _says(block: AssistantBlock) -> bool:
    """Whether a block is something to read or to do; thoughts alone are neither."""
    return not isinstance(block, Text | Thinking) or (isinstance(block, Text) and bool(block.text.strip()))


class _Attempt:
    """One request and what came of it."""

    def __init__(self, provider: HttpProvider, request: ModelRequest, wire: WireRequest) -> None:
        self._provider = provider
        self._wire = wire
        asked = bool(request.messages) and isinstance(request.messages[-1], UserMessage)
        self._awaited = asked and not request.compact
        self.target = Target(provider.api, provider.name, request.model.id)
        self._decoder: Decoder = provider._dialect.decoder(self.target, provider._call_id)
        self._sse = SseReader()
        self._response: Response | None = None
        self._events = 0
        self._broken: ProviderError | None = None
        self.assembler = Assembler()
        self.answered = False
        self.done = self._whole_answer = False

    async def open(self, left: float | None) -> None:
        """Send the request; returns once the answer is known to be a stream.

        Raises:
            ProviderError: no answer, or an answer that says why not.
        """
        provider = self._provider
        timeouts = provider._endpoint.timeouts
        if left is not None:
            timeouts = msgspec.structs.replace(
                timeouts, connect=min(timeouts.connect, left), first_byte=min(timeouts.first_byte, left)
            )
        target = provider._url.joined(self._wire.path)
        headers = [*provider._headers, ("content-length", str(len(self._wire.body)))]
        headers += self._wire.headers
        transport = provider._transport
        response = await transport.send(provider._url, target, headers, self._wire.body, timeouts)
        self._response = response
        self.answered = True
        kind = response.headers.get("content-type", "")
        if response.status == 200 and self._wire.document is not None:
            return
        if response.status == 200 and "html" not in kind and not kind.startswith("application/json"):
            return
        from wisp.providers.faults import error_of_page, error_of_response

        body = await self._whole(response)
        if response.status != 200:
            raise error_of_response(
                response.status,
                response.headers,
                body,
                now=provider._clock.now(),
                secrets=provider._secrets,
            )
        raise error_of_page(kind, body, provider._secrets)

    def noted(self, event: Finished) -> Finished:
        """`event` with the digest of the bytes that were sent for it.

        Raises:
            WireError: the user said something and the answer says nothing, which no answer does on purpose.
        """
        message = event.message
        if self._awaited and message.stop == "stop" and not any(map(_says, message.content)):
            raise WireError("the model gave an empty answer")
        if message.native is None:
            return event
        native = msgspec.structs.replace(message.native, request=self._digest())
        return Finished(msgspec.structs.replace(message, native=native))

    def native(self) -> Native:
        """The record of who was answering, with the digest of what was sent."""
        return msgspec.structs.replace(self.target.native(), request=self._digest())

    def _digest(self) -> str:
        import hashlib  # 1 ms, paid while the answer is being made

        return hashlib.sha256(self._wire.body).hexdigest()

    async def more(self) -> list[ProviderEvent]:
        """The events of the next bytes.

        Raises:
            ProviderError: the stream failed; what came before the failure was given out first.
        """
        if self._broken is not None:
            raise self._broken
        response = self._response
        decoder = self._decoder
        assert response is not None
        if self._wire.document is not None:
            message = self._wire.document(await document_of(response))
            self.done = self._whole_answer = True
            return [Started(), Finished(message)]
        try:
            chunk = await response.read()
        except ProviderError:
            if not decoder.complete:
                raise
            chunk = b""  # the answer was whole; how its connection ended does not matter
        if not chunk:
            return self._last()
        found: list[ProviderEvent] = []
        for name, data in self._sse.feed(chunk):
            self._events += 1
            try:
                found += decoder.feed(name, data)
            except ProviderError as exc:
                if not found:
                    raise
                self._broken = exc
                return found
            if decoder.finished:
                self.done = True
                return found
        if found or decoder.complete:
            response.progressed(GRACE if decoder.complete else None)
        return found

    def _last(self) -> list[ProviderEvent]:
        """The events of an orderly end.

        Raises:
            ProviderError: the answer was not complete.
        """
        decoder = self._decoder
        found: list[ProviderEvent] = []
        for name, data in self._sse.flush():
            self._events += 1
            try:
                found += decoder.feed(name, data)
            except WireError:
                pass  # a line that was cut: whether the answer was complete without it is asked next
        if not self._events:
            raise WireError("the answer holds no events")
        self.done = True
        if not decoder.finished:
            found += decoder.end()
        return found

    async def close(self) -> None:
        """Keep the connection after a whole answer; close it at once after anything else."""
        response, self._response = self._response, None
        if response is None:
            return
        if self.done and (self._decoder.finished or self._whole_answer):
            await response.finish()
        else:
            response.abort()

    async def _whole(self, response: Response) -> bytes:
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(10.0):
                while size < MAX_ERROR_BODY:
                    piece = await response.read()
                    if not piece:
                        await response.finish()
                        break
                    pieces.append(piece)
                    size += len(piece)
        except (ProviderError, TimeoutError):
            pass  # the status alone says enough
        return b"".join(pieces)[:MAX_ERROR_BODY]
