"""Widgets by themselves, driven key by key: composer, dialog, transcript, pages of the past."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widget import Widget

from wisp.frontends.tui.composer import Composer
from wisp.frontends.tui.dialog import GUARD, PAUSE, Ask, Choice, Dialog
from wisp.frontends.tui.entries import Answer, Card, Entry, Note, Said
from wisp.frontends.tui.feed import Feed
from wisp.frontends.tui.field import Field
from wisp.frontends.tui.look import DARK, theme_of
from wisp.frontends.tui.past import FAR, PAGE, Past
from wisp.frontends.tui.picker import headed
from wisp.frontends.tui.transcript import Transcript
from wisp.host.events import (
    AgentStarted,
    Envelope,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    ToolCalled,
    ToolExecutionEnded,
    ToolExecutionStarted,
    TurnCompleted,
    TurnStarted,
)
from wisp.messages.content import Text, ToolCall
from wisp.messages.message import AssistantMessage, Message, ToolResult, user


class Frame(App[None]):
    """An app around one widget, which notes what the widget says."""

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.register_theme(theme_of(DARK))
        self.theme = DARK.name
        self.widget = widget
        self.heard: list[Any] = []

    def compose(self) -> ComposeResult:
        yield self.widget

    def on_composer_sent(self, message: Composer.Sent) -> None:
        self.heard.append((message.text, message.when))

    def on_transcript_marked(self, message: Transcript.Marked) -> None:
        self.heard.append(message.text)

    def on_dialog_answered(self, message: Dialog.Answered) -> None:
        self.heard.append(message.choice.name)

    def on_dialog_typed(self, message: Dialog.Typed) -> None:
        self.heard.append(message.event.key)


@asynccontextmanager
async def shown(
    widget: Widget, width: int = 60, height: int = 20
) -> AsyncIterator[tuple[Frame, Pilot[None]]]:
    frame = Frame(widget)
    async with frame.run_test(size=(width, height)) as pilot:
        widget.focus()
        await pilot.pause()
        yield frame, pilot


async def test_enter_sends_and_three_ways_make_a_new_line() -> None:
    """Shift+Enter, Ctrl+J, and a backslash before Enter; Alt+Enter sends for later."""
    composer = Composer()
    async with shown(composer) as (frame, pilot):
        await pilot.press("a", "shift+enter", "b", "ctrl+j", "c", "backslash", "enter", "d", "enter")
        await pilot.press("e", "alt+enter")

    assert frame.heard == [("a\nb\nc\nd", "now"), ("e", "later")]


async def test_a_large_paste_is_a_mark_that_is_sent_as_what_it_stands_for() -> None:
    """Also after the cursor moved and text was written around it; a small paste stands as it is."""
    composer = Composer()
    large = "\n".join(f"line {n}" for n in range(50))
    async with shown(composer) as (frame, pilot):
        composer.post_message(events.Paste("one\r\ntwo "))
        composer.post_message(events.Paste(large))
        await pilot.pause()
        assert composer.text == "one\ntwo [pasted #1: 50 lines]"
        await pilot.press("!", "enter")

    assert frame.heard == [(f"one\ntwo {large}!", "now")]


async def test_what_was_refused_comes_back_with_its_marks_before_what_was_written_since() -> None:
    """Nothing that was written is lost."""
    composer = Composer()
    async with shown(composer) as (frame, pilot):
        composer.post_message(events.Paste("x" * 3000))
        await pilot.pause()
        await pilot.press("enter", "n", "e", "w")
        composer.give_back(frame.heard[0][0])
        await pilot.pause()

        assert composer.text == "[pasted #1: 3,000 characters]\nnew"
        assert composer.whole == "x" * 3000 + "\nnew"


async def test_the_arrows_walk_through_what_was_sent_and_back_to_the_draft() -> None:
    """From the first line up, from the last line down."""
    composer = Composer()
    async with shown(composer) as (_, pilot):
        composer.load_sent(["older"])
        composer.remember("newer")
        await pilot.press("d", "up")
        assert composer.text == "newer"
        await pilot.press("up")
        assert composer.text == "older"
        await pilot.press("up", "down", "down")
        assert composer.text == "d"


async def test_removed_text_is_put_back_and_changes_are_undone() -> None:
    """Ctrl+U, Ctrl+W, Ctrl+Y; Ctrl+_ and Alt+Y."""
    composer = Composer()
    async with shown(composer) as (_, pilot):
        await pilot.press(*"two", "space", *"words", "ctrl+w")
        assert composer.text == "two "
        await pilot.press("ctrl+y")
        assert composer.text == "two words"
        await pilot.press("ctrl+u")
        assert composer.text == ""
        await pilot.press("ctrl+underscore")
        assert composer.text == "two words"
        await pilot.press("alt+y")
        assert composer.text == ""


def asking() -> Ask:
    body = "--- a/x\n+++ b/x\n@@ -0,0 +1,60 @@\n" + "".join(f"+line {n}\n" for n in range(60))
    choices = (Choice("yes", ("y",), "allow"), Choice("no", ("n", "escape"), "deny"))
    return Ask("1", "Allow it?", body, "because", choices)


async def test_a_key_before_the_guard_has_passed_answers_nothing() -> None:
    """By a clock of the test's own."""
    now = 100.0
    dialog = Dialog(DARK, lambda: now)
    async with shown(dialog) as (frame, pilot):
        dialog.put(asking(), last_key=0.0)
        await pilot.pause()
        now += GUARD - 0.01
        await pilot.press("y")
        assert frame.heard == []
        now += 0.02
        await pilot.press("y")

    assert frame.heard == ["yes"]


