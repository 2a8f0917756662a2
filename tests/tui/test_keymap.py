"""Keys as a person wants them."""

from __future__ import annotations

from wisp.frontends.tui.keymap import ACTIONS, keymap


def test_a_key_that_is_added_means_the_actions_own() -> None:
    """One or several, in any spelling."""
    means, problems = keymap({"history": "Ctrl-P", "find": ["f3", "alt+f"]})

    assert means == {"ctrl+p": "ctrl+r", "f3": "ctrl+f", "alt+f": "ctrl+f"}
    assert problems == []


def test_conflicts_are_told_and_the_first_wish_counts() -> None:
    """Between two wishes, and with an action that would lose its last key."""
    means, problems = keymap({"find": "ctrl+p", "help": "ctrl+p", "history": "ctrl+o"})

    assert means["ctrl+p"] == ACTIONS["find"] and means["ctrl+o"] == ACTIONS["history"]
    assert any("find keeps it" in problem for problem in problems)
    assert any("cards has no key left" in problem for problem in problems)


def test_two_actions_that_swap_their_keys_are_no_conflict() -> None:
    """Each has one."""
    means, problems = keymap({"find": "ctrl+r", "history": "ctrl+f"})

    assert means == {"ctrl+r": "ctrl+f", "ctrl+f": "ctrl+r"}
    assert problems == []


def test_what_is_written_with_or_needed_to_leave_cannot_be_taken() -> None:
    """A letter alone, Ctrl+C, the arrows; and actions that are not there."""
    means, problems = keymap({"find": ["a", "ctrl+c", "up", "", "ctrl++"], "dance": "f5"})

    assert means == {}
    assert len(problems) == 6
