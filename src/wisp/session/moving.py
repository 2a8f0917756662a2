"""Going on from another message of the tree, and what is said there of the branch that was left."""

from __future__ import annotations

from wisp.harness.runner import AgentHarness
from wisp.messages.ids import Clock
from wisp.messages.message import Message, Notice
from wisp.session.branches import NoSuchEntry, resolve_entry
from wisp.session.compact import summary_text
from wisp.session.fold import NAVIGATED, NAVIGATED_BACK, Fold
from wisp.session.records import Known, LeafRecord, MessageRecord
from wisp.session.summarize import account_of

ROOM = 4_000
"""Characters of what the user said in the branch that was left."""


async def moved(fold: Fold, wanted: str, asked: AgentHarness | None, clock: Clock) -> list[Known]:
    """The records of a move.

    Args:
        fold: the session, with every message in reach.
        wanted: where to; empty takes the last move back.
        asked: whose model tells what happened in the branch that is left; None for no account of it.

    Raises:
        NoSuchEntry: there is no such message, or no move to take back.
    """
    if wanted:
        leaf = LeafRecord(resolve_entry(fold, wanted), NAVIGATED)
    elif fold.state.moves:
        leaf = LeafRecord(fold.state.moves[-1], NAVIGATED_BACK)
    else:
        raise NoSuchEntry("there is no move to take back in this session")
    left = left_behind(fold, leaf.target) if asked is not None else []
    if asked is None or not left:
        return [leaf]
    account = await account_of(left, asked.model, asked.provider)
    facts = summary_text(account.text, left, "", ROOM).split("\n\n", 1)[-1]
    said = Notice(f"Another branch of this conversation was left. In it:\n\n{facts}", clock.new_id())
    return [leaf, MessageRecord(said)]


def left_behind(fold: Fold, target: str) -> list[Message]:
    """The messages that are no longer on the way when the conversation goes on from `target`."""
    staying = set(fold.path(target))
    return [fold.message(m) for m in fold.path(fold.state.leaf) if m not in staying]