async def test_a_person_who_is_writing_goes_on_writing_until_a_pause() -> None:
    """Every key before it is handed to the composer."""
    now = 100.0
    dialog = Dialog(DARK, lambda: now)
    async with shown(dialog) as (frame, pilot):
        dialog.put(asking(), last_key=now - 0.1)
        await pilot.pause()
        for key in "yyy":
            now += PAUSE - 0.2
            await pilot.press(key)
        now += PAUSE + 0.1
        await pilot.press("n")

    assert frame.heard == ["y", "y", "y", "no"]


async def test_all_of_an_operation_can_be_seen_and_how_much_is_hidden_is_said() -> None:
    """Sixty lines in a screen of twenty."""
    dialog = Dialog(DARK, lambda: 1e9)
    async with shown(dialog) as (_, pilot):
        dialog.put(asking(), last_key=0.0)
        await pilot.pause()
        seen = set()
        for _ in range(80):
            rows = [dialog.render_line(y).text for y in range(dialog.size.height)]
            seen |= {row.split("+ ", 1)[1].strip() for row in rows if "+ line" in row}
            assert "[y]" in "".join(rows)
            if not any("more lines" in row for row in rows):
                break
            dialog.scroll_lines(1)

    assert seen == {f"line {n}" for n in range(60)}


