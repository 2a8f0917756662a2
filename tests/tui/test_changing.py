"""The words of a call that a person would change, and the hunks of a diff; without a terminal."""

from __future__ import annotations

import json

import pytest
from textual import events
from textual.app import App

from wisp.frontends.tui.changes import Changes, Hunk, Outcome
from wisp.frontends.tui.changing import editable
from wisp.frontends.tui.hunklist import hunks
from wisp.frontends.tui.look import DARK, LOOKS, theme_of

CALLS = [
    ({"command": "ls", "timeout": 3}, "ls", {"command": "NEW", "timeout": 3}),
    ({"path": "a", "content": "x\ny"}, "x\ny", {"path": "a", "content": "NEW"}),
    (
        {"path": "a", "edits": [{"old_text": "o", "new_text": "n"}]},
        "n",
        {"path": "a", "edits": [{"old_text": "o", "new_text": "NEW"}]},
    ),
]


@pytest.mark.parametrize(("arguments", "words", "changed"), CALLS)
def test_only_the_words_of_a_call_are_edited_and_the_rest_stays(
    arguments: dict[str, object], words: str, changed: dict[str, object]
) -> None:
    """A command, a content, the new text of a single edit."""
    found = editable(json.dumps(arguments))
    assert found is not None

    assert found.text == words
    assert json.loads(found.whole("NEW")) == changed
    assert json.loads(found.whole(found.text)) == arguments


def test_any_other_call_is_edited_as_a_whole() -> None:
    """As JSON, which comes back as it was written."""
    found = editable('{"pattern": "ü", "n": [1, 2]}')
    assert found is not None and "ü" in found.text
    assert json.loads(found.whole(found.text)) == {"pattern": "ü", "n": [1, 2]}
    assert editable("[1]") is None and editable("{") is None


def test_every_hunk_of_every_file_is_one_with_its_file_named() -> None:
    """Also where a changed line looks like a header."""
    diff = (
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n"
        "--- a/y\n+++ b/y\n@@ -1,2 +1,2 @@\n--- not a header\n+++ nor this\n z\n"
    )
    found = hunks(diff)

    assert [part.split("\n")[1] for part in found] == ["+++ b/x", "+++ b/x", "+++ b/y"]
    assert found[1] == "--- a/x\n+++ b/x\n@@ -9 +9 @@\n-c\n+d\n"
    assert found[2].endswith("--- not a header\n+++ nor this\n z\n")


async def test_a_comment_that_is_typed_at_once_is_written_and_does_nothing_else() -> None:
    """Letters that mean something on the page come before the field has the focus."""

    class Page(App[None]):
        def __init__(self) -> None:
            super().__init__()
            for look in LOOKS.values():
                self.register_theme(theme_of(look))
            self.theme = DARK.name
            self.left: list[Outcome | None] = []

        def on_mount(self) -> None:
            diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n"
            self.push_screen(Changes(DARK, 1, [Hunk("changed", diff)] * 2), self.left.append)

    app = Page()
    async with app.run_test() as pilot:
        await pilot.pause()
        for key in ("c", *"so u", "enter", "down", "c", *"qs", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        await pilot.pause()
        assert app.left == []
        await pilot.press("s")
        await pilot.pause()

    (outcome,) = app.left
    assert outcome is not None
    assert [line for line in outcome.comments.split("\n") if line in ("so u", "qs")] == ["so u", "qs"]
