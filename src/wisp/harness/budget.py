"""One ledger for what a conversation may spend: money, tokens, turns and time, of each of several accounts.

A run, a session, a day and a subagent are accounts; what is spent counts in all that stand above.  The
overseer asks a person where one is there, and halts the run where none is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

from wisp.harness.events import QuestionAnswered, QuestionAsked
from wisp.harness.ports import Questioner
from wisp.loop.events import Event
from wisp.loop.limits import Exhausted, Limits, Spent, exhausted
from wisp.loop.oversight import Coming, Halt
from wisp.messages.ids import Clock
from wisp.messages.usage import ZERO, Usage

GO_ON, STOP = "go on", "stop"


class Book(Protocol):
    """Where an account's figures are kept."""

    def read(self) -> Spent:
        """What was spent so far."""
        ...

    def add(self, spent: Spent) -> None:
        """This much more was spent.  Never raises: figures that cannot be kept must not cost an answer."""
        ...


class MemoryBook:
    """Figures that live as long as the process."""

    def __init__(self, spent: Spent | None = None) -> None:
        self._spent = spent or Spent()

    def read(self) -> Spent:
        """See `Book.read`."""
        return self._spent

    def add(self, spent: Spent) -> None:
        """See `Book.add`."""
        self._spent = self._spent.and_also(spent)


class RunBook:
    """Figures of one run: its own requests, and what subagents spent below it."""

    def __init__(self) -> None:
        self.own = self.below = Spent()

    def read(self) -> Spent:
        """See `Book.read`."""
        return self.own.and_also(self.below)

    def add(self, spent: Spent) -> None:
        """See `Book.add`; for what was spent below."""
        self.below = self.below.and_also(spent)


class _Above:
    """An account above a part of the work: charged for everything but time, which passes once for all."""

    def __init__(self, inner: Book) -> None:
        self._inner = inner

    def read(self) -> Spent:
        return self._inner.read()

    def add(self, spent: Spent) -> None:
        self._inner.add(msgspec.structs.replace(spent, seconds=0.0))


class Account:
    """Who may spend how much.

    Args:
        whose: how it is named to a person, as `of this session`.
        limits: its ceilings.
        book: its figures.
    """

    def __init__(self, whose: str, limits: Limits, book: Book | None = None) -> None:
        self.whose = whose
        self.limits = limits
        self.book = book or MemoryBook()
        self._step = limits

    def over(self, coming: float | None) -> Exhausted | None:
        """The ceiling that forbids a request which costs `coming` dollars or more."""
        if self.limits == Limits():
            return None
        return exhausted(self.limits, self.book.read(), coming, self.whose)

    def above(self) -> Account:
        """This account as one above a part of the work; its limits are those of now, whenever that is."""
        return _Lent(self)

    def extend(self) -> None:
        """Allow as much again as was allowed at first, from here."""
        self.limits = self._step.beyond(self.book.read())


class _Lent(Account):
    """An account that somebody below charges and asks, and never extends."""

    def __init__(self, inner: Account) -> None:
        self._inner = inner
        self.whose = inner.whose
        self.book = _Above(inner.book)

    def over(self, coming: float | None) -> Exhausted | None:
        return self._inner.over(coming)

    def above(self) -> Account:
        return self

    def extend(self) -> None:
        self._inner.extend()


class Ledger:
    """Accounts that are charged together, the nearest first."""

    def __init__(self, accounts: Sequence[Account] = ()) -> None:
        self.accounts = tuple(accounts)

    def share(self, whose: str, limits: Limits, run: Account | None = None) -> Ledger:
        """A ledger for a part of the work, as a subagent: with an account of its own below all of these.

        Args:
            run: the account of the run that the part belongs to.
        """
        above = (*((run,) if run is not None else ()), *self.accounts)
        return Ledger((Account(whose, limits), *(account.above() for account in above)))

    def charge(self, spent: Spent) -> None:
        """Count `spent` in every account."""
        for account in self.accounts:
            account.book.add(spent)

    def over(self, coming: float | None) -> tuple[Account, Exhausted] | None:
        """The first account that forbids a request, and why."""
        for account in self.accounts:
            if (found := account.over(coming)) is not None:
                return account, found
        return None


