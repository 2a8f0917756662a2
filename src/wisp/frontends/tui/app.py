"""The screen: what stands where, which key does what, and the one connection to the host.

Draws first and connects afterwards.  Everything that is decided about the conversation is the host's; what
the screen knows of it are events, and what it can do are the commands of `ConversationClient`.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from wisp.frontends.tui.bars import Bar, activity, status
from wisp.frontends.tui.composer import Composer
from wisp.frontends.tui.dialog import Dialog
from wisp.frontends.tui.entries import Note
from wisp.frontends.tui.look import DARK, LOOKS, Look, theme_of
from wisp.frontends.tui.transcript import Transcript

if TYPE_CHECKING:
    from wisp.frontends.tui.feed import Feed
    from wisp.host.client import ConversationClient
    from wisp.host.commands import AnyCommand
    from wisp.host.snapshot import Snapshot

W = TypeVar("W", bound=Widget)

Connect = Callable[[], Awaitable["ConversationClient"]]
"""Opens the host; raises `OpenFailed`."""

FRAME = 1 / 30
"""Seconds between two drawings of what streams in."""
TWICE = 2.0
"""Seconds within which a second Ctrl+C leaves."""
MODES = ("ask", "auto", "plan", "read-only")
"""What Shift+Tab goes through.  `full` has to be typed: /permissions full."""
IDLE_HINT = "Enter sends · / commands · @ files · F1 keys"


class WispApp(App[int]):
    """One conversation on one terminal.

    Args:
        connect: opens the host, once the first frame stands.
        first: a first prompt.
    """

    ENABLE_COMMAND_PALETTE = False
    TITLE = "wisp"
    CSS = """
    Screen { layout: vertical; background: $background; color: $foreground; }
    Screen:inline { height: 60vh; border: none; }
    #activity { margin: 0; }
    .-short Composer, .-short Composer:focus { border: none; padding: 0 1; }
    """
    VERTICAL_BREAKPOINTS = [(0, "-short"), (14, "-tall")]  # noqa: RUF012 - as the base class has it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+d", "end_of_input", show=False, priority=True),
        Binding("ctrl+q", "none", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
        Binding("shift+tab", "cycle_mode", show=False, priority=True),
        Binding("ctrl+o", "open_all", show=False, priority=True),
        Binding("ctrl+l", "redraw", show=False, priority=True),
        Binding("pageup,shift+up", "scroll_page(-1)", show=False, priority=True),
        Binding("pagedown,shift+down", "scroll_page(1)", show=False, priority=True),
        Binding("ctrl+home", "scroll_home", show=False, priority=True),
        Binding("ctrl+end", "scroll_end", show=False, priority=True),
    ]

    def __init__(self, connect: Connect, first: str = "", *, look: Look = DARK) -> None:
        super().__init__()
        self.look = look
        for one in LOOKS.values():
            self.register_theme(theme_of(one))
        self.theme = look.name
        self.failure: BaseException | None = None
        """What ended the program before its time."""
        self.client: ConversationClient | None = None
        self.feed: Feed | None = None
        self._connect = connect
        self._first = first
        self._tasks: set[asyncio.Future[Any]] = set()
        self._interrupted_at = -TWICE
        self._flushing = False
        self._frame = 0
        self._hint = ""
        self._answering: Callable[[str], AnyCommand] | None = None
        """What the composer's text becomes, where it is the answer to something."""
        self._kept_draft = ""

    def compose(self) -> ComposeResult:
        """Transcript, what happens, questions, composer, status."""
        yield Transcript(self.look, self._older)
        yield Bar(self.look, "queue")
        yield Bar(self.look, "activity")
        yield Dialog(self.look)
        yield Composer()
        yield Bar(self.look, "status")

    # -- parts of the screen ------------------------------------------------------------------------------

    @property
    def transcript(self) -> Transcript:
        """The transcript."""
        return self._part("transcript", Transcript)

    @property
    def composer(self) -> Composer:
        """The composer."""
        return self._part("composer", Composer)

    @property
    def dialog(self) -> Dialog:
        """The question, if there is one."""
        return self._part("dialog", Dialog)

    def _part(self, id_: str, kind: type[W]) -> W:
        return self.screen_stack[0].query_one(f"#{id_}", kind)

    # -- life ---------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Show an empty screen; connect when it stands."""
        self._part("queue", Bar).add_class("hidden")
        self.composer.focus()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit, 128 + number)
        loop.add_signal_handler(signal.SIGINT, self.action_interrupt)
        self.call_after_refresh(self._open)

    def _open(self) -> None:
        self.keep(self._live())

    def keep(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run `work` until it ends or the screen closes; what breaks in it ends the program."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self.failure = fault
            self.exit(1)

    async def _live(self) -> None:
        """Connect, then show what happens until the host closes."""
        from wisp.frontends.tui.feed import Feed

        client = await self._connect()
        self.feed = feed = Feed(self.transcript.entries)
        self.client = client
        stream = client.events()
        self._greet(client.snapshot())
        self.set_interval(0.1, self._tick)
        if self._first:
            await self.say(self._first)
        loop = asyncio.get_running_loop()
        async with aclosing(stream) as events:
            async for envelope in events:
                feed.take(envelope, loop.time())
                self._attend(envelope.event)
                self.flush_soon()

    def _greet(self, snapshot: Snapshot) -> None:
        assert self.feed is not None
        self.composer.placeholder = "What shall be done?"
        for note in snapshot.notes:
            self.feed.note(Note(note, "warn"))
        self._show_status()
        self.sub_title = snapshot.cwd
        self.flush_soon()

    async def close(self) -> None:
        """Let the host go; for whoever ran the screen, after it."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self.client is not None:
            await self.client.close()

    def _handle_exception(self, error: Exception) -> None:
        """End with the terminal restored; whoever ran the screen tells what broke."""
        self.failure = self.failure or error
        self.exit(1)

    # -- drawing what changed -----------------------------------------------------------------------------

    def flush_soon(self) -> None:
        """Draw what changed, with whatever else changes until then."""
        if not self._flushing:
            self._flushing = True
            self.set_timer(FRAME, self._draw_changes)

    def _draw_changes(self) -> None:
        self._flushing = False
        self.transcript.changed()
        self._show_activity()
        self._show_queue()

    def _tick(self) -> None:
        if self.feed is not None and self.feed.running:
            self._frame += 1
            if self._frame % 5 == 0:
                self.feed.tick(asyncio.get_running_loop().time())
                self.transcript.changed()
            self._show_activity()

    def _show_activity(self) -> None:
        assert self.feed is not None
        feed, bar = self.feed, self._part("activity", Bar)
        width = max(1, self.size.width - 2)
        if not feed.running:
            bar.show(Text(self._hint, self.look.style("dim"), no_wrap=True))
            return
        waiting = feed.view.waiting or "working"
        if feed.arguments:
            waiting = f"the model writes a call, {feed.arguments:,} characters"
        elif feed.view.phase == "thinking" or waiting == "the model":
            waiting = f"waiting for {waiting}" if waiting == "the model" else f"receiving {waiting}"
        bar.show(
            activity(
                self.look,
                waiting=" ".join(waiting.split()),
                seconds=asyncio.get_running_loop().time() - feed.run_began,
                frame=self._frame,
                still=self.animation_level == "none",
                hint=self._hint or "esc stops",
                width=width,
            )
        )

    def _show_queue(self) -> None:
        assert self.feed is not None
        bar, queue = self._part("queue", Bar), self.feed.queue
        bar.set_class(not queue, "hidden")
        if queue:
            from wisp.frontends.tui.queue import queue_text

            shown = queue_text(self.look, queue, max(1, self.size.width - 2))
            bar.styles.height = shown.plain.count("\n") + 1
            bar.show(shown)

    def _show_status(self) -> None:
        if self.client is None or self.feed is None:
            return
        now = self.client.snapshot()
        extra = []
        if (context := self.feed.context) is not None and context.window:
            extra.append(f"{100 * context.total / context.window:.0f}% of context")
        if self.feed.cost is None:
            extra.append("cost unknown")
        elif self.feed.cost:
            extra.append(f"${self.feed.cost:.2f}")
        folder = now.cwd.rsplit("/", 1)[-1] or now.cwd
        self._part("status", Bar).show(
            status(
                self.look,
                folder=folder,
                branch="",
                model=now.model,
                mode=now.permission_mode,
                sandbox=now.sandbox,
                extra=extra,
                width=max(1, self.size.width - 2),
            )
        )

    def on_resize(self) -> None:
        """Lines around the composer are as wide as the screen."""
        if self.feed is not None:
            self._show_activity()
            self._show_queue()
            self._show_status()

    def note(self, text: str, tone: str = "dim") -> None:
        """Say something to the person."""
        if self.feed is not None and text:
            self.feed.note(Note(text, tone))  # type: ignore[arg-type]
            self.flush_soon()

    # -- the host -----------------------------------------------------------------------------------------

    def _attend(self, event: Any) -> None:
        """What an event asks of the screen beyond the transcript."""
        from wisp.frontends.tui.asking import attend

        attend(self, event)

    async def command(self, command: AnyCommand) -> bool:
        """Send a command; what is refused is shown.  Whether it was taken."""
        from wisp.host.client import CommandRefused

        if self.client is None:
            return False
        try:
            await self.client.send(command)
        except CommandRefused as exc:
            self.note(str(exc), "warn")
            return False
        finally:
            self._show_status()
        return True

    async def say(self, text: str, *, later: bool = False) -> None:
        """Send what a person wrote: a command, a message, or something for a run in progress."""
        from wisp.host.commands import FollowUp, Prompt, Steer

        assert self.feed is not None
        if self._answering is not None:
            command, self._answering = self._answering(text), None
            if await self.command(command):
                self._end_answer()
            return
        if not text.strip():
            return
        if text.startswith("/") and not text.startswith("//"):
            await self._slash(text.rstrip())
        elif self.feed.running:
            if await self.command(FollowUp(text) if later else Steer(text)):
                self.composer.taken()
        elif await self.command(Prompt(text)):
            self.feed.said(text)
            self.composer.taken()
            self.transcript.end()
            self.flush_soon()

    async def _slash(self, line: str) -> None:
        from wisp.host.client import CommandRefused

        assert self.client is not None and self.feed is not None
        try:
            reply = await self.client.slash(line)
        except CommandRefused as exc:
            self.note(str(exc), "warn")
            return
        self.composer.taken()
        if reply.started:
            self.feed.said(line)
        if reply.text:
            self.note(reply.text)
        if reply.copy:
            self.copy_to_clipboard(reply.copy)
            self.note("copied, if your terminal allows it")
        self._show_status()
        self.transcript.end()
        if reply.leave:
            self.exit(0)

    def _older(self) -> None:
        """The beginning of what is loaded is in sight."""

    def opened(self) -> None:
        """Another conversation stands behind the connection."""
        self._show_status()

    def bell_if_away(self) -> None:
        """Call the person back, where the terminal is known not to have the focus."""
        if not self.app_focus:
            self.bell()

    # -- answering with words -----------------------------------------------------------------------------

    def answer_with(self, what: str, make: Callable[[str], AnyCommand]) -> None:
        """Have the next text sent from the composer be an answer; what was written there is kept."""
        if self._answering is None:
            self._kept_draft = self.composer.whole
        self._answering = make
        self.composer.put("")
        self.composer.placeholder = what
        self._hint = "enter answers"
        self.composer.focus()
        self.flush_soon()

    def _end_answer(self) -> None:
        self._answering, self._hint = None, ""
        self.composer.placeholder = "What shall be done?"
        self.composer.put(self._kept_draft)
        self._kept_draft = ""
        self.flush_soon()

    def settle(self) -> None:
        """Nothing is asked any more."""
        if self._answering is not None:
            self._end_answer()
        self.dialog.drop()
        self.composer.focus()

    # -- what the person does -----------------------------------------------------------------------------

    async def on_composer_sent(self, message: Composer.Sent) -> None:
        """Enter, or Alt+Enter."""
        if self.client is not None:
            await self.say(message.text, later=message.when == "later")

    def on_composer_pressed(self, message: Composer.Pressed) -> None:
        """Escape and Tab in the composer."""
        if message.key == "escape":
            self.action_stop()
        elif message.key == "alt+up":
            self.keep(self._take_back())

    def on_dialog_answered(self, message: Dialog.Answered) -> None:
        """A question was answered by a key."""
        from wisp.frontends.tui.asking import answered

        answered(self, message)

    async def on_dialog_typed(self, message: Dialog.Typed) -> None:
        """The person was writing when a question came: the key belongs to the text."""
        await self.composer._on_key(message.event)

    def action_stop(self) -> None:
        """Stop the run in progress; what is written and what waits stays."""
        from wisp.host.commands import Cancel

        if self.feed is not None and self.feed.running:
            self._hint = "stopping…"
            self._show_activity()
            self.keep(self._cancel(Cancel()))

    async def _take_back(self) -> None:
        """The newest waiting message comes back into the composer."""
        from wisp.host.commands import QueuePop

        assert self.feed is not None
        if self.feed.queue:
            text = self.feed.queue[-1][1].text
            if await self.command(QueuePop(self.feed.queue[-1][1].id)):
                kept = self.composer.whole
                self.composer.put(f"{text}\n{kept}" if kept.strip() else text)

    async def _cancel(self, command: AnyCommand) -> None:
        await self.command(command)
        self._hint = ""

    def action_interrupt(self) -> None:
        """Ctrl+C: copy a selection, clear the text, stop the run; twice leaves."""
        now = asyncio.get_running_loop().time()
        twice = now - self._interrupted_at < TWICE
        self._interrupted_at = now
        running = self.feed is not None and self.feed.running
        if twice:
            self.exit(130 if running else 0)
            return
        if self.composer.text and not running:
            self.composer.remember(self.composer.whole)
            self.composer.put("")
        self.action_stop()
        self._say_for_a_moment("ctrl+c again leaves")

    def _say_for_a_moment(self, hint: str) -> None:
        self._hint = hint
        if self.feed is not None:
            self._show_activity()
        self.set_timer(TWICE, self._unsay)

    def _unsay(self) -> None:
        self._hint = ""
        if self.feed is not None:
            self._show_activity()

    def action_end_of_input(self) -> None:
        """Ctrl+D: leave where nothing is written, else delete to the right."""
        if self.composer.text:
            self.composer.action_delete_right()
        elif self.feed is None or not self.feed.running:
            self.exit(0)

    def action_cycle_mode(self) -> None:
        """Shift+Tab: judge the next calls by another mode."""
        from wisp.host.commands import Configure

        if self.client is not None:
            now = self.client.snapshot().permission_mode
            after = MODES[(MODES.index(now) + 1) % len(MODES)] if now in MODES else MODES[0]
            self.keep(self.command(Configure(permission_mode=after)))

    def action_open_all(self) -> None:
        """Ctrl+O: show all of every card, or no longer."""
        entries = self.transcript.entries
        wanted = not any(entry.opened for entry in entries[-50:])
        for entry in entries:
            entry.opened = wanted
        self.transcript.changed()

    def action_scroll_page(self, direction: int) -> None:
        """A page of the transcript, or of the question that is asked."""
        if self.dialog.ask is not None and self.dialog.has_focus:
            self.dialog.scroll_by(direction * max(1, self.dialog.size.height - 4))
        else:
            self.transcript.page(direction)

    def action_scroll_home(self) -> None:
        """To the beginning."""
        self.transcript.home()

    def action_scroll_end(self) -> None:
        """To the end."""
        self.transcript.end()

    def action_redraw(self) -> None:
        """Ctrl+L: draw everything anew."""
        self.refresh(repaint=True, layout=True)

    def action_none(self) -> None:
        """A key that shall do nothing."""


async def run_app(app: WispApp, *, inline: bool = False) -> int:
    """Run the screen to its end; returns the exit code.  What broke is raised with the terminal restored."""
    code = await app.run_async(inline=inline, inline_no_clear=inline)
    with suppress(asyncio.CancelledError):
        await app.close()
    if app.failure is not None:
        raise app.failure
    return code or 0
