"""Which steps an undo or a redo moves over, and between which snapshots.  Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from wisp.session.state import FileStep, State


class NothingToDo(Exception):
    """There is nothing to undo or redo; the message says why."""


class Move(msgspec.Struct, frozen=True):
    """One undo or redo: put back every path that differs from `to` in `now`."""

    direction: Literal["undo", "redo"]
    steps: int
    to: str
    now: str
    """Empty: the folder as it stands; the program ended before it was kept."""
    prompt: str
    """Id of the user message whose run is undone or redone."""
    follows: str = ""
    """Id of the message before that; empty when it was the first."""
    since: str = ""
    """When the first of the changes began, RFC 3339."""


def plan_undo(state: State, *, one_turn: bool = False) -> Move:
    """Undo what the last prompt's run changed, or only its last turn.

    Raises:
        NothingToDo: no run has changed files, or all were undone.
    """
    done = state.steps[: state.applied]
    if not done:
        raise NothingToDo("there is nothing to undo in this session")
    last = done[-1]
    steps = 1 if one_turn else _run_length(done[::-1], last.prompt)
    first = done[-steps]
    return Move("undo", steps, first.before, last.after, last.prompt, first.follows, first.at)


def plan_redo(state: State, *, one_turn: bool = False) -> Move:
    """Redo what was undone last.

    Raises:
        NothingToDo: nothing was undone since the last change.
    """
    waiting = state.steps[state.applied :]
    if not waiting:
        raise NothingToDo("there is nothing to redo in this session")
    steps = 1 if one_turn else _run_length(waiting, waiting[0].prompt)
    last = waiting[steps - 1]
    if not last.after:
        raise NothingToDo("it cannot be redone: the program ended before the result was kept")
    return Move("redo", steps, last.after, waiting[0].before, waiting[0].prompt)


def _run_length(steps: list[FileStep], prompt: str) -> int:
    count = 0
    while count < len(steps) and steps[count].prompt == prompt:
        count += 1
    return count
