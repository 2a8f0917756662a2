"""When the composer's text is the answer to something, and the person's own draft until then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from wisp.host.showing import flat, safe

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp

Answering = Callable[[str], Awaitable[bool]]
"""Takes the composer's text as an answer; whether that ends the asking."""
PROMPT = "What shall be done?"


class Answers:
    """At most one asking at a time."""

    def __init__(self, app: WispApp) -> None:
        self._app = app
        self._take: Answering | None = None
        self._back: Callable[[], None] | None = None
        self._draft = ""

    @property
    def wanted(self) -> bool:
        """Whether the next text is an answer."""
        return self._take is not None

    def ask(
        self,
        what: str,
        take: Answering,
        back: Callable[[], None] | None = None,
        hint: str = "enter answers",
        text: str = "",
    ) -> None:
        """Have the next text from the composer be an answer; what was written there is kept.

        Args:
            what: shown where nothing is written.
            take: has the text; says whether that was all.
            back: what Esc does, after the draft is back.
            hint: shown beside what happens.
            text: what stands there to begin with.
        """
        app = self._app
        if self._take is None:
            self._draft = app.composer.whole
        self._take, self._back, app.below.hint = take, back, flat(hint)
        app.composer.put(text)
        app.composer.placeholder = flat(what)
        app.composer.focus()
        app.flush_soon()

    async def take(self, text: str) -> None:
        """The person wrote `text`; one that is not taken, or does not end the asking, stands there again."""
        take = self._take
        if take is None or not await take(text):
            self._app.composer.give_back(text)
        elif self._take is take:
            self.end()

    def end(self) -> None:
        """Back to writing messages."""
        if self._take is None:
            return
        app = self._app
        self._take, app.below.hint = None, safe("")
        app.composer.placeholder = PROMPT
        app.composer.put(self._draft)
        self._draft = ""
        app.flush_soon()

    def give_up(self) -> None:
        """Esc: back to writing, or to whatever asked."""
        back, self._back = self._back, None
        self.end()
        if back is not None:
            back()

    def settle(self) -> None:
        """Nothing is asked any more, here or in a dialog."""
        self._back = None
        self.end()
        dialog = self._app.dialog
        if dialog.ask is None or not dialog.ask.lasting:
            dialog.drop()
            self._app.composer.focus()