class BudgetOverseer:
    """Watches one run with its conversation's ledger; implements `loop.oversight.Overseer`.

    Args:
        ledger: the accounts above the run.
        clock: for the time that is spent, and for ids.
        questioner: asked whether to go on; None halts.
    """

    def __init__(self, ledger: Ledger, clock: Clock, questioner: Questioner | None = None) -> None:
        self._ledger = ledger
        self._clock = clock
        self._questioner = questioner
        self._since = clock.monotonic()
        self._book = RunBook()
        self.account = Account("", Limits(), self._book)
        """The run's own: what it may spend, and what it and its subagents did."""
        self._begun = False
        self._alike = 0
        """Turns alike that a person was asked about and let pass."""

    async def before(self, coming: Coming) -> AsyncIterator[Event | Halt]:
        """See `Overseer.before`."""
        self._time()
        while (found := self._over(coming)) is not None:
            account, over = found
            reason = "turn_limit" if over.which in ("turns", "loop") else "budget"
            if self._questioner is None:
                yield Halt(reason, over.message, over.which)  # type: ignore[arg-type]
                return
            question = QuestionAsked(
                self._clock.new_id(), f"{over.message}. Go on?", (GO_ON, STOP), over.which
            )
            yield question
            answer, cancelled = "", None
            try:
                answer = await self._questioner.ask(question)
            except BaseException as exc:  # raised again, once the question has its end
                cancelled = exc
            yield QuestionAnswered(question.question_id, answer, "cancelled" if cancelled else "person")
            if cancelled is not None:
                raise cancelled
            self._since = self._clock.monotonic()
            if answer != GO_ON:
                yield Halt(reason, over.message, over.which)  # type: ignore[arg-type]
                return
            self._extend(account, over.which, coming)

    def forbids(self, coming: Coming) -> bool:
        """See `Overseer.forbids`: where somebody can be asked, nothing is forbidden yet."""
        return self._questioner is None and self._over(coming) is not None

    def charge(self, usage: Usage | None, cost: float | None, *, turn: bool) -> None:
        """See `Overseer.charge`."""
        spent = Spent().after(usage, cost) if turn else Spent().beside(usage, cost)
        self._book.own = self._book.own.and_also(spent)
        self._ledger.charge(spent)
        self._time()

    def _time(self) -> None:
        now = self._clock.monotonic()
        if now > self._since:
            self._ledger.charge(Spent(0, ZERO, 0.0, now - self._since))
        self._since = now

    def _over(self, coming: Coming) -> tuple[Account | None, Exhausted] | None:
        if not self._begun:
            self._begun, self.account.limits = True, coming.limits
        own = self.account.limits
        spent = coming.spent.and_also(self._book.below)
        if (found := exhausted(own, spent, coming.projected)) is not None:
            return None, found
        if own.max_repeats is not None and coming.repeats - self._alike >= own.max_repeats:
            why = f"the last {coming.repeats} turns made the same calls and got the same results"
            return None, Exhausted("loop", why)
        return self._ledger.over(coming.projected)

    def _extend(self, account: Account | None, which: str, coming: Coming) -> None:
        if account is not None:
            account.extend()
        elif which == "loop":
            self._alike = coming.repeats
        else:
            self.account.limits = coming.limits.beyond(coming.spent.and_also(self._book.below))


def with_session(spent: Spent, session: Limits, day: Account | None) -> Ledger:
    """The ledger of a conversation that has spent `spent` already.  Without limits there is no account."""
    accounts = [Account("of this session", session, MemoryBook(spent))] if session != Limits() else []
    return Ledger([*accounts, *([day] if day is not None else [])])
