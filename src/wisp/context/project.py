"""What a project's and a user's own instruction files add to a request, within one budget.  Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wisp.context.blocks import Block

BUDGET = 32_768
"""Most bytes of all instruction files of a request together."""
NAMES = ("AGENTS.md", "CLAUDE.md")
"""In each folder the first of these that is there."""


class NoteFile(msgspec.Struct, frozen=True):
    """One instruction file."""

    source: str
    """As a person knows it: from the working directory, or absolute."""
    text: str
    own: bool = False
    """The user's own, for all projects."""


def file_blocks(files: Sequence[NoteFile], budget: int = BUDGET) -> tuple[list[Block], list[str]]:
    """The blocks of `files`, broadest first, and what a person should know of what was cut.

    Room is given to the nearest file first: it says the most about the work at hand.
    """
    room = budget
    kept: list[Block] = []
    notes: list[str] = []
    for file in reversed(files):
        data = file.text.strip().encode("utf-8", "replace")
        if not data:
            continue
        shown = data[:room].decode("utf-8", "ignore")
        if len(data) > room:
            used = len(shown.encode())
            notes.append(
                f"{file.source}: {used:,} of {len(data):,} bytes are used; "
                f"all instruction files together may have {budget:,}"
            )
            shown = (
                f"{shown}\n[cut here: {len(data) - used:,} bytes of this file found no room]" if used else ""
            )
        room -= min(room, len(data))
        if shown:
            who = "the user, for all projects" if file.own else "the project's authors"
            name = "user" if file.own else "project"
            kept.append(
                Block(name, f"Notes by {who}, from {file.source}:\n\n{shown}", file.source, len(data))
            )
    return kept[::-1], notes[::-1]
