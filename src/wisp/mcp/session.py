"""One conversation with one server: which era of the protocol it speaks, its lists, its calls.

    2025-11-25 and older: `initialize`, then requests.  2026-07-28: no handshake, every request says who asks,
    and a result may ask back (`input_required`), answered by the same request again.

Knows nothing of restarts, names for models, or permissions.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from wisp.mcp.peer import Peer, Progress, Refusal
from wisp.mcp.ports import Answerer, Link, NotOffered
from wisp.mcp.wire import Fault

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MOST_PAGES = 64
MOST_ROUNDS = 8
"""How often one request may be asked back."""
UNSUPPORTED_VERSION = -32022
_META = "io.modelcontextprotocol/"


class Unusable(Exception):
    """The server cannot be worked with; the message says why."""


class Session:
    """The agreement with one running server.

    Args:
        version: of wisp, told to servers.
        told: takes notifications by name.
        on_lost: called once when the connection is gone.
    """

    def __init__(
        self,
        link: Link,
        answerer: Answerer,
        version: str,
        told: Callable[[str, dict[str, Any]], None],
        on_lost: Callable[[str], None],
    ) -> None:
        self.link = link
        self._answerer = answerer
        self._own = {"name": "wisp", "version": version}
        self.peer = Peer(link, answerer, told, on_lost)
        self.modern = False
        self.capabilities: dict[str, Any] = {}
        self.server: dict[str, Any] = {}
        self.instructions = ""

    def open(self) -> None:
        """Begin the connection; returns at once."""
        self.link.open(self.peer)

    async def begin(self, limit: float) -> None:
        """Agree on an era and a version, within `limit` seconds; after `open`.

        Raises:
            Unusable: there is no common version, or the answer makes no sense.
            Refusal, Slow, Lost: see `Peer.ask`.
        """
        first, second = (
            (self._discover, self._initialize)
            if self.link.modern_first
            else (self._initialize, self._discover)
        )
        try:
            await first(limit)
        except Refusal as one:
            try:
                await second(limit)
            except Refusal as other:
                raise (one if not self.link.modern_first else other) from None

    async def _initialize(self, limit: float) -> None:
        self.modern, self.link.version = False, ""
        params = {
            "protocolVersion": LEGACY[0],
            "capabilities": self._answerer.capabilities,
            "clientInfo": self._own,
        }
        found = await self.peer.ask("initialize", params, limit, cancellable=False)
        version = found.get("protocolVersion")
        if version not in LEGACY:
            raise Unusable(
                f"it wants protocol version {version!r}; wisp speaks {', '.join((MODERN, *LEGACY))}"
            )
        self.link.version = version
        self._learn(found, found.get("serverInfo"))
        await self.peer.tell("notifications/initialized")

    async def _discover(self, limit: float) -> None:
        self.modern, self.link.version = True, MODERN
        try:
            found = await self.ask("server/discover", {}, limit)
        except Refusal as exc:
            if not self._offers_ours(exc.fault):
                raise
            found = await self.ask("server/discover", {}, limit)
        offered = found.get("supportedVersions")
        if not isinstance(offered, list):  # some older servers answer whatever they are asked
            raise Refusal(Fault(0, "its answer to server/discover names no versions"))
        if MODERN not in offered:
            if any(version in LEGACY for version in offered):
                raise Refusal(Fault(UNSUPPORTED_VERSION, "only older versions"))
            raise Unusable(f"it speaks protocol {offered!r}; wisp speaks {', '.join((MODERN, *LEGACY))}")
        meta = found.get("_meta")
        own = meta.get(_META + "serverInfo") if isinstance(meta, dict) else None
        self._learn(found, own or found.get("serverInfo"))

    @staticmethod
    def _offers_ours(fault: Fault) -> bool:
        """Whether a server that refused a version offers exactly that one: then it is asked once more.

        Raises:
            Unusable: it offers only versions that are not spoken here.
        """
        data = fault.data if isinstance(fault.data, dict) else {}
        offered = data.get("supported")
        if fault.code != UNSUPPORTED_VERSION or not isinstance(offered, list):
            return False
        if not any(version in (MODERN, *LEGACY) for version in offered):
            raise Unusable(f"it speaks protocol {offered!r}; wisp speaks {', '.join((MODERN, *LEGACY))}")
        return MODERN in offered

    def _learn(self, found: Mapping[str, Any], info: Any) -> None:
        capabilities, words = found.get("capabilities"), found.get("instructions")
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        self.server = info if isinstance(info, dict) else {}
        self.instructions = words if isinstance(words, str) else ""

    # -- requests -----------------------------------------------------------------------------------------

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        limit: float,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """A request of the era that was agreed on, and its final result; see `Peer.ask`."""
        if not self.modern:
            return await self.peer.ask(method, params, limit, progress)
        more: dict[str, Any] = {}
        async with asyncio.timeout(limit * 2):  # each round has the whole limit; a person may have been asked
            for _ in range(MOST_ROUNDS):
                asked = {**params, **more, "_meta": self._meta(params)}
                found = await self.peer.ask(method, asked, limit, progress, headers=headers)
                if found.get("resultType", "complete") != "input_required":
                    return found
                more = await self._inputs(found)
        raise Refusal(Fault(0, f"it asked back more than {MOST_ROUNDS} times"))

    def _meta(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **params.get("_meta", {}),
            _META + "protocolVersion": MODERN,
            _META + "clientInfo": self._own,
            _META + "clientCapabilities": self._answerer.capabilities,
        }

    async def _inputs(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """What the next round says: answers to what was asked, and the state exactly as it came."""
        wanted = found.get("inputRequests")
        answers: dict[str, Any] = {}
        for name, one in wanted.items() if isinstance(wanted, dict) else ():
            method = one.get("method") if isinstance(one, dict) else None
            params = one.get("params", {}) if isinstance(one, dict) else {}
            if not isinstance(method, str) or not isinstance(params, dict):
                raise Refusal(Fault(0, "it asks back without saying what"))
            try:
                answers[name] = await self._answerer.answer(method, params)
            except NotOffered as exc:
                raise Refusal(Fault(0, f"it asks back: {exc}")) from None
        state = {"requestState": found["requestState"]} if "requestState" in found else {}
        return {**({"inputResponses": answers} if answers else {}), **state}

    async def listed(self, method: str, key: str, limit: float) -> AsyncIterator[Any]:
        """Everything of a list that comes in pages.

        Raises:
            Unusable: the pages make no sense or have no end.
        """
        cursor: Any = None
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            page = await self.ask(method, {"cursor": cursor} if cursor is not None else {}, limit)
            items = page.get(key)
            if not isinstance(items, list):
                raise Unusable(f"its answer to {method} has no list of {key}")
            for item in items:
                yield item
            cursor = page.get("nextCursor")
            if cursor is None:
                return
            if not isinstance(cursor, str) or cursor in seen:
                raise Unusable(f"the pages of {method} go round in circles")
            seen.add(cursor)
        raise Unusable(f"{method} has more than {MOST_PAGES} pages")
