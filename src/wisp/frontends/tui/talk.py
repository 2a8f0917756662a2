"""The screen's side of the conversation: what a person wrote becomes commands, what happens becomes entries.

Holds the connection, the feed and what was said earlier; draws nothing itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wisp.frontends.tui.asking import attend, tell_trust
from wisp.frontends.tui.entries import Entry, Note, Welcome
from wisp.frontends.tui.feed import Feed
from wisp.frontends.tui.past import Past
from wisp.host.client import CommandRefused, ConversationClient
from wisp.host.commands import AnyCommand, Cancel, Configure, FollowUp, Prompt, QueuePop, Shell, Steer
from wisp.host.events import AgentCompleted, QueueUpdated
from wisp.host.mentions import mentions
from wisp.host.showing import safe

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp
    from wisp.frontends.tui.pictures import Pictures

MODES = ("ask", "auto", "plan", "read-only")
"""What Shift+Tab goes through.  `full` has to be typed: /permissions full."""
MOVING = ("tree", "undo", "redo")
"""Commands after which the conversation may stand elsewhere."""
DRAFT_EVERY = 0.7
"""Seconds after the last change at which what is being written is kept."""


class Talk:
    """One connection, from its opening on."""

    def __init__(self, app: WispApp, client: ConversationClient) -> None:
        self.app = app
        self.client = client
        self.feed = Feed(app.transcript.entries, self.depict)
        self.past = Past(client.around, app.transcript, self.feed.entries, self.depict)
        self.feed.folder = client.snapshot().cwd
        self._place = self._standing()
        self._finished = False
        """Whether the last run came to its end by itself."""
        self._asked_for_prompts = False
        self._draft_timer: Any = None

    @cached_property
    def pictures(self) -> Pictures:
        """The terminal's pictures; only a conversation that has some pays for them."""
        from wisp.frontends.tui.pictures import of_app

        return of_app(self.app)

    def leave(self) -> None:
        """The screen closes."""
        if "pictures" in vars(self):
            self.pictures.close()

    def depict(self, name: str, kind: str, load: Callable[[], str]) -> Entry:
        """The entry of a picture."""
        return self.pictures.entry(name, kind, load)

    async def run(self, first: Sequence[str]) -> None:
        """Say what is to be said first; show what happens until the host closes."""
        stream = self.client.events()
        now = self.client.snapshot()
        if not now.messages:
            self.feed.entries.append(Welcome(f"{now.provider}/{now.model} in {now.cwd}"))
        for note in now.notes:
            self.note(note, "warn")
        if now.messages:
            await self.past.begin(now.messages)
        if not self.app.composer.text and (draft := self.client.around.draft()):
            self.app.composer.put(draft)
        self.app.opened()
        self.app.keep(tell_trust(self))
        for text in first:
            await self.say(text)
        loop = asyncio.get_running_loop()
        async with aclosing(stream) as events:
            async for envelope in events:
                self.feed.take(envelope, loop.time())
                attend(self.app, self, envelope.event)
                if isinstance(envelope.event, AgentCompleted):
                    self._finished = envelope.event.stop_reason == "model_finished"
                if isinstance(envelope.event, AgentCompleted | QueueUpdated):
                    self.app.keep(self._late())
                self.app.flush_soon()

    async def _late(self) -> None:
        """What was said too late for a run that came to its end by itself begins the next one."""
        if self._finished and self.feed.queue and not self.feed.running:
            self._finished = False
            waiting = self.feed.queue[0][1]
            if await self.command(QueuePop(waiting.id)):
                await self._prompt(waiting.text, ())

    def note(self, text: str, tone: Any = "dim") -> None:
        """Say something to the person."""
        if text:
            self.feed.note(Note(text, tone))
            self.app.flush_soon()

    # -- sending ------------------------------------------------------------------------------------------

    async def command(self, command: AnyCommand) -> bool:
        """Send a command; what is refused is shown.  Whether it was taken."""
        try:
            await self.client.send(command)
        except CommandRefused as exc:
            self.note(str(exc), "warn")
            return False
        finally:
            self.app.show_status()
        return True

    async def say(self, text: str, *, later: bool = False, pictures: tuple[str, ...] = ()) -> None:
        """Send what a person wrote: a command, a message, or something for a run in progress.

        Pictures go along with a message that begins a run.
        What is refused comes back into the composer.
        """
        if not text.strip():
            return
        self.app.composer.remember(text)
        if text.startswith("/") and not text.startswith("//"):
            taken = await self.slash(text.rstrip())
        elif text.startswith("!"):
            taken = await self._shell(text)
        elif self.feed.running and pictures:
            self.note("pictures go along when a run begins; wait for its end, or stop it", "warn")
            taken = False
        elif self.feed.running:
            taken = await self.command(FollowUp(text) if later else Steer(text))
        else:
            taken = await self._prompt(text, pictures)
        if taken:
            self.client.around.keep_draft(self.app.composer.whole)
        else:
            self.app.composer.give_back(text)

    async def _shell(self, text: str) -> bool:
        """Run what follows `!`, which the model is told of, or `!!`, which stays here."""
        told = not text.startswith("!!")
        taken = await self.command(Shell(text[1 if told else 2 :].strip(), told))
        self.past.end()
        return taken

    async def _prompt(self, text: str, pictures: tuple[str, ...]) -> bool:
        if not await self.command(Prompt(text, attach=pictures, mentioned=mentions(text))):
            return False
        self.feed.running = True  # its first event is on the way
        self.feed.run_began = asyncio.get_running_loop().time()
        self.feed.said(text)
        for path in pictures:
            self.feed.entries.append(self.pictures.of_file(path))
        self.past.end()
        self.app.flush_soon()
        return True

    async def slash(self, line: str) -> bool:
        """Do a command of the screen, or have the host do one; whether there is such a command."""
        from wisp.frontends.tui.screens import show

        if await show(self.app, self, line):
            return True
        try:
            reply = await self.client.slash(line)
        except CommandRefused as exc:
            self.note(str(exc), "warn")
            return False
        await self._after(line)
        if reply.started and not reply.text:
            self.feed.said(line)
        self.note(reply.text)
        if reply.copy:
            from wisp.frontends.tui.bringing import copied

            await copied(self.app, safe(reply.copy))
        self.past.end()
        self.app.opened()
        if reply.leave:
            self.app.exit(0)
        return True

    def _standing(self) -> tuple[str, int]:
        now = self.client.snapshot()
        return now.session_id, now.messages

    async def _after(self, line: str) -> None:
        """Show another conversation, or another place of this one, where a command led there."""
        before, self._place = self._place, self._standing()
        moved = line[1:].split(" ", 1)[0] in MOVING and not self.feed.running
        if before[0] != self._place[0] or (moved and " " in line):
            self.feed.entries.clear()
            await self.past.begin(self._place[1])

    # -- the run ------------------------------------------------------------------------------------------

    async def stop(self, *, calls: bool = False) -> None:
        """Stop the run in progress, or only the calls that run."""
        with suppress(CommandRefused):
            await self.client.send(Cancel(scope="calls" if calls else "run"))

    async def take_back(self) -> None:
        """The newest waiting message comes back into the composer, before what is written there."""
        if not self.feed.queue:
            return
        waiting = self.feed.queue[-1][1]
        if await self.command(QueuePop(waiting.id)):
            kept = self.app.composer.whole
            self.app.composer.put(f"{waiting.text}\n{kept}" if kept.strip() else waiting.text)

    async def cycle_mode(self) -> None:
        """Judge the next calls by the next mode."""
        now = self.client.snapshot().permission_mode
        after = MODES[(MODES.index(now) + 1) % len(MODES)] if now in MODES else MODES[0]
        await self.command(Configure(permission_mode=after))

    # -- the composer -------------------------------------------------------------------------------------

    async def recall(self) -> None:
        """What was said here in earlier conversations can be had again; looked up once."""
        if not self._asked_for_prompts:
            self._asked_for_prompts = True
            self.app.composer.load_sent(await self.client.around.prompts())

    def keep_draft_soon(self) -> None:
        """Keep what is being written, once the person pauses."""
        if self._draft_timer is not None:
            self._draft_timer.cancel()
        self._draft_timer = self.app.after(DRAFT_EVERY, self._keep_draft)

    def _keep_draft(self) -> None:
        if not self.app.answers.wanted:
            self.client.around.keep_draft(self.app.composer.whole)

    def find(self, words: str, before: int) -> int:
        """The last entry before entry `before` that has all words; -1 for none."""
        wanted = words.lower().split()
        entries = self.app.transcript.entries
        for at in range(min(before, len(entries)) - 1, -1, -1):
            text = entries[at].plain().lower()
            if all(word in text for word in wanted):
                return at
        return -1
