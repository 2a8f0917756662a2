"""The words of a call that a person would change, and the hunks of a diff; without a terminal."""

from __future__ import annotations

import json

import pytest

from wisp.frontends.tui.changing import editable
from wisp.frontends.tui.hunklist import hunks

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
