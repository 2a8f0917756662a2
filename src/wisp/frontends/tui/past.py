"""What was said before this screen was opened: loaded in pages, as far as it is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wisp.frontends.tui.entries import Answer, Card, Entry, Note, Said, Thinking
from wisp.frontends.tui.feed import Depict, add_card, depicted
from wisp.messages.content import Thinking as ThinkingBlock
from wisp.messages.message import AssistantMessage, Message, Notice, ToolResult, UserMessage

if TYPE_CHECKING:
    from wisp.frontends.tui.transcript import Transcript
    from wisp.host.client import Surroundings

PAGE = 120
"""Messages loaded at a time."""
FAR = 4 * PAGE
"""From this many unloaded messages on, the beginning is shown by itself."""
CHUNK = 500
"""Messages looked through at a time."""
HELD = 12 * PAGE
"""Entries held at most while one walks through what is far back."""


def _words(message: Message) -> str:
    """What one can look for in a message: its text, and the arguments of its calls."""
    calls = message.calls if isinstance(message, AssistantMessage) else ()
    return " ".join([message.text, *(call.arguments for call in calls)])


class Past:
    """Pages of one conversation, put before or, far back, instead of what happens now.

    Args:
        around: where messages come from.
        transcript: where they are shown.
        present: the entries of what happens now, which pages are put before.
        picture: makes the entry of a picture.
    """

    def __init__(
        self,
        around: Surroundings,
        transcript: Transcript,
        present: list[Entry],
        picture: Depict | None = None,
    ) -> None:
        self._picture = picture
        self._around = around
        self._transcript = transcript
        self._present = present
        self._first = 0
        """How many messages lie before those that are loaded."""
        self._far: list[Entry] | None = None
        self._far_end = 0
        self._loading = False
        self._found = 0
        """The unloaded message that was found last."""

    async def begin(self, messages: int) -> None:
        """Show the end of a conversation of that many messages."""
        self._first = messages
        self._return()
        await self._page()
        self._transcript.end()

    async def older(self) -> None:
        """The beginning of what is loaded is in sight."""
        if self._far is None:
            await self._page()

    async def newer(self) -> None:
        """The end of what is shown is in sight."""
        if self._far is None or self._loading:
            return
        self._loading = True
        try:
            await self._next()
        finally:
            self._loading = False

    async def search(self, words: str) -> bool:
        """Show the newest place with all words among the messages not loaded; whether there is one."""
        wanted = words.lower().split()
        end = self._first if self._far is None else max(0, self._found)
        while end > 0:
            start = max(0, end - CHUNK)
            messages = await self._around.messages(end, end - start)
            for at in range(len(messages) - 1, -1, -1):
                text = _words(messages[at]).lower()
                if all(word in text for word in wanted):
                    await self._reach(start + at)
                    return True
            end = start
        return False

    async def _reach(self, message: int) -> None:
        """Show what was said around an unloaded message."""
        self._found = message
        self._far, self._far_end = [Note("found far back; Ctrl+End returns to the present")], message
        self._transcript.entries = self._far
        await self._next()
        self._transcript.home()

    async def home(self) -> None:
        """The very beginning."""
        if self._far is None and self._first > FAR:
            self._far, self._far_end = [Note("the beginning; Ctrl+End returns to the present")], 0
            self._transcript.entries = self._far
            await self._next()
        while self._far is None and self._first:
            await self._page()
        self._transcript.home()

    def end(self) -> None:
        """The present."""
        self._return()
        self._transcript.end()

    def _return(self) -> None:
        self._far = None
        self._transcript.entries = self._present

    async def _page(self) -> None:
        if self._loading or not self._first:
            return
        self._loading = True
        try:
            start = max(0, self._first - PAGE)
            messages = await self._around.messages(self._first, self._first - start)
            results = next((n for n, m in enumerate(messages) if not isinstance(m, ToolResult)), 0)
            self._first = start + (results if start else 0)
            entries = told(messages[results if start else 0 :], self._picture)
            self._present[:0] = entries
            self._transcript.prepended(len(entries))
        finally:
            self._loading = False

    async def _next(self) -> None:
        assert self._far is not None
        end = min(self._first, self._far_end + PAGE)
        if end <= self._far_end:
            if self._far_end >= self._first:  # the pages have met
                self._transcript.entries = self._present
                self._far = None
            return
        messages = await self._around.messages(end, end - self._far_end)
        self._far_end = end
        if self._far is not None:
            self._transcript.follow = False
            self._far += told(messages, self._picture)
            self._transcript.dropped(max(0, len(self._far) - HELD))
            self._transcript.changed()


def told(messages: Sequence[Message], picture: Depict | None = None) -> list[Entry]:
    """Entries of messages that were said earlier; their pictures too, where `picture` makes entries."""
    entries: list[Entry] = []
    cards: dict[str, tuple[Card, Entry]] = {}
    for message in messages:
        if isinstance(message, UserMessage):
            entries.append(Said(message.text))
            if picture is not None:
                entries += depicted(message.content, "", picture)
        elif isinstance(message, Notice):
            entries.append(Note(f"the model is told: {message.text}"))
        elif isinstance(message, AssistantMessage):
            thought = "".join(b.text for b in message.content if isinstance(b, ThinkingBlock))
            if thought.strip():
                entries.append(Thinking(thought, -1))
            if message.text.strip():
                entries.append(Answer(message.text, whole=True))
            for call in message.calls:
                card = Card(call.id, call.name, call.arguments)
                card.state = "done"
                cards[call.id] = (card, add_card(entries, card))
        elif isinstance(message, ToolResult):
            found = cards.pop(message.call_id, None)
            if found is None:
                card = Card(message.call_id, message.name, "")
                found = (card, add_card(entries, card))
            found[0].ended(message.text, code=message.code, error=message.is_error, details={})
            found[1].touch()
            if picture is not None:
                entries += depicted(message.content, message.text, picture)
    return entries
