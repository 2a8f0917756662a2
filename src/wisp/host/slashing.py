"""What each slash command does.  Which there are is in `host.slash`; front ends show list and replies."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from wisp.host import slash
from wisp.host.client import CommandRefused, OpenFailed
from wisp.host.commands import (
    Cancel,
    Compact,
    Configure,
    Detach,
    FollowUp,
    Name,
    Navigate,
    Prompt,
    QueueClear,
    QueueEdit,
    QueuePop,
    QueueSetMode,
    Trust,
    UndoNavigation,
)
from wisp.host.figures import context_table
from wisp.host.reports import cost_text, history_text, servers_text, tree_text
from wisp.host.slash import Reply, SlashCommand

if TYPE_CHECKING:
    from wisp.host.conversation import Conversation


class Slashes:
    """The slash commands of one conversation.

    Args:
        talk: what they are about; a command may exchange its host.
    """

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk

    def commands(self) -> list[SlashCommand]:
        """Everything that `/` starts here: the built-in ones, then one for each skill and command."""
        more = [
            SlashCommand(skill.name, skill.description, skill.hint, "any", (), skill.kind)
            for skill in self._talk.host.skills.all()
            if skill.by_person and slash.find(skill.name) is None
        ]
        prompts = [
            SlashCommand(name, prompt.description, prompt.hint)
            for name, prompt in self._talk.host.external.prompts().items()
        ]
        extensions = self._talk.host.extensions
        added = [
            SlashCommand(name, command.about, command.arguments, "any", (), "command")
            for name, (command, _) in (extensions.commands() if extensions is not None else {}).items()
            if slash.find(name) is None
        ]
        return [*slash.COMMANDS, *more, *added, *prompts]

    async def slash(self, line: str) -> Reply:
        """Do what a line that begins with `/` says.

        Raises:
            CommandRefused: there is no such command, or it cannot be done now; says which.
        """
        name, rest = slash.split(line)
        command = slash.find(name)
        if command is None:
            if (said := await self._of_extension(name, rest)) is not None:
                return said
            if self._talk.host.skills.find(name) is None:
                try:
                    line = await self._talk.host.external.prompt(name, rest)
                except LookupError as exc:
                    raise CommandRefused(str(exc.args[0])) from None
            await self._talk.send(Prompt(line))
            return Reply(started=True)
        if command.when == "idle" and self._talk.host.running:
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

    async def _of_extension(self, name: str, rest: str) -> Reply | None:
        """What a command of an extension came to; None where there is none of that name."""
        extensions = self._talk.host.extensions
        if extensions is None or name not in extensions.commands() or self._talk.host.skills.find(name):
            return None
        said = await extensions.command(name, rest)
        if isinstance(said, str):
            return Reply(said)
        await self._talk.send(Prompt(said.text))
        return Reply(started=True)

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
        await self._talk.send(FollowUp(rest) if self._talk.host.running else Prompt(rest))
        return Reply(
            "it will be said when the run would stop" if self._talk.host.running else "", started=True
        )

    async def _do_queue(self, rest: str) -> Reply:
        verb, _, more = rest.partition(" ")
        waiting = self._talk.host.queue
        everything = (*waiting.steering, *waiting.follow_up)
        if verb in ("edit", "drop"):
            number, _, text = more.strip().partition(" ")
            if not number.isdecimal() or not 0 < int(number) <= len(everything):
                raise CommandRefused(f"/queue {verb} needs a number from 1 to {len(everything)}")
            chosen = everything[int(number) - 1].id
            if verb == "edit" and not text.strip():
                raise CommandRefused("/queue edit needs the new words")
            await self._talk.send(QueueEdit(chosen, text.strip()) if verb == "edit" else QueuePop(chosen))
        elif verb == "clear":
            await self._talk.send(QueueClear())
        elif verb in ("one", "all"):
            for queue in ("steering", "follow_up"):
                await self._talk.send(QueueSetMode(queue, "all" if verb == "all" else "one_at_a_time"))
        elif verb:
            raise CommandRefused("use /queue, /queue edit N TEXT, drop N, clear, one or all")
        waiting = self._talk.host.queue
        rows = [f"{n}. next: {m.text}" for n, m in enumerate(waiting.steering, 1)]
        rows += [f"{n}. later: {m.text}" for n, m in enumerate(waiting.follow_up, len(rows) + 1)]
        one = " (one at a time)" if waiting.steering_mode == "one_at_a_time" else ""
        return Reply("\n".join(rows) + one if rows else f"nothing waits{one}")

    async def _do_stop(self, rest: str) -> Reply:
        if not self._talk.host.running:
            raise CommandRefused("no run is in progress")
        await self._talk.send(Cancel())
        return Reply()

    async def _do_detach(self, rest: str) -> Reply:
        await self._talk.send(Detach())
        return Reply("it goes on in the background")

    async def _do_model(self, rest: str) -> Reply:
        if not rest:
            return Reply(self._talk.where())
        return await self._talk.reopen("", {"model": rest, "provider": None})

    async def _do_provider(self, rest: str) -> Reply:
        if not rest:
            return Reply(f"{self._talk.where()}; known: {', '.join(self._talk.library.providers())}")
        return await self._talk.reopen("", {"provider": rest, "model": None})

    async def _do_effort(self, rest: str) -> Reply:
        if not rest:
            return Reply(f"effort: {self._talk.options.get('effort') or 'the default'}")
        return await self._talk.reopen(f"effort: {rest}", {"effort": None if rest == "-" else rest})

    async def _do_login(self, rest: str) -> Reply:
        return Reply(
            "Keys are never typed into a conversation: use wisp login PROVIDER elsewhere, then /reload."
        )

    async def _do_logout(self, rest: str) -> Reply:
        if not rest:
            raise CommandRefused("/logout needs a provider")
        return Reply(await asyncio.to_thread(self._talk.library.logout, rest))

    async def _do_new(self, rest: str) -> Reply:
        return await self._talk.reopen("a new conversation", resume="", session_id="")

    async def _do_resume(self, rest: str) -> Reply:
        if rest:
            return await self._talk.reopen("", resume=rest)
        infos = self._talk.library.store().listed(self._talk.snapshot().cwd)[:20]
        rows = [f"{info.id}  {info.title or '(empty)'}" for info in infos]
        return Reply("\n".join([*rows, "/resume ID goes on with one"]) if rows else "none in this folder yet")

    async def _do_name(self, rest: str) -> Reply:
        await self._talk.send(Name(rest))
        return Reply(f"named: {rest}" if rest else "the name is taken back")

    async def _do_clone(self, rest: str) -> Reply:
        return await self._talk.forked("")

    async def _do_fork(self, rest: str) -> Reply:
        return await self._talk.forked(rest)

    async def _do_tree(self, rest: str) -> Reply:
        words = rest.split()
        if words[:1] == ["go"] and len(words) >= 2:
            await self._talk.send(Navigate(words[1], summarise="summary" in words[2:]))
        elif words == ["back"]:
            await self._talk.send(UndoNavigation())
        elif words:
            raise CommandRefused("use /tree, /tree go N [summary] or /tree back")
        path = self._talk.snapshot().session_path
        return Reply(await asyncio.to_thread(tree_text, path) if path else "this conversation is not kept")

    async def _do_undo(self, rest: str) -> Reply:
        return await self._move(rest.split(), redo=False)

    async def _do_redo(self, rest: str) -> Reply:
        return await self._move(rest.split(), redo=True)

    async def _move(self, words: list[str], *, redo: bool) -> Reply:
        do_it = "yes" in words
        moved = await self._talk.put_back(redo=redo, do_it=do_it, chat="chat" in words)
        rows = [f"{change.what} {change.path}" for change in moved.changes] or ["no file differs"]
        return Reply("\n".join(rows if do_it else [*rows, f"/{'redo' if redo else 'undo'} yes does it"]))

    async def _do_compact(self, rest: str) -> Reply:
        await self._talk.send(Compact(rest))
        return Reply("the conversation will be shortened before the next request")

    async def _do_context(self, rest: str) -> Reply:
        return Reply(context_table(self._talk.host.context()))

    async def _do_cost(self, rest: str) -> Reply:
        return Reply(cost_text(self._talk.host))

    async def _do_plan(self, rest: str) -> Reply:
        mode = self._talk.options.get("permission_mode") if rest == "off" else "plan"
        mode = None if mode == "plan" and rest == "off" else mode
        return await self._talk.reopen("", {"permission_mode": mode})

    async def _do_permissions(self, rest: str) -> Reply:
        if rest:
            await self._talk.send(Configure(permission_mode=rest))
        rows = [f"permission mode: {self._talk.snapshot().permission_mode}"]
        rows += [f"{what} {rule}" for what, rule in self._talk.library.rules()[1:]]
        return Reply(
            "\n".join([*rows, *(f"allow {text} (this session)" for text in self._talk.host.granted)])
        )

    async def _do_trust(self, rest: str) -> Reply:
        if rest not in ("", "status", "allow", "revoke", "forget"):
            raise CommandRefused("use /trust, /trust allow, /trust revoke or /trust forget")
        if rest in ("allow", "revoke", "forget"):
            return Reply(await self._talk.decide(Trust(rest)))  # type: ignore[arg-type]  # one of its three
        return Reply(self._talk.library.trust("status", self._talk.snapshot().cwd))

    async def _do_history(self, rest: str) -> Reply:
        return Reply(history_text(self._talk.host))

    async def _do_skills(self, rest: str) -> Reply:
        rows = [
            f"/{one.name}  {one.description or one.kind}  ({one.source})"
            for one in self._talk.host.skills.all()
        ]
        return Reply("\n".join([*rows, *self._talk.host.skills.notes]))

    async def _do_mcp(self, rest: str) -> Reply:
        return Reply(servers_text(self._talk.snapshot()))

    async def _do_hooks(self, rest: str) -> Reply:
        rows = await asyncio.to_thread(self._talk.library.hooks)
        return Reply(
            "\n".join(f"{r['event']} {r['matcher'] or '*'}: {r['command']} ({r['source']})" for r in rows)
            or "the settings name no hooks"
        )

    async def _do_copy(self, rest: str) -> Reply:
        answer = self._talk.host.view.run.answer
        if not answer:
            raise CommandRefused("there is no answer yet")
        return Reply(copy=answer)

    async def _do_export(self, rest: str) -> Reply:
        from wisp.host.exchanging import form_of, write_new

        now = self._talk.snapshot()
        if not now.session_path or not now.messages:
            raise CommandRefused("there is nothing kept to export yet")
        name = rest[1:-1] if len(rest) > 2 and rest[0] == rest[-1] and rest[0] in "'\"" else rest
        name = os.path.expanduser(name) or f"wisp-{now.session_id}.md"
        made = await asyncio.to_thread(
            lambda: self._talk.library.export(now.session_id, form_of(name), scrub=True)
        )
        await asyncio.to_thread(write_new, os.path.join(now.cwd, name), made)
        taken = sum(made.scrubbed.values())
        return Reply(
            f"{name}: {len(made.data):,} bytes of {form_of(name)}"
            + (f"; {taken} credentials were taken out" if taken else "")
        )

    async def _do_theme(self, rest: str) -> Reply:
        if rest:
            self._talk.library.set_setting("screen.theme", rest)
        themes = {row["name"]: row["value"] for row in self._talk.library.config()}["screen"]["theme"]
        return Reply(f"theme of the screen: {themes} (auto, dark, light or grey)")

    async def _do_reload(self, rest: str) -> Reply:
        return await self._talk.reopen("")

    async def _do_quit(self, rest: str) -> Reply:
        return Reply(leave=True)
