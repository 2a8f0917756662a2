"""The kill ring, as readline describes it."""

from __future__ import annotations

from wisp.frontends.tui.killing import KillRing


def test_kills_that_follow_each_other_are_one_in_the_order_of_the_text() -> None:
    """Backwards ones stand before, forward ones after."""
    ring = KillRing()
    ring.note("one two three", "one two ", forward=False)
    ring.note("one two ", "one ", forward=False)
    assert ring.newest == "two three"
    ring.close()
    ring.note("abc def", "def", forward=True)
    ring.note("def", "", forward=True)
    assert ring.newest == "abc def"


def test_older_kills_come_one_after_the_other_and_then_the_newest_again() -> None:
    """The ring is a ring."""
    ring = KillRing()
    for text in ("a", "b", "c"):
        ring.note(text, "", forward=True)
        ring.close()

    assert [ring.newest, ring.before(), ring.before(), ring.before()] == ["c", "b", "a", "c"]


def test_nothing_removed_is_nothing_kept() -> None:
    """Keys that removed nothing, and an empty ring."""
    ring = KillRing()
    ring.note("same", "same", forward=True)

    assert ring.newest == "" and ring.before() == ""
