"""A conversation whose session, model and settings can change under it: what a person's front end talks to.

Owns the current host and its exchange.  Front ends keep one subscription across all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from wisp.harness.channel import Fanout
from wisp.host import queries as ask
from wisp.host.answering import answer
from wisp.host.client import CommandRefused, OpenFailed, OpenRequest
from wisp.host.commands import (
    AnyCommand,
    CloneSession,
    Configure,
    ForkSession,
    NewSession,
    SelectSession,
    Trust,
)
from wisp.host.events import Envelope, TrustRequested, TrustResolved
from wisp.host.past import PastMessages
from wisp.host.service import SessionHost
from wisp.host.slash import Reply, SlashCommand
from wisp.host.slashing import Slashes
from wisp.host.small import HostLibrary
from wisp.host.snapshot import Snapshot
from wisp.host.surroundings import HostSurroundings

Opener = Callable[[OpenRequest], Awaitable[SessionHost]]


class Conversation:
    """Implements `ConversationClient`.

    Args:
        request: how the first host was asked for.
        host: that host.
        opener: builds another; raises `OpenFailed`.
    """

    def __init__(self, request: OpenRequest, host: SessionHost, opener: Opener) -> None:
        self._request = request
        self._opener = opener
        self._subscribers = Fanout[Envelope]()
        self._pump: asyncio.Future[None] | None = None
        self._asking: asyncio.Future[None] | None = None
        self.host = host
        """What stands behind it now."""
        self._slashes = Slashes(self)
        self._past = PastMessages(lambda: self.host)
        self.around = HostSurroundings(request, lambda: self.host, self._past)
        self._adopt(host)

    # -- the connection -----------------------------------------------------------------------------------

    def _adopt(self, host: SessionHost) -> None:
        self.host = host
        self._pump = asyncio.ensure_future(self._forward(host.events()))

    async def _forward(self, events: AsyncGenerator[Envelope, None]) -> None:
        async with aclosing(events):
            async for envelope in events:
                self._subscribers.put(envelope)

    async def send(self, command: AnyCommand) -> None:
        """See `HostClient.send`; what exchanges the conversation is done here, between runs."""
        try:
            await self._do(command)
        except OpenFailed as exc:
            raise CommandRefused(str(exc)) from None

    async def _do(self, command: AnyCommand) -> None:
        if isinstance(command, NewSession):
            await self.reopen("", resume="", session_id="")
        elif isinstance(command, SelectSession):
            await self.reopen("", resume=command.id)
        elif isinstance(command, CloneSession):
            await self.forked("")
        elif isinstance(command, ForkSession):
            await self.forked(command.entry)
        elif isinstance(command, Trust):
            await self.decide(command)
        elif isinstance(command, Configure):
            await self._configure(command)
        else:
            await self.host.send(command)

    async def decide(self, command: Trust) -> str:
        """Keep what a person decided about the folder and go on with that; what it means, in words."""
        folder = self.snapshot().cwd
        said = self.library.trust(command.action, folder)
        await self.reopen("")
        self.host.tell(TrustResolved(folder, command.action, (await self.around.trust()).trusted))
        return said

    async def _configure(self, command: Configure) -> None:
        options = {"provider": command.provider, "model": command.model, "effort": command.effort}
        named = {name: value or None for name, value in options.items() if value is not None}
        if "model" in named and "provider" not in named:
            named["provider"] = None
        if named:
            await self.reopen("", named)
        await self.host.send(command)
        if command.permission_mode is not None:
            self._keep_mode(command.permission_mode)

    def _keep_mode(self, mode: str) -> None:
        """Whatever this host is exchanged for later is to judge in the same way."""
        kept = {**self._request.options, "permission_mode": mode}
        if self._request.yes:  # which stands for a mode, and for a box that must work
            kept["sandbox"] = "required"
        self._request = msgspec.structs.replace(self._request, options=kept, yes=False)

    async def query(self, query: ask.Query) -> Any:
        """See `ConversationClient.query`."""
        try:
            if isinstance(query, ask.Slash):
                return await self.slash(query.line)
            if isinstance(query, ask.GetCommands):
                return tuple(self.commands())
            if isinstance(query, ask.FileChanges):
                return await self.put_back(redo=False, do_it=False)
            if isinstance(query, ask.UndoFiles):
                return await self.put_back(redo=False, do_it=True, chat=query.chat, one_turn=query.one_turn)
            if isinstance(query, ask.RedoFiles):
                return await self.put_back(redo=True, do_it=True, one_turn=query.one_turn)
            return await answer(query, self.host, self.library, self._past)
        except OpenFailed as exc:
            raise CommandRefused(str(exc)) from None
        except LookupError as exc:
            raise CommandRefused(str(exc.args[0] if exc.args else exc)) from None
        except OSError as exc:
            raise CommandRefused(f"{exc.filename or 'the session'}: {exc.strerror or exc}") from None

    def snapshot(self) -> Snapshot:
        """See `HostClient.snapshot`."""
        return self.host.snapshot()

    def events(self) -> AsyncGenerator[Envelope, None]:
        """See `HostClient.events`; goes on when the host behind it is exchanged."""
        stream = self._subscribers.subscribe()
        if self._asking is None and self._request.interactive and not self._request.no_project:
            self._asking = asyncio.ensure_future(self._ask_for_trust())
        return stream

    async def _ask_for_trust(self) -> None:
        """Say once, to the first who listens, what of the folder is not read before somebody decides."""
        card = await self.around.trust()
        if card.state == "undecided" and not card.trusted and card.found:
            self.host.tell(TrustRequested(card.folder, card.found))

    async def close(self) -> None:
        """See `HostClient.close`."""
        if self._asking is not None:
            self._asking.cancel()
        await self._shut("prompt_input_exit" if self._request.converses else "other")
        self._past.close()
        self._subscribers.close()

    async def _shut(self, why: str) -> None:
        if self.host.hooking is not None:
            self.host.hooking.leaving = why
        await self.host.close()
        if self._pump is not None:
            await asyncio.wait([self._pump])

    async def reopen(self, text: str, options: dict[str, Any] | None = None, **changes: Any) -> Reply:
        """Exchange the host for one that is asked for otherwise; back to the old one where that fails."""
        if self.host.running:
            raise CommandRefused("a run is in progress; cancel it first")
        now = self.snapshot()
        if not now.session_path and now.messages:
            raise CommandRefused("this conversation is kept nowhere and could not go on after that")
        here = {"continue_": False, "fork": "", "attach": (), "session_id": "", "resume": now.session_id}
        if not now.messages:  # nothing is kept yet; what is to come has the id that was told
            here |= {"resume": "", "session_id": now.session_id}
        merged = {**self._request.options, **(options or {})}
        merged = {name: value for name, value in merged.items() if value is not None}
        new = changes.keys() >= {"session_id"}
        goes_on = not changes
        here["opened"] = "again"
        opened = {"opened": "again" if goes_on else "clear" if new else "start"}
        wanted = msgspec.structs.replace(self._request, **{**here, "options": merged, **opened, **changes})
        await self._shut("" if goes_on else "clear" if new else "resume")
        try:
            host = await self._opener(wanted)
        except OpenFailed as exc:
            self._adopt(await self._opener(msgspec.structs.replace(self._request, **here)))
            raise CommandRefused(str(exc)) from None
        self._request = wanted
        self._adopt(host)
        return Reply(text or self.where())

    def where(self) -> str:
        now = self.snapshot()
        return f"{now.provider}/{now.model}, {now.permission_mode} mode, {now.messages} messages"

    # -- what exchanges it -------------------------------------------------------------------------------

    @property
    def options(self) -> Mapping[str, Any]:
        """Settings as they were asked for, by their names in the settings file."""
        return self._request.options

    @property
    def library(self) -> HostLibrary:
        return HostLibrary(self._request)

    async def forked(self, entry: str) -> Reply:
        now = self.snapshot()
        if not now.session_path or not now.messages:
            raise CommandRefused("there is nothing kept to copy yet")
        at = f"@{entry}" if entry else ""
        return await self.reopen("a copy; the other conversation stays", resume="", fork=now.session_id + at)

    async def put_back(
        self, *, redo: bool, do_it: bool, chat: bool = False, one_turn: bool = False
    ) -> ask.FilesMoved:
        """Undo or redo with the session closed meanwhile, as the command of the same name does."""
        now = self.snapshot()
        if not now.session_path:
            raise CommandRefused("this conversation is not kept, so nothing can be put back")
        done: list[ask.FilesMoved] = []
        failures: list[OpenFailed] = []

        def work() -> ask.FilesMoved:
            made = self.library.undo(redo=redo, one_turn=one_turn, prefix=now.session_id)
            try:
                changes = made.apply(chat=chat) if do_it else made.preview()
            finally:
                made.close()
            return ask.FilesMoved(tuple(changes), do_it)

        async def between(request: OpenRequest) -> SessionHost:
            try:
                done.append(await asyncio.to_thread(work))
            except OpenFailed as exc:
                failures.append(exc)
            return await opener(request)

        opener, self._opener = self._opener, between
        try:
            await self.reopen("")
        finally:
            self._opener = opener
        if not done:
            raise CommandRefused(str(failures[0]))
        return done[0]

    # -- slash commands -----------------------------------------------------------------------------------

    def commands(self) -> list[SlashCommand]:
        """See `ConversationClient.commands`."""
        return self._slashes.commands()

    async def slash(self, line: str) -> Reply:
        """See `ConversationClient.slash`."""
        return await self._slashes.slash(line)
