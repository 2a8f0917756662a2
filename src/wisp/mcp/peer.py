"""Requests and their answers over one link: ids, time limits, cancelling, progress, and being asked.

Knows the rules of JSON-RPC and nothing of tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from wisp.mcp.ports import Answerer, Expired, Link, Lost, NotOffered
from wisp.mcp.wire import (
    METHOD_NOT_FOUND,
    Answer,
    Fault,
    Id,
    Message,
    Request,
    answer,
    notification,
    refusal,
    request,
)

MOST_ASKED = 16
"""Questions of a server that are answered at the same time."""


class Refusal(Exception):
    """The server answered with an error."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault.message} ({fault.code})")
        self.fault = fault


class Slow(Exception):
    """No answer came in time."""


Progress = Callable[[float, float | None, str], None]
"""Takes how far a request is, of how much (None where nobody knows), and words."""


class Peer:
    """One side of a conversation with a server; implements `ports.Receiver`.

    Args:
        answerer: answers what the server asks.
        told: takes notifications by name.
        on_lost: called once when the connection is gone.
    """

    def __init__(
        self,
        link: Link,
        answerer: Answerer,
        told: Callable[[str, dict[str, Any]], None],
        on_lost: Callable[[str], None],
    ) -> None:
        self._link, self._answerer, self._told, self._on_lost = link, answerer, told, on_lost
        self._waiting: dict[Id, asyncio.Future[dict[str, Any]]] = {}
        self._progress: dict[Id, Progress] = {}
        self._asked: set[asyncio.Task[None]] = set()
        self._last = 0
        self.gone = ""
        """Why nothing can be sent any more; empty while it can."""
        self._loss: type[Lost] = Lost

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        limit: float,
        progress: Progress | None = None,
        *,
        cancellable: bool = True,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send a request and wait for its result.

        Args:
            limit: seconds to wait.
            cancellable: tell the server when nobody waits any more.

        Raises:
            Refusal: the server answered with an error.
            Slow: it did not answer within `limit`.
            Lost: the connection is gone.
        """
        if self.gone:
            raise self._loss(self.gone)
        self._last += 1
        id_ = self._last
        if progress is not None:
            self._progress[id_] = progress
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": id_}}
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = waiting
        try:
            async with asyncio.timeout(limit):
                await self._link.send(request(id_, method, params), headers)
                return await waiting
        except TimeoutError:
            if cancellable:
                await self._cancel(id_, "it took too long")
            raise Slow(f"no answer to {method} within {limit:g} s") from None
        except asyncio.CancelledError:
            if cancellable:
                await self._cancel(id_, "the user interrupted")
            raise
        finally:
            self._progress.pop(id_, None)
            self._link.drop(id_)
            self._waiting.pop(id_, None)
            if waiting.done() and not waiting.cancelled():
                waiting.exception()  # else it would be reported as never looked at

    async def tell(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification.

        Raises:
            Lost: the connection is gone.
        """
        await self._link.send(notification(method, params))

    async def _cancel(self, id_: Id, why: str) -> None:
        """Tell the server that nobody waits; must not take long, and may fail."""
        with suppress(Lost, TimeoutError):
            async with asyncio.timeout(0.2):
                await self._link.send(
                    notification("notifications/cancelled", {"requestId": id_, "reason": why})
                )

    # -- what comes ---------------------------------------------------------------------------------------

    def expects(self, id_: Id) -> bool:
        """See `ports.Receiver`."""
        return id_ in self._waiting

    def receive(self, message: Message) -> None:
        """See `ports.Receiver`."""
        if isinstance(message, Answer):
            waiting = self._waiting.pop(message.id, None)
            if waiting is None or waiting.done():
                return
            if message.fault is not None:
                waiting.set_exception(Refusal(message.fault))
            else:
                waiting.set_result(message.result or {})
        elif isinstance(message, Request):
            self._question(message)
        elif message.method == "notifications/progress":
            self._progressed(message.params)
        else:
            self._told(message.method, message.params)

    def spoiled(self, id_: Id, why: str) -> None:
        """See `ports.Receiver`."""
        waiting = self._waiting.pop(id_, None)
        if waiting is not None and not waiting.done():
            waiting.set_exception(Refusal(Fault(0, f"its answer cannot be read: {why}")))

    def refused(self, id_: Id, fault: Fault) -> None:
        """See `ports.Receiver`."""
        waiting = self._waiting.pop(id_, None)
        if waiting is not None and not waiting.done():
            waiting.set_exception(Refusal(fault))

    def lost(self, why: str, *, untouched: bool = False) -> None:
        """See `ports.Receiver`."""
        if self.gone:
            return
        self._loss = Expired if untouched else Lost
        self.gone = why or "the connection is gone"
        waiting, self._waiting = self._waiting, {}
        for one in waiting.values():
            if not one.done():
                one.set_exception(self._loss(self.gone))
        for task in self._asked:
            task.cancel()
        self._on_lost(self.gone)

    def _progressed(self, params: Mapping[str, Any]) -> None:
        token, done, total = params.get("progressToken"), params.get("progress"), params.get("total")
        known = self._progress.get(token) if isinstance(token, int | str) else None
        if known is not None and isinstance(done, int | float):
            said = params.get("message")
            known(
                done, total if isinstance(total, int | float) else None, said if isinstance(said, str) else ""
            )

    def _question(self, asked: Request) -> None:
        if len(self._asked) < MOST_ASKED:
            task = asyncio.ensure_future(self._reply(asked))
            self._asked.add(task)
            task.add_done_callback(self._asked.discard)

    async def _reply(self, asked: Request) -> None:
        try:
            if asked.method == "ping":
                reply = answer(asked.id, {})
            else:
                reply = answer(asked.id, await self._answerer.answer(asked.method, asked.params))
        except NotOffered as exc:
            reply = refusal(asked.id, METHOD_NOT_FOUND, str(exc))
        with suppress(Lost):
            await self._link.send(reply)
