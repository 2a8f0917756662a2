"""The screen: what stands where, which key does what.

Draws first and connects afterwards.  Everything that is decided about the conversation is the host's; what is
said to it and what comes from it goes through `talk`.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.geometry import Offset
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from wisp.frontends.tui import outside
from wisp.frontends.tui.answers import PROMPT, Answers
from wisp.frontends.tui.bars import Bar
from wisp.frontends.tui.below import TICK, Below
from wisp.frontends.tui.composer import Composer
from wisp.frontends.tui.dialog import Dialog
from wisp.frontends.tui.driver import Answered, Ground, ScreenDriver
from wisp.frontends.tui.echo import Echo
from wisp.frontends.tui.look import DARK, GREY, LIGHT, LOOKS, Look, theme_of
from wisp.frontends.tui.menu import Menu, Row
from wisp.frontends.tui.pressing import interrupt, pressed
from wisp.frontends.tui.quick import QuickScreen, caret
from wisp.frontends.tui.transcript import Transcript
from wisp.frontends.tui.wishes import Wishes
from wisp.host.showing import flat, safe
from wisp.host.terminal import ground

if TYPE_CHECKING:
    from wisp.frontends.tui.talk import Talk
    from wisp.host.client import ConversationClient

W = TypeVar("W", bound=Widget)

Connect = Callable[[], Awaitable["ConversationClient"]]
"""Opens the host; raises `OpenFailed`."""

TWICE = 2.0
"""Seconds within which a second Ctrl+C leaves."""


class WispApp(App[int]):
    """One conversation on one terminal.

    Args:
        connect: opens the host, once the first frame stands.
        first: a first prompt.
        look: the colours it begins with.
    """

    ENABLE_COMMAND_PALETTE = False
    TITLE = "wisp"
    CSS = """
    Screen { layout: vertical; background: $background; color: $foreground; overflow: hidden; }
    Screen:inline { height: 60vh; min-height: 10; border: none; }
    .input--placeholder { color: $dim; }
    .-short Composer, .-short Composer:focus, .-tiny Composer, .-tiny Composer:focus { border: none; }
    .-short Dialog, .-tiny Dialog { border: none; }
    .-low.asks Composer, .-low.asks Composer:focus, .asks:inline Composer { border: none; }
    .reader Composer, .reader Composer:focus, .reader Dialog { border: none; }
    .-tiny #activity, .-tiny #status, .-tiny #queue { display: none; }
    """
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (8, "-short"), (14, "-low"), (20, "-tall")]  # noqa: RUF012 - as the base class has it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "none", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
        Binding("shift+tab", "cycle_mode", show=False, priority=True),
        Binding("ctrl+o", "open_all", show=False, priority=True),
        Binding("ctrl+l", "redraw", show=False, priority=True),
        Binding("ctrl+r", "page('sent')", show=False, priority=True),
        Binding("ctrl+f", "page('find')", show=False, priority=True),
        Binding("f1", "page('help')", show=False, priority=True),
        Binding("pageup", "scroll_page(-1)", show=False, priority=True),
        Binding("pagedown", "scroll_page(1)", show=False, priority=True),
        Binding("ctrl+home", "scroll_home", show=False, priority=True),
        Binding("ctrl+end", "scroll_end", show=False, priority=True),
    ]

    def __init__(self, connect: Connect, first: str = "", *, look: Look = DARK) -> None:
        self.echo = Echo()
        super().__init__(driver_class=partial(ScreenDriver, echo=self.echo))  # type: ignore[arg-type]
        self.wishes = Wishes(self)
        self.look = GREY if self.no_color else LIGHT if look is DARK and ground() == "light" else look
        for one in LOOKS.values():
            self.register_theme(theme_of(one))
        self.theme = self.look.name
        self.failure: BaseException | None = None
        """What ended the program before its time."""
        self.talk: Talk | None = None
        self.answers = Answers(self)
        self._connect = connect
        self._first = [first] if first else []
        """What is to be said once the conversation is open."""
        self._work: set[asyncio.Future[Any]] = set()
        self._interrupted_at = -TWICE
        self.below = Below(self)

    @property
    def cursor_position(self) -> Offset:
        """Where the terminal's cursor is put after each drawing."""
        return caret(self.focused if self._screen_stack else None, self._cursor_place)

    @cursor_position.setter
    def cursor_position(self, place: Offset) -> None:
        self._cursor_place = place

    def _build_driver(self, headless: bool, inline: bool, *args: Any, **more: Any) -> Driver:
        if headless or not inline:
            return super()._build_driver(headless, inline, *args, **more)
        from wisp.frontends.tui.inline import InlineDriver

        self.driver_class = partial(InlineDriver, echo=self.echo)  # type: ignore[assignment]
        return super()._build_driver(headless, False, *args, **more)

    def get_default_screen(self) -> Screen[Any]:
        """The screen of the conversation."""
        return QuickScreen(self.echo)

    def compose(self) -> ComposeResult:
        """Transcript, what happens, questions, composer, status."""
        yield Transcript(self.look, self._older, self._newer)
        yield Bar(self.look, "queue")
        yield Bar(self.look, "activity")
        yield Dialog(self.look)
        yield Menu(self.look)
        yield Composer(self.echo)
        yield Bar(self.look, "status")

    # -- parts of the screen ------------------------------------------------------------------------------

    @property
    def transcript(self) -> Transcript:
        """The transcript."""
        return self.part("transcript", Transcript)

    @property
    def composer(self) -> Composer:
        """The composer."""
        return self.part("composer", Composer)

    @property
    def dialog(self) -> Dialog:
        """The question, if there is one."""
        return self.part("dialog", Dialog)

    @property
    def menu(self) -> Menu:
        """What could be meant."""
        return self.part("menu", Menu)

    def part(self, id_: str, kind: type[W]) -> W:
        """A widget of the conversation, whatever else is shown over it."""
        return self.screen_stack[0].query_one(f"#{id_}", kind)

    # -- life ---------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Show an empty screen; connect when it stands."""
        self.part("queue", Bar).add_class("hidden")
        self.composer.focus()
        self.echo.listens = True
        outside.listen(self)
        self.call_after_refresh(lambda: self.keep(self._live()))

    async def _live(self) -> None:
        from wisp.frontends.tui.talk import Talk
        from wisp.frontends.tui.warming import warm

        client = await self._connect()
        self.talk = Talk(self, client)
        self.wishes.take(client.around.screen())
        self.composer.placeholder = PROMPT
        gc.freeze()  # what was loaded stays: looking through it again would stop the screen for a moment
        gc.enable()
        self.set_interval(TICK, self.below.tick)
        self.keep(warm(self.look, lambda: self.composer.last_key))
        await self.talk.run(self._first)

    def keep(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run `work` until it ends or the screen closes; what breaks in it ends the program."""
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._work.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self.failure = self.failure or fault
            self.exit(1)

    async def close(self) -> None:
        """Let the host go; for whoever ran the screen, after it."""
        for task in list(self._work):
            task.cancel()
        if self._work:
            await asyncio.wait(self._work)
        if self.talk is not None:
            await self.talk.client.close()

    def _handle_exception(self, error: Exception) -> None:
        """End with the terminal restored; whoever ran the screen tells what broke."""
        self.failure = self.failure or error
        self.exit(1)

    @property
    def working(self) -> bool:
        """Whether a run, or a command of the person's own, is in progress."""
        return self.talk is not None and (self.talk.feed.running or self.talk.feed.shell)

    # -- drawing what changed -----------------------------------------------------------------------------

    def after(self, seconds: float, work: Callable[[], None]) -> asyncio.TimerHandle:
        """Do `work` later, once.  (A timer of Textual's that is late when it begins never fires at all.)"""

        def unless_leaving() -> None:
            if not self._exit:
                work()

        return asyncio.get_running_loop().call_later(seconds, self.call_next, unless_leaving)

    def flush_soon(self) -> None:
        """Draw what changed, with whatever else changes until then."""
        self.below.flush_soon()

    def show_status(self) -> None:
        """Where one is, and how calls are judged."""
        self.below.status()

    def say_for_a_moment(self, hint: str) -> None:
        """Show a hint for as long as a second Ctrl+C would count."""
        self.below.say_for_a_moment(flat(hint))

    def opened(self) -> None:
        """Another conversation may stand behind the connection."""
        self.show_status()
        outside.title(self)
        self.flush_soon()

    def on_gone(self) -> None:
        """The terminal went away without a signal, as one does that is nobody's controlling terminal."""
        self.exit(outside.HUNG_UP)

    def on_ground(self, message: Ground) -> None:
        """The terminal told its ground."""
        self.wishes.told(message.ground)

    def on_answered(self, message: Answered) -> None:
        """The terminal told what it is, which is asked for pictures alone."""
        if self.talk is not None:
            self.talk.pictures.answered(message.name, message.graphics)

    def on_resize(self) -> None:
        """Lines around the composer are as wide as the screen."""
        self.below.activity()
        self.below.queue()
        self.below.status()

    def busy(self, working: bool) -> None:
        """Have the terminal show that something is worked on, or no longer."""
        outside.progress(self, working)
        self.opened()

    def close_page(self, kind: str) -> None:
        """Close the topmost other screen where it is of that class: what it was for is settled."""
        top = self.screen_stack[-1]
        if len(self.screen_stack) > 1 and type(top).__name__ == kind:
            top.dismiss(None)

    def show_menu(self, rows: list[Row], of: str = "", typed: int = 0) -> None:
        """Show what could be meant by the end of the line `of`; nothing closes the menu."""
        self.menu.show(rows, typed)
        self.menu.of = of
        self.composer.menu_open = bool(rows)

    # -- what the person does -----------------------------------------------------------------------------

    async def on_composer_sent(self, message: Composer.Sent) -> None:
        """Enter, or Alt+Enter."""
        if self.answers.wanted:
            self.keep(self.answers.take(message.text))
        elif self.talk is not None:
            self.keep(self.talk.say(message.text, later=message.when == "later", pictures=message.pictures))
        else:
            self._first.append(message.text)  # typed before there was anybody to say it to

    async def on_event(self, event: events.Event) -> None:
        """Keys mean what the person wants.  Who writes on while a page is only looked at leaves it."""
        if isinstance(event, events.Key) and self._screen_stack:
            top = self._screen_stack[-1]
            glance = isinstance(top, ModalScreen) and getattr(top, "GLANCE", False)
            if glance and event.is_printable and event.key not in ("space", "q"):
                top.dismiss(None)
            elif len(self._screen_stack) < 2 and event.key in self.wishes.means:
                event = events.Key(self.wishes.means[event.key], None)
        await super().on_event(event)

    def on_composer_edited(self) -> None:
        """What stands before the cursor changed."""
        self.composer.set_class(self.composer.text.startswith("!") and not self.answers.wanted, "shell")
        if self.talk is not None:
            from wisp.frontends.tui.suggesting import suggest

            self.keep(suggest(self, self.talk))
            self.talk.keep_draft_soon()

    def on_composer_pasted(self, message: Composer.Pasted) -> None:
        """What a terminal writes for a picture that is dropped on it stands for the picture."""
        if self.talk is not None:
            from wisp.frontends.tui.bringing import dropped

            self.keep(dropped(self, self.talk, message.text))

    def on_composer_pressed(self, message: Composer.Pressed) -> None:
        """A key whose meaning depends on what else is shown."""
        pressed(self, message.key)

    def on_dialog_answered(self, message: Dialog.Answered) -> None:
        """A question was answered by a key."""
        from wisp.frontends.tui.asking import answered

        if self.talk is not None:
            answered(self, self.talk, message)

    async def on_dialog_typed(self, message: Dialog.Typed) -> None:
        """The person was writing when a question came: the key belongs to the text."""
        await self.composer.press(message.event)

    def on_transcript_marked(self, message: Transcript.Marked) -> None:
        """What is marked with the mouse is copied."""
        from wisp.frontends.tui.bringing import copied

        self.keep(copied(self, safe(message.text)))

    def copy_to_clipboard(self, text: str) -> None:
        """What Textual's own widgets copy too (OSC 52): nothing that would drive where it is pasted."""
        super().copy_to_clipboard(safe(text))

    def exit(self, result: int | None = None, *args: Any, **more: Any) -> None:
        """Leave; the outer terminal no longer shows that something is worked on."""
        outside.progress(self, False)
        if self.talk is not None:
            self.talk.leave()
        super().exit(result, *args, **more)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of the conversation do nothing on other screens."""
        del parameters
        ours = {binding.action.split("(")[0] for binding in self.BINDINGS if isinstance(binding, Binding)}
        return len(self.screen_stack) < 2 or action not in ours

    def action_stop(self) -> None:
        """Stop the run in progress; what is written and what waits stays."""
        if self.working and self.talk is not None:
            self.say_for_a_moment("stopping…")
            self.keep(self.talk.stop())

    def action_interrupt(self) -> None:
        """Ctrl+C."""
        now = asyncio.get_running_loop().time()
        twice, self._interrupted_at = now - self._interrupted_at < TWICE, now
        self.composer.call_later(interrupt, self, twice=twice)

    def action_cycle_mode(self) -> None:
        """Shift+Tab: judge the next calls by another mode."""
        if self.talk is not None:
            self.keep(self.talk.cycle_mode())

    def action_open_all(self) -> None:
        """Ctrl+O: show all of every card, or no longer."""
        entries = self.transcript.entries
        wanted = not any(entry.opened for entry in entries[-50:])
        for entry in entries:
            entry.opened = wanted
        self.transcript.changed()

    def action_page(self, name: str) -> None:
        """Another screen: `help`, `sent` before, or looking for words with `find`."""
        if self.talk is not None:
            from wisp.frontends.tui.screens import open_page

            # After the keys that were typed before: they are on their way to the composer.
            self.composer.call_later(open_page, self, self.talk, name)

    def action_scroll_page(self, direction: int) -> None:
        """A page of the transcript, or of the question that is asked."""
        if self.dialog.ask is not None and self.dialog.has_focus:
            self.dialog.scroll_lines(direction * max(1, self.dialog.size.height - 4))
        else:
            self.transcript.page(direction)

    def action_scroll_home(self) -> None:
        """To the beginning."""
        if self.talk is not None:
            self.keep(self.talk.past.home())

    def action_scroll_end(self) -> None:
        """To the end."""
        if self.talk is not None:
            self.talk.past.end()

    def action_redraw(self) -> None:
        """Ctrl+L: draw everything anew."""
        self.refresh(repaint=True, layout=True)

    def action_none(self) -> None:
        """A key that shall do nothing."""

    def _older(self) -> None:
        if self.talk is not None:
            self.keep(self.talk.past.older())

    def _newer(self) -> None:
        if self.talk is not None:
            self.keep(self.talk.past.newer())
