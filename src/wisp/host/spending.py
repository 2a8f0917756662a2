"""The ledger of a conversation from its settings: whose limits, and what was spent before."""

from __future__ import annotations

from wisp.harness.budget import Account, Ledger, with_session
from wisp.host.settings import Settings
from wisp.loop.limits import Limits, Spent
from wisp.messages.ids import Clock
from wisp.session.fold import State


def run_limits(settings: Settings) -> Limits:
    """The limits of one run; its time is kept by a timer of the host."""
    return Limits(
        settings.max_turns, settings.max_cost, settings.max_tokens, max_repeats=settings.max_repeats
    )


def ledger_of(settings: Settings, state: State, day_file: str, clock: Clock) -> Ledger:
    """The accounts above each run: the session's, with what it spent in earlier processes, and the day's.

    Args:
        state: of the session as it was opened.
        day_file: where the day is kept; empty keeps none.
    """
    session = Limits(
        settings.session_max_turns,
        settings.session_max_cost,
        settings.session_max_tokens,
        settings.session_max_time,
    )
    day = Limits(
        settings.day_max_turns, settings.day_max_cost, settings.day_max_tokens, settings.day_max_time
    )
    account = None
    if day != Limits() and day_file:
        from wisp.host.daybook import Daybook

        account = Account("of this day", day, Daybook(day_file, clock.now))
    return with_session(Spent(state.turns, state.usage, state.cost_usd), session, account)
