"""A conversation whose session, model and settings can change under it: what a person's front end talks to.

Owns the current host and the slash commands.  Front ends keep one subscription across all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import msgspec

from wisp.harness.channel import Fanout
from wisp.host import slash
from wisp.host.client import CommandRefused, OpenFailed, OpenRequest
from wisp.host.commands import (
    AnyCommand,
    Cancel,
    Compact,
    Configure,
    FollowUp,
    Name,
    Navigate,
    Prompt,
    QueueClear,
    QueueEdit,
    QueuePop,
    QueueSetMode,
    UndoNavigation,
)
from wisp.host.events import Envelope
from wisp.host.figures import context_table
from wisp.host.reports import cost_text, history_text, servers_text, tree_text
from wisp.host.service import SessionHost
from wisp.host.slash import Reply, SlashCommand
from wisp.host.small import HostLibrary
from wisp.host.snapshot import Snapshot

Opener = Callable[[OpenRequest], Awaitable[SessionHost]]


class Conversation:
    """Implements `HostClient`, and with it `commands` and `slash`.

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
        self._host = host
        self._adopt(host)

    # -- the connection -----------------------------------------------------------------------------------

    def _adopt(self, host: SessionHost) -> None:
        self._host = host
        self._pump = asyncio.ensure_future(self._forward(host.events()))

    async def _forward(self, events: AsyncGenerator[Envelope, None]) -> None:
        async with aclosing(events):
            async for envelope in events:
                self._subscribers.put(envelope)

    async def send(self, command: AnyCommand) -> None:
        """See `HostClient.send`."""
        await self._host.send(command)

    def snapshot(self) -> Snapshot:
        """See `HostClient.snapshot`."""
        return self._host.snapshot()

    def events(self) -> AsyncGenerator[Envelope, None]:
        """See `HostClient.events`; goes on when the host behind it is exchanged."""
        return self._subscribers.subscribe()

    async def close(self) -> None:
        """See `HostClient.close`."""
        await self._shut()
        self._subscribers.close()

    async def _shut(self) -> None:
        await self._host.close()
        if self._pump is not None:
            await asyncio.wait([self._pump])

    async def _reopen(self, text: str, options: dict[str, Any] | None = None, **changes: Any) -> Reply:
        """Exchange the host for one that is asked for otherwise; back to the old one where that fails."""
        now = self.snapshot()
        if not now.session_path and now.messages:
            raise CommandRefused("this conversation is kept nowhere and could not go on after that")
        here = {"continue_": False, "fork": "", "resume": now.session_id if now.messages else ""}
        merged = {**self._request.options, **(options or {})}
        merged = {name: value for name, value in merged.items() if value is not None}
        wanted = msgspec.structs.replace(self._request, **{**here, "options": merged, **changes})
        await self._shut()
        try:
            host = await self._opener(wanted)
        except OpenFailed as exc:
            self._adopt(await self._opener(msgspec.structs.replace(self._request, **here)))
            raise CommandRefused(str(exc)) from None
        self._request = wanted
        self._adopt(host)
        return Reply(text or self._where())

    def _where(self) -> str:
        now = self.snapshot()
        return f"{now.provider}/{now.model}, {now.permission_mode} mode, {now.messages} messages"

    # -- slash commands -----------------------------------------------------------------------------------

    def commands(self) -> list[SlashCommand]:
        """Everything that `/` starts here: the built-in ones, then one for each skill and command."""
        more = [
            SlashCommand(skill.name, skill.description, skill.hint, "any", (), skill.kind)
            for skill in self._host.skills.all()
            if skill.by_person and slash.find(skill.name) is None
        ]
        return [*slash.COMMANDS, *more]

    async def slash(self, line: str) -> Reply:
        """Do what a line that begins with `/` says.

        Raises:
            CommandRefused: there is no such command, or it cannot be done now; says which.
        """
        name, rest = slash.split(line)
        command = slash.find(name)
        if command is None:
            if self._host.skills.find(name) is None:
                raise CommandRefused(f"there is no command /{name}; /help lists them")
            await self.send(Prompt(line))
            return Reply(started=True)
        if command.when == "idle" and self._host.running:
            raise CommandRefused(f"/{command.name} cannot be used while a run is in progress; /stop ends it")
        handler: Callable[[str], Awaitable[Reply]] = getattr(self, f"_do_{command.name}")
        try:
            return await handler(rest)
        except OpenFailed as exc:
            raise CommandRefused(str(exc)) from None
        except LookupError as exc:
            raise CommandRefused(str(exc.args[0] if exc.args else exc)) from None
        except OSError as exc:
            raise CommandRefused(f"{exc.filename or command.name}: {exc.strerror or exc}") from None

    @property
    def _library(self) -> HostLibrary:
        return HostLibrary(self._request)

    async def _do_help(self, rest: str) -> Reply:
        rows = []
        for command in self.commands():
            usage = f"/{command.name} {command.arguments}".rstrip()
            rows.append(
                f"{usage:30} {command.help}" if len(usage) <= 30 else f"{usage}\n{'':30} {command.help}"
            )
        return Reply("\n".join([*rows, "Anything else is a message to the model."]))

    async def _do_later(self, rest: str) -> Reply:
        if not rest:
            raise CommandRefused("/later needs the words to be said")
        await self.send(FollowUp(rest) if self._host.running else Prompt(rest))
        return Reply("it will be said when the run would stop" if self._host.running else "", started=True)

    async def _do_queue(self, rest: str) -> Reply:
        verb, _, more = rest.partition(" ")
        waiting = self._host.queue
        everything = (*waiting.steering, *waiting.follow_up)
        if verb in ("edit", "drop"):
            number, _, text = more.strip().partition(" ")
            if not number.isdecimal() or not 0 < int(number) <= len(everything):
                raise CommandRefused(f"/queue {verb} needs a number from 1 to {len(everything)}")
            chosen = everything[int(number) - 1].id
            if verb == "edit" and not text.strip():
                raise CommandRefused("/queue edit needs the new words")
            await self.send(QueueEdit(chosen, text.strip()) if verb == "edit" else QueuePop(chosen))
        elif verb == "clear":
            await self.send(QueueClear())
        elif verb in ("one", "all"):
            for queue in ("steering", "follow_up"):
                await self.send(QueueSetMode(queue, "all" if verb == "all" else "one_at_a_time"))
        elif verb:
            raise CommandRefused("use /queue, /queue edit N TEXT, drop N, clear, one or all")
        waiting = self._host.queue
        rows = [f"{n}. next: {m.text}" for n, m in enumerate(waiting.steering, 1)]
        rows += [f"{n}. later: {m.text}" for n, m in enumerate(waiting.follow_up, len(rows) + 1)]
        one = " (one at a time)" if waiting.steering_mode == "one_at_a_time" else ""
        return Reply("\n".join(rows) + one if rows else f"nothing waits{one}")

    async def _do_stop(self, rest: str) -> Reply:
        if not self._host.running:
            raise CommandRefused("no run is in progress")
        await self.send(Cancel())
        return Reply()

    async def _do_model(self, rest: str) -> Reply:
        if not rest:
            return Reply(self._where())
        return await self._reopen("", {"model": rest, "provider": None})

    async def _do_provider(self, rest: str) -> Reply:
        if not rest:
            return Reply(f"{self._where()}; known: {', '.join(self._library.providers())}")
        return await self._reopen("", {"provider": rest, "model": None})

    async def _do_effort(self, rest: str) -> Reply:
        if not rest:
            return Reply(f"effort: {self._request.options.get('effort') or 'the default'}")
        return await self._reopen(f"effort: {rest}", {"effort": None if rest == "-" else rest})

    async def _do_login(self, rest: str) -> Reply:
        return Reply(
            "Keys are never typed into a conversation: use wisp login PROVIDER elsewhere, then /reload."
        )

    async def _do_logout(self, rest: str) -> Reply:
        if not rest:
            raise CommandRefused("/logout needs a provider")
        return Reply(await asyncio.to_thread(self._library.logout, rest))

    async def _do_new(self, rest: str) -> Reply:
        return await self._reopen("a new conversation", resume="")

    async def _do_resume(self, rest: str) -> Reply:
        if rest:
            return await self._reopen("", resume=rest)
        infos = self._library.store().listed(self.snapshot().cwd)[:20]
        rows = [f"{info.id}  {info.title or '(empty)'}" for info in infos]
        return Reply("\n".join([*rows, "/resume ID goes on with one"]) if rows else "none in this folder yet")

    async def _do_name(self, rest: str) -> Reply:
        await self.send(Name(rest))
        return Reply(f"named: {rest}" if rest else "the name is taken back")

    async def _do_clone(self, rest: str) -> Reply:
        return await self._forked("")

    async def _do_fork(self, rest: str) -> Reply:
        return await self._forked(rest)

    async def _forked(self, entry: str) -> Reply:
        now = self.snapshot()
        if not now.session_path or not now.messages:
            raise CommandRefused("there is nothing kept to copy yet")
        at = f"@{entry}" if entry else ""
        return await self._reopen("a copy; the other conversation stays", resume="", fork=now.session_id + at)

    async def _do_tree(self, rest: str) -> Reply:
        words = rest.split()
        if words[:1] == ["go"] and len(words) >= 2:
            await self.send(Navigate(words[1], summarise="summary" in words[2:]))
        elif words == ["back"]:
            await self.send(UndoNavigation())
        elif words:
            raise CommandRefused("use /tree, /tree go N [summary] or /tree back")
        path = self.snapshot().session_path
        return Reply(await asyncio.to_thread(tree_text, path) if path else "this conversation is not kept")

    async def _do_undo(self, rest: str) -> Reply:
        return await self._move(rest.split(), redo=False)

    async def _do_redo(self, rest: str) -> Reply:
        return await self._move(rest.split(), redo=True)

    async def _move(self, words: list[str], *, redo: bool) -> Reply:
        """Undo or redo with the session closed meanwhile, as the command of the same name does."""
        now = self.snapshot()
        if not now.session_path:
            raise CommandRefused("this conversation is not kept, so nothing can be put back")
        said = ""

        async def work(request: OpenRequest) -> SessionHost:
            nonlocal said
            try:
                said = await asyncio.to_thread(self._moved, now.session_id, words, redo)
            except OpenFailed as exc:
                said = str(exc)
            return await opener(request)

        opener, self._opener = self._opener, work
        try:
            await self._reopen("")
        finally:
            self._opener = opener
        return Reply(said)

    def _moved(self, session_id: str, words: list[str], redo: bool) -> str:
        made = self._library.undo(redo=redo, one_turn=False, prefix=session_id)
        try:
            do_it = "yes" in words
            changes = made.apply(chat="chat" in words) if do_it else made.preview()
        finally:
            made.close()
        rows = [f"{change.what} {change.path}" for change in changes] or ["no file differs"]
        name = "redo" if redo else "undo"
        return "\n".join(rows if do_it else [*rows, f"/{name} yes does it"])

    async def _do_compact(self, rest: str) -> Reply:
        await self.send(Compact(rest))
        return Reply("the conversation will be shortened before the next request")

    async def _do_context(self, rest: str) -> Reply:
        return Reply(context_table(self._host.context()))

    async def _do_cost(self, rest: str) -> Reply:
        return Reply(cost_text(self._host))

    async def _do_plan(self, rest: str) -> Reply:
        mode = self._request.options.get("permission_mode") if rest == "off" else "plan"
        mode = None if mode == "plan" and rest == "off" else mode
        return await self._reopen("", {"permission_mode": mode})

    async def _do_permissions(self, rest: str) -> Reply:
        if rest:
            await self.send(Configure(permission_mode=rest))
        rows = [f"permission mode: {self.snapshot().permission_mode}"]
        rows += [f"{what} {rule}" for what, rule in self._library.rules()[1:]]
        return Reply("\n".join([*rows, *(f"allow {text} (this session)" for text in self._host.granted)]))

    async def _do_trust(self, rest: str) -> Reply:
        if rest not in ("", "status", "allow", "revoke", "forget"):
            raise CommandRefused("use /trust, /trust allow, /trust revoke or /trust forget")
        said = self._library.trust(rest or "status", self.snapshot().cwd)
        return await self._reopen(said) if rest not in ("", "status") else Reply(said)

    async def _do_history(self, rest: str) -> Reply:
        return Reply(history_text(self._host))

    async def _do_skills(self, rest: str) -> Reply:
        rows = [
            f"/{one.name}  {one.description or one.kind}  ({one.source})" for one in self._host.skills.all()
        ]
        return Reply("\n".join([*rows, *self._host.skills.notes]))

    async def _do_mcp(self, rest: str) -> Reply:
        return Reply(servers_text(self.snapshot()))

    async def _do_copy(self, rest: str) -> Reply:
        answer = self._host.view.run.answer
        if not answer:
            raise CommandRefused("there is no answer yet")
        return Reply(copy=answer)

    async def _do_reload(self, rest: str) -> Reply:
        return await self._reopen("")

    async def _do_quit(self, rest: str) -> Reply:
        return Reply(leave=True)
