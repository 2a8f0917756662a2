"""One configured server over its life: started, listed, called, lost, started once more, ended.

Owns the session with it and what is known of its tools.  Knows nothing of models or of what a tool is to the
rest of wisp.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from wisp.mcp.definition import Definition, definitions, words
from wisp.mcp.headers import mirrored
from wisp.mcp.peer import Progress, Refusal, Slow
from wisp.mcp.ports import Answerer, Expired, Link, Lost
from wisp.mcp.prompts import Prompt, prompts
from wisp.mcp.session import Session, Unusable
from wisp.messages.tool import ToolFailure

MOST_INSTRUCTIONS = 2_000
"""Characters of what a server says of its use."""
Status = Literal["configured", "known", "started", "used", "failed"]
"""Named in settings; its tools were seen and it does not run; it runs; a call of it succeeded; it cannot be
used."""

_CHANGED = ("notifications/tools/list_changed", "notifications/prompts/list_changed")
RELIST = 0.5
"""Seconds between two looks at a list that keeps changing."""


class Plan(NamedTuple):
    """How one server is reached and what is wanted of it."""

    name: str
    """As the settings have it."""
    connect: Callable[[], Link]
    """Makes a link that is not open yet."""
    origin: str = ""
    """Where it is configured."""
    start_limit: float = 30.0
    """Seconds until its tools must be known."""
    call_limit: float = 300.0
    """Seconds that one call may take."""
    wanted: Callable[[str], bool] = lambda tool: True
    """Which of its tools are offered."""
    problem: str = ""
    """Why it is not started at all."""
    pinned: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda now: {}
    """Keeps the digests of its tools, by name; what was kept before."""
    answerer: Answerer | None = None
    """Answers what it asks, instead of the one that answers all."""


class State(NamedTuple):
    """A server as it is told to people and programs."""

    name: str
    status: Status
    origin: str
    tools: tuple[str, ...] = ()
    """Their own names, those that are offered."""
    error: str = ""
    protocol: str = ""
    version: str = ""


class Server:
    """One server; made for one event loop.

    Args:
        version: of wisp.
        changed: called when its tools may be others than before, or it failed.
    """

    def __init__(self, plan: Plan, answerer: Answerer, version: str, changed: Callable[[], None]) -> None:
        self.plan = plan
        self._answerer, self._version, self._changed = plan.answerer or answerer, version, changed
        self.tools: list[Definition] = []
        self.listed: list[str] = []
        """The names of all its tools, also of those that are not wanted."""
        self.prompts: list[Prompt] = []
        self.has_resources = False
        self.notes: list[str] = []
        self.error = plan.problem
        self._pins: dict[str, str] = {}
        self._used = self._closed = False
        self._restarts = 1
        self._session: Session | None = None
        self._starting: asyncio.Task[None] | None = None
        self._relisting: asyncio.Task[None] | None = None
        self._again = False
        self._ends: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> bool:
        """Whether it can be called at this moment."""
        return self._session is not None and not self._session.peer.gone

    @property
    def status(self) -> Status:
        """See `Status`."""
        if self.running and not self.starting:
            return "used" if self._used else "started"
        if self.tools:
            return "known"
        return "failed" if self.error else "configured"

    @property
    def capabilities(self) -> dict[str, Any]:
        """What it says it can do; empty while it does not run."""
        return self._session.capabilities if self._session is not None and self.running else {}

    @property
    def instructions(self) -> str:
        """What it says of its use; empty for nothing, and before it runs."""
        return words(self._session.instructions, MOST_INSTRUCTIONS) if self._session is not None else ""

    @property
    def starting(self) -> bool:
        """Whether it is not known yet what becomes of it."""
        return self._starting is not None and not self._starting.done()

    @property
    def state(self) -> State:
        """All of that as values."""
        session = self._session
        info = session.server if session is not None else {}
        return State(
            self.plan.name,
            self.status,
            self.plan.origin,
            tuple(tool.name for tool in self.tools),
            self.error,
            session.link.version if session is not None else "",
            words(f"{info.get('name', '')} {info.get('version', '')}", 100),
        )

    # -- starting and ending ------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start it; at once, so that nothing waits for a turn of the event loop."""
        if self.plan.problem or self.starting or self._closed:
            return
        try:
            session = Session(
                self.plan.connect(),
                self._answerer,
                self._version,
                self._told,
                lambda why: self._lost(session),
            )
        except Lost as exc:
            self.error = str(exc)
            return
        self._session, self.error = session, ""
        session.open()
        self._starting = asyncio.ensure_future(self._start(session))

    async def ready(self) -> None:
        """Until it is known what becomes of it; at most its own limit."""
        if self._starting is not None:
            await asyncio.wait([self._starting])

    async def _start(self, session: Session) -> None:
        limit = self.plan.start_limit
        try:
            async with asyncio.timeout(limit):
                await session.begin(limit)
                await self._list(session)
        except (TimeoutError, Slow):
            self.error = f"it was not ready within {limit:g} s"
        except (Refusal, Lost, Unusable) as exc:
            self.error = words(str(exc), 500)
        if self.error:
            said = words(session.link.said, 4_096).rpartition("\n")[2][:300]
            self.error += f"; it said: {said}" if said else ""
            self._let_go(session)
        self._changed()

    def _let_go(self, session: Session) -> None:
        """End what is behind a session, beside everything else."""
        session.peer.lost(self.error or "it was ended")
        task = asyncio.ensure_future(session.link.close())
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)

    def _lost(self, session: Session) -> None:
        if session is not self._session or self._closed:
            return
        if not self.starting:
            self.error = words(session.peer.gone, 500)
            self._let_go(session)
            self._changed()

    async def close(self) -> None:
        """End it and everything it started."""
        self._closed = True
        for task in (self._starting, self._relisting):
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait([task])
        if self._session is not None:
            self._session.peer.lost("wisp is closing")
            await self._session.link.close()
        if self._ends:
            await asyncio.wait(self._ends)

    # -- its tools ----------------------------------------------------------------------------------------

    async def _list(self, session: Session) -> None:
        notes: list[str] = []
        tools, offered = await asyncio.gather(
            self._all(session, "tools", 4_096), self._all(session, "prompts", 1_024)
        )
        known = definitions(tools, notes)
        self.prompts = prompts(offered, notes)
        self.has_resources = "resources" in session.capabilities
        self.listed = [tool.name for tool in known]
        self.tools = [tool for tool in known if self.plan.wanted(tool.name)]
        if not self._pins:
            notes[:0] = self._changes({tool.name: tool.digest for tool in known})
        self.notes = notes
        for tool in known:
            self._pins.setdefault(tool.name, tool.digest)

    def _changes(self, now: Mapping[str, str]) -> list[str]:
        """A note where tools are described otherwise than in earlier runs."""
        before = self.plan.pinned(now) if now else {}
        changed = [name for name in now if before.get(name, now[name]) != now[name]]
        told = ", ".join(changed[:10]) + (" and more" if len(changed) > 10 else "")
        return [f"described otherwise than in earlier runs: {told}"] if changed else []

    async def _all(self, session: Session, key: str, most: int) -> list[Any]:
        """Everything of one of its lists; nothing where it says that it has no such list."""
        found: list[Any] = []
        if key in session.capabilities:
            async for item in session.listed(f"{key}/list", key, self.plan.start_limit):
                found.append(item)
                if len(found) > most:
                    raise Unusable(f"its list of {key} has no end")
        return found

    async def listed_of(self, method: str, key: str, most: int) -> list[Any]:
        """The first of another of its lists, for a person or a model.

        Raises:
            ToolFailure: there is none, and why.
        """
        asked: dict[str, Any] = {}
        found: list[Any] = []
        while len(found) < most:
            page = await self.ask(method, asked)
            items, following = page.get(key), page.get("nextCursor")
            found += items if isinstance(items, list) else []
            if not items or not isinstance(following, str):
                break
            asked = {"cursor": following}
        return found[:most]

    def _told(self, method: str, params: Mapping[str, Any]) -> None:
        if method in _CHANGED and not self.starting and self.running:
            self._again = True
            if self._relisting is None or self._relisting.done():
                self._relisting = asyncio.ensure_future(self._relist())

    async def _relist(self) -> None:
        while self._again and self._session is not None:
            self._again = False
            with suppress(Refusal, Slow, Lost, Unusable):  # what was known goes on counting
                await self._list(self._session)
                self._changed()
            await asyncio.sleep(RELIST)

    def altered(self, tool: Definition) -> bool:
        """Whether the server describes `tool` otherwise than when it was first seen, or last agreed to."""
        return self._pins.get(tool.name, tool.digest) != tool.digest

    def agree(self, tool: Definition) -> None:
        """A person saw this description and let the tool be called."""
        self._pins[tool.name] = tool.digest

    # -- calls --------------------------------------------------------------------------------------------

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: Progress | None = None
    ) -> dict[str, Any]:
        """The result of `tools/call`; a server that was lost is started once more for it.

        Raises:
            ToolFailure: there is none, and why.
        """
        marked = next((known.marks for known in self.tools if known.name == tool), {})
        params = {"name": tool, "arguments": dict(arguments)}
        return await self.ask("tools/call", params, progress, mirrored(marked, arguments))

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The result of one request of a person or a model.

        Raises:
            ToolFailure: there is none, and why.
        """
        name = self.plan.name
        session = await self._live()
        try:
            try:
                found = await session.ask(method, params, self.plan.call_limit, progress, headers)
            except Expired:
                session = await self._live()
                found = await session.ask(method, params, self.plan.call_limit, progress, headers)
        except (Slow, TimeoutError):
            why = f"the MCP server {name!r} did not answer within {self.plan.call_limit:g} s"
            raise ToolFailure("timeout", f"{why}; do less at once, or go on without it") from None
        except Refusal as exc:
            raise ToolFailure("server_error", f"the MCP server {name!r} says: {words(str(exc))}") from None
        except Lost as exc:
            raise ToolFailure(
                "server_lost",
                f"the MCP server {name!r} is gone: {self._obituary(session, exc)}; "
                "whether the call did anything is not known. The next call starts it again",
            ) from None
        self._used, self._restarts = True, 1
        return found

    @staticmethod
    def _obituary(session: Session, exc: Lost) -> str:
        said = words(session.link.said, 500)
        return words(str(exc), 500) + (f"; it said: {said}" if said else "")

    async def _live(self) -> Session:
        await self.ready()
        if not self.running and self._restarts:
            self._restarts -= 1
            self.begin()
            await self.ready()
        if self._session is None or not self.running:
            why = self.error or "it is not running"
            raise ToolFailure("server_lost", f"the MCP server {self.plan.name!r} cannot be used: {why}")
        return self._session