def talk(count: int) -> list[Entry]:
    entries: list[Entry] = []
    for n in range(count // 2):
        entries += [Said(f"question {n}"), Answer(f"answer {n}", whole=True)]
    return entries


def rows(transcript: Transcript) -> list[str]:
    return [transcript.render_line(y).text[:-1].rstrip() for y in range(transcript.size.height)]


async def test_only_entries_near_the_window_are_ever_drawn() -> None:
    """A hundred thousand entries: moving draws a number that does not depend on how many there are."""
    drawn = 0

    class Counted(Said):
        def draw(self, width: int, look: Any) -> list[Any]:
            nonlocal drawn
            drawn += 1
            return super().draw(width, look)

    transcript = Transcript(DARK, lambda: None, lambda: None)
    async with shown(transcript) as (_, pilot):
        transcript.entries[:] = [Counted(f"number {n}") for n in range(100_000)]
        transcript.changed()
        await pilot.pause()
        assert "❯ number 99999" in rows(transcript)
        for _ in range(20):
            transcript.page(-1)
        transcript.home()
        assert "❯ number 0" in rows(transcript)
        transcript.reveal(50_000)
        assert "❯ number 50000" in rows(transcript)
        transcript.end()

    assert drawn < 600


async def test_scrolling_up_and_down_by_any_steps_comes_back_to_the_same_rows() -> None:
    """Also when entries change while one looks at something else: what is in sight stays."""
    transcript = Transcript(DARK, lambda: None, lambda: None)
    async with shown(transcript):
        transcript.entries[:] = talk(80)
        transcript.changed()
        transcript.page(-1)
        before = rows(transcript)
        for step in (-7, 3, -1, 5):
            transcript.move(step)
        assert rows(transcript) == before
        transcript.entries.append(Note("something new"))
        transcript.changed()
        assert rows(transcript) == before
        transcript.entries[:0] = talk(10)
        transcript.prepended(10)
        assert rows(transcript) == before
        for _ in range(60):
            transcript.move(3)
        assert transcript.follow
        assert rows(transcript)[-1].endswith("something new")


async def test_the_prompt_that_is_answered_stays_in_the_first_row() -> None:
    """While the end is followed."""
    transcript = Transcript(DARK, lambda: None, lambda: None)
    async with shown(transcript):
        transcript.entries[:] = [Said("the question"), Answer("\n\n".join(map(str, range(99))), whole=True)]
        transcript.changed()

        assert rows(transcript)[0] == "❯ the question"
        assert rows(transcript)[-1] == "  98"


async def test_a_card_shows_the_end_of_what_a_command_says_and_how_long_it_runs() -> None:
    """Five lines; then its result."""
    card = Card("1", "bash", '{"command": "make"}')
    card.state, card.since, card.now = "running", 10.0, 75.0
    for n in range(9):
        card.progress(f"line {n}\nhalf")
        card.progress(" of it ")
    text = "\n".join(line.text.rstrip() for line in card.lines(60, DARK))
    assert "bash make  1 min 5 s" in text
    assert text.endswith("line 8\n    half of it")
    card.ended("\n".join(map(str, range(40))), code="", error=False, details={})

    text = "\n".join(line.text.rstrip() for line in card.lines(60, DARK))
    assert "… 32 lines above" in text
    assert text.endswith("39")


class Stored:
    """Messages of a conversation, as a host would hand them out; notes what was asked for."""

    def __init__(self, count: int) -> None:
        self.all: list[Message] = []
        while len(self.all) < count:
            n = len(self.all) // 4
            call = ToolCall(f"c{n}", "bash", '{"command": "true"}')
            self.all += [
                user(f"question {n}"),
                AssistantMessage((Text("I look."), call)),
                ToolResult(call.id, "bash", (Text(f"result {n}"),)),
                AssistantMessage((Text(f"answer {n}"),)),
            ]
        self.asked = 0

    async def messages(self, before: int, count: int) -> list[Message]:
        self.asked += count
        return self.all[max(0, before - count) : before]


async def test_the_past_is_loaded_as_far_as_one_looks_and_the_beginning_is_near_from_anywhere() -> None:
    """Of 40,000 messages a few pages are ever asked for; what happens now is there again at the end."""
    stored, ends = Stored(40_000), list[bool]()
    transcript = Transcript(DARK, lambda: None, lambda: ends.append(True))
    async with shown(transcript):
        present = transcript.entries
        past = Past(stored, transcript, present)  # type: ignore[arg-type]
        await past.begin(len(stored.all))
        present.append(Note("now"))
        transcript.changed()
        assert any("answer 9999" in row for row in rows(transcript))
        assert stored.asked == PAGE
        transcript.page(-1)
        await past.older()
        assert stored.asked <= 3 * PAGE
        await past.home()
        assert "❯ question 0" in rows(transcript)
        for _ in range(40):
            transcript.page(1)
            if ends:
                ends.clear()
                await past.newer()
        assert stored.asked < 10 * PAGE
        assert any("question" in row for row in rows(transcript))
        past.end()

        assert rows(transcript)[-1].endswith("now")


async def test_words_are_found_in_messages_that_are_not_loaded_and_nothing_else_is() -> None:
    """The newest place first, then the one before; the present is there again at the end."""
    stored = Stored(40_000)
    transcript = Transcript(DARK, lambda: None, lambda: None)
    async with shown(transcript):
        past = Past(stored, transcript, transcript.entries)  # type: ignore[arg-type]
        await past.begin(len(stored.all))
        present = transcript.entries
        assert await past.search("QUESTION 123")  # all words, in any case, in part
        assert any("question 9123" in row for row in rows(transcript))
        assert await past.search("question 123")
        assert any("question 8123" in row for row in rows(transcript))
        assert not await past.search("nobody said this")
        past.end()

        assert transcript.entries is present
        assert any("answer 9999" in row for row in rows(transcript))


async def test_every_message_is_shown_once_when_one_walks_up_to_the_beginning() -> None:
    """Pages do not tear a call from its result."""
    stored = Stored(FAR)
    transcript = Transcript(DARK, lambda: None, lambda: None)
    async with shown(transcript):
        past = Past(stored, transcript, transcript.entries)  # type: ignore[arg-type]
        await past.begin(FAR)
        for _ in range(12):
            await past.older()
        words = [entry.plain() for entry in transcript.entries]

    assert words == [
        text
        for n in range(FAR // 4)
        for text in (f"question {n}", "I look.", f"bash true\nresult {n}", f"answer {n}")
    ]


async def test_text_that_is_marked_with_the_mouse_is_told_as_it_is_read() -> None:
    """From a cell to a cell, in any direction; a press without moving marks nothing."""
    transcript = Transcript(DARK, lambda: None, lambda: None)
    async with shown(transcript) as (frame, pilot):
        transcript.entries[:] = [Said("the question"), Answer("one two\n\nthree four", whole=True)]
        transcript.changed()
        await pilot.pause()
        await pilot.mouse_down(transcript, offset=(8, 5))
        await pilot.hover(transcript, offset=(2, 3))
        await pilot.mouse_up(transcript, offset=(2, 3))
        await pilot.pause()
        assert frame.heard == ["one two\n\nthree f"]
        await pilot.click(transcript, offset=(4, 3))
        assert frame.heard == ["one two\n\nthree f"]


async def test_five_thousand_turns_leave_no_more_than_fifty_megabytes_behind() -> None:
    """Each with an answer and a command's output of 20 kB; the screen redraws as it goes."""

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    transcript = Transcript(DARK, lambda: None, lambda: None)
    async with shown(transcript):
        feed = Feed(transcript.entries)
        seq = 0

        def take(event: Any) -> None:
            nonlocal seq
            seq += 1
            feed.take(Envelope(seq, "s", 0.0, event), float(seq))

        def turn(number: int) -> None:
            message = AssistantMessage((Text(f"**answer** {number} " + "word " * 40),))
            take(TurnStarted(number))
            take(MessageStarted(number, f"m{number}"))
            take(MessageDelta(number, message.text))
            take(MessageCompleted(number, message, "tool_calls"))
            take(ToolCalled(number, f"c{number}", "bash", '{"command": "make"}'))
            take(ToolExecutionStarted(number, f"c{number}", "bash"))
            output = f"{number} line of output\n" * 1000
            take(ToolExecutionEnded(number, f"c{number}", "bash", output, summary="$ make"))
            take(TurnCompleted(number, "completed", "tool_calls"))
            if number % 10 == 0:
                transcript.changed()
                [transcript.render_line(y) for y in range(transcript.size.height)]

        take(AgentStarted("p", "m"))
        for number in range(1, 1500):
            turn(number)
        before = resident()
        for number in range(1500, 6500):
            turn(number)

        assert (resident() - before) / 2**20 < 50


@pytest.mark.parametrize("text", ["one\rtwo\rthree", "one\ntwo\nthree", "one\r\n  two\r\nthree\r\n"])
async def test_a_paste_of_lines_into_one_line_keeps_all_its_words(text: str) -> None:
    """Filters and comments; whatever ends the lines, and nothing is sent."""
    sent: list[str] = []

    class Page(App[None]):
        def compose(self) -> ComposeResult:
            yield Field("a z")

        def on_input_submitted(self) -> None:
            sent.append("sent")

    app = Page()
    async with app.run_test() as pilot:
        field = app.query_one(Field)
        field.focus()
        field.cursor_position = 2
        await pilot.pause()
        field.post_message(events.Paste(text))
        await pilot.pause()

    assert field.value == "a one two threez"
    assert sent == []


@pytest.mark.parametrize(
    ("heading", "width", "seen"),
    [
        ("Models", 80, "Models   Esc leaves · Enter takes"),
        ("Keys and commands", 30, "Keys and commands   Esc"),
        ("Models (now local/test-model)", 30, "Models (now local/tes…   Esc"),
    ],
)
def test_a_narrow_page_says_how_one_leaves_it(heading, width, seen):
    assert headed(DARK, heading, "Esc leaves · Enter takes", width).plain == seen
