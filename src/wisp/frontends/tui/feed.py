"""From the host's events to entries of the transcript.  Knows no widget; time is an argument."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from wisp.frontends.tui.entries import READING, Answer, Card, Entry, Looked, Note, Said, Thinking
from wisp.host.events import (
    AgentCompleted,
    AgentStarted,
    CompactionCompleted,
    ContextEstimated,
    Envelope,
    ErrorReported,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    PlanSaved,
    ProcessEnded,
    ProviderRetrying,
    ProviderSwitched,
    QueuedMessage,
    QueueMessageInjected,
    QueueUpdated,
    RepairReported,
    ShellEnded,
    ShellStarted,
    ToolApprovalRequested,
    ToolApprovalResolved,
    ToolCalled,
    ToolExecutionEnded,
    ToolExecutionProgress,
    ToolExecutionStarted,
    ToolResultAdded,
    TurnCompleted,
)
from wisp.host.showing import Shown, flat, safe
from wisp.host.view import View, reduce
from wisp.messages.content import Image

Depict = Callable[[str, str, Callable[[], str]], Entry]
"""Makes the entry of a picture from its name, its media type, and what loads it in base64."""
WHOLE = 40
"""Lines of the output of a person's own command that are shown at once."""
COMMANDS = ("bash", "process")
"""Tools whose calls can be stopped by themselves."""
NEAR = 1_000
"""Entries at the end that are kept whole."""


class Feed:
    """Keeps entries up to date with what happens.

    Args:
        entries: the transcript's list, added to at its end.
        picture: makes the entry of a picture; they are left out without.
    """

    def __init__(self, entries: list[Entry], picture: Depict | None = None) -> None:
        self.entries = entries
        self._picture = picture
        self.view = View()
        self.cost: float | None = 0.0
        """At list price since the screen was opened; None once a part of it is unknown."""
        self.context: ContextEstimated | None = None
        self.queue: tuple[tuple[str, QueuedMessage], ...] = ()
        """What waits to be said, each with `next` or `later`, in order."""
        self.arguments = 0
        """Characters of a call that the model is writing."""
        self.running = False
        self.shell = False
        """Whether a command of the person's own runs."""
        self.run_began = 0.0
        self._thinned = 0
        self.folder = ""
        """The folder that is worked in, which titles need not repeat."""
        self._answer: Answer | None = None
        self._thinking: Thinking | None = None
        self._thinking_since = 0.0
        self._cards: dict[str, tuple[Card, Entry]] = {}
        """Calls that have not ended, each with the entry that shows it."""

    def take(self, envelope: Envelope, now: float) -> None:
        """One event."""
        reduce(self.view, envelope)
        handler = _HANDLERS.get(type(envelope.event))
        if handler is not None:
            handler(self, envelope.event, now)

    def _thin(self) -> None:
        """Memory follows what is near the end: of what is far behind less is kept."""
        end = len(self.entries) - NEAR
        for entry in self.entries[min(self._thinned, max(0, end)) : max(0, end)]:
            for card in entry.cards if isinstance(entry, Looked) else [entry]:
                if isinstance(card, Card):
                    card.thin()
        self._thinned = max(0, end)

    def tick(self, now: float) -> None:
        """Time passed: running cards show it."""
        for card, entry in self._cards.values():
            if card.state == "running":
                card.now = now
                card.touch()
                entry.touch()

    @property
    def commands(self) -> bool:
        """Whether a command of the model's runs, which can be stopped by itself."""
        return any(card.name in COMMANDS and card.state == "running" for card, _ in self._cards.values())

    def arguments_of(self, call_id: str) -> str:
        """A call's arguments as the model wrote them; empty for one that is over."""
        found = self._cards.get(call_id)
        return found[0].arguments if found is not None else ""

    def waiting(self) -> Shown:
        """What is being waited for, in words."""
        return flat(self._waiting()) or safe("working")

    def _waiting(self) -> str:
        if self.shell:
            return "running your command"
        words = self.view.waiting
        if self.arguments:
            return f"the model writes a call, {self.arguments:,} characters"
        if words == "the model":
            return "waiting for the model"
        if self.view.phase == "thinking" and words:
            return f"receiving {words}"
        if self.view.phase == "tool" and words:
            return f"running {words}"
        return words

    def said(self, text: str, how: str = "") -> None:
        """A person said something."""
        self.entries.append(Said(text, how))

    def note(self, note: Note) -> None:
        """The program says something."""
        self.entries.append(note)

    # -- the model's message ------------------------------------------------------------------------------

    def _started(self, event: AgentStarted, now: float) -> None:
        self.running, self.run_began, self.arguments = True, now, 0

    def _message_started(self, event: MessageStarted, now: float) -> None:
        self._answer, self._thinking, self.arguments = None, None, 0

    def _delta(self, event: MessageDelta, now: float) -> None:
        if event.content_kind == "arguments":
            self.arguments += len(event.delta)
        elif event.content_kind == "thinking":
            if self._thinking is None:
                self._thinking, self._thinking_since = Thinking(), now
                self.entries.append(self._thinking)
            self._thinking.text += event.delta
            self._thinking.touch()
        else:
            self._thought(now)
            if self._answer is None:
                if not event.delta.strip():
                    return
                self._answer = Answer()
                self.entries.append(self._answer)
            self._answer.body.append(event.delta)
            self._answer.touch()

    def _thought(self, now: float) -> None:
        if self._thinking is not None and self._thinking.seconds is None:
            self._thinking.seconds = now - self._thinking_since
            self._thinking.touch()

    def _withdrawn(self, event: MessageWithdrawn, now: float) -> None:
        self._thought(now)
        if self._answer is not None:
            self._answer.withdrawn = event.reason or "withdrawn"
            self._answer.touch()
        self._answer = self._thinking = None

    def _completed(self, event: MessageCompleted, now: float) -> None:
        self._thought(now)
        self.arguments = 0
        text = event.message.text
        if self._answer is None and text.strip():
            self._answer = Answer()
            self.entries.append(self._answer)
        if self._answer is not None:
            self._answer.body.finish(text)
            self._answer.touch()
        self._answer = self._thinking = None
        known = self.cost is not None and event.cost_usd is not None
        self.cost = (self.cost or 0) + (event.cost_usd or 0) if known else None

    # -- tools --------------------------------------------------------------------------------------------

    def _called(self, event: ToolCalled, now: float) -> None:
        self.arguments = 0
        card = Card(event.call_id, event.name, event.arguments)
        self._cards[event.call_id] = (card, add_card(self.entries, card))

    def _execution_started(self, event: ToolExecutionStarted, now: float) -> None:
        if (found := self._cards.get(event.call_id)) is not None:
            card, entry = found
            card.state, card.since, card.now = "running", now, now
            card.touch()
            entry.touch()

    def _asked(self, event: ToolApprovalRequested, now: float) -> None:
        if (found := self._cards.get(event.call_id)) is not None:
            card, entry = found
            card.state, card.summary = "asking", self._near(event.summary)
            card.touch()
            entry.touch()

    def _settled(self, event: ToolApprovalResolved, now: float) -> None:
        if (found := self._cards.get(event.call_id)) is not None:
            card, entry = found
            card.state, card.since, card.now = "running" if event.approved else "refused", now, now
            card.touch()
            entry.touch()

    def _progress(self, event: ToolExecutionProgress, now: float) -> None:
        if (found := self._cards.get(event.call_id)) is not None:
            card, entry = found
            card.now = now
            card.progress(event.text)
            entry.touch()

    def _ended(self, event: ToolExecutionEnded, now: float) -> None:
        found = self._cards.pop(event.call_id, None)
        if found is None:
            card = Card(event.call_id, event.name, "")
            found = (card, add_card(self.entries, card))
        card, entry = found
        card.summary, card.took = self._near(event.summary), event.duration_ms / 1000
        card.ended(event.output, code=event.failure_code, error=event.is_error, details=event.details)
        entry.touch()

    def _result(self, event: ToolResultAdded, now: float) -> None:
        if self._picture is not None:
            self.entries += depicted(event.result.content, event.result.text, self._picture)

    def _shell_started(self, event: ShellStarted, now: float) -> None:
        card = Card(event.call_id, "bash", "")
        card.summary = f"{'!' if event.told else '!!'} {event.command}"
        card.state, card.since, card.now = "running", now, now
        self._cards[event.call_id] = (card, add_card(self.entries, card))
        self.shell, self.run_began = True, now

    def _shell_ended(self, event: ShellEnded, now: float) -> None:
        found = self._cards.pop(event.call_id, None)
        self.shell = False
        if found is not None:
            card, entry = found
            card.took = event.duration_ms / 1000
            card.ended(event.output, code="", error=event.is_error, details={})
            card.opened = event.output.count("\n") < WHOLE
            entry.touch()
        if event.told:
            self.note(Note("the model is told of it with your next message"))

    def _near(self, summary: str) -> str:
        """A summary without the folder that everything is in."""
        return (
            summary.replace(f"{self.folder}/", "").replace(f" in {self.folder}", "")
            if self.folder
            else summary
        )

    # -- everything else ----------------------------------------------------------------------------------

    def _injected(self, event: QueueMessageInjected, now: float) -> None:
        if event.kind == "notice":
            self.note(Note(f"the model is told: {event.message.text}"))
        else:
            self.said(event.message.text)

    def _queue(self, event: QueueUpdated, now: float) -> None:
        self.queue = (
            *(("next", message) for message in event.steering),
            *(("later", message) for message in event.follow_up),
        )

    def _retrying(self, event: ProviderRetrying, now: float) -> None:
        self.note(
            Note(
                f"{event.reason}; trying again in {event.delay_seconds:.1f} s "
                f"(attempt {event.attempt} of {event.max_attempts})",
                "warn",
            )
        )

    def _switched(self, event: ProviderSwitched, now: float) -> None:
        self.note(Note(f"{event.reason}; {event.provider}/{event.model} answers instead", "warn"))

    def _repaired(self, event: RepairReported, now: float) -> None:
        for message in event.messages:
            self.note(Note(f"repaired: {message}", "warn"))

    def _compacted(self, event: CompactionCompleted, now: float) -> None:
        if event.outcome == "completed":
            before, after = f"{event.tokens_before:,}", f"{event.tokens_after:,}"
            self.note(Note(f"the conversation was shortened to fit: about {before} to {after} tokens"))

    def _plan(self, event: PlanSaved, now: float) -> None:
        self.note(Note(f"the plan is in {event.path}", "good"))

    def _process(self, event: ProcessEnded, now: float) -> None:
        how = "was stopped" if event.exit_code is None else f"ended with exit code {event.exit_code}"
        self.note(Note(f"{event.id} {how}: {event.command}"))

    def _error(self, event: ErrorReported, now: float) -> None:
        self.note(Note(event.message, "bad"))

    def _context(self, event: ContextEstimated, now: float) -> None:
        self.context = event

    def _turn_over(self, event: TurnCompleted, now: float) -> None:
        self._thin()

    def _over(self, event: AgentCompleted, now: float) -> None:
        self.running, self.arguments = False, 0
        self._thought(now)
        self._answer = self._thinking = None
        for card, entry in self._cards.values():
            card.state = "refused" if card.state == "asking" else "failed"
            card.touch()
            entry.touch()
        self._cards.clear()
        if event.stop_reason == "cancelled":
            self.note(Note("stopped" + (f": {event.error}" if _tells(event.error) else ""), "warn"))
        elif self.view.run.cut:
            self.note(Note(self.view.run.cut, "warn"))
        elif event.stop_reason != "model_finished":
            self.note(Note(event.error or f"the run ended: {event.stop_reason.replace('_', ' ')}", "bad"))


def _tells(reason: str) -> bool:
    """Whether why a run was stopped is news to the person who stopped it."""
    return bool(reason) and reason not in ("the user interrupted", "the program is closing")


def depicted(content: Sequence[object], words: str, picture: Depict) -> list[Entry]:
    """Entries of the pictures among some content, called by the words that stand with them."""
    name = words.strip().partition("\n")[0][:100] or "picture"
    return [
        picture(name, block.media_type, functools.partial(str, block.data))
        for block in content
        if isinstance(block, Image)
    ]


def add_card(entries: list[Entry], card: Card) -> Entry:
    """Add a call; one that only looks joins those directly before it.  The entry that shows it."""
    last = entries[-1] if entries else None
    if card.name in READING and isinstance(last, Looked):
        last.cards.append(card)
        last.touch()
        return last
    if card.name in READING and isinstance(last, Card) and last.reading:
        group = Looked([last, card])
        entries[-1] = group
        return group
    entries.append(card)
    return card


_HANDLERS: dict[type, Callable[[Feed, Any, float], None]] = {
    AgentCompleted: Feed._over,
    AgentStarted: Feed._started,
    CompactionCompleted: Feed._compacted,
    ContextEstimated: Feed._context,
    ErrorReported: Feed._error,
    MessageCompleted: Feed._completed,
    MessageDelta: Feed._delta,
    MessageStarted: Feed._message_started,
    MessageWithdrawn: Feed._withdrawn,
    PlanSaved: Feed._plan,
    ProcessEnded: Feed._process,
    ProviderRetrying: Feed._retrying,
    ProviderSwitched: Feed._switched,
    QueueMessageInjected: Feed._injected,
    QueueUpdated: Feed._queue,
    RepairReported: Feed._repaired,
    ShellEnded: Feed._shell_ended,
    ShellStarted: Feed._shell_started,
    ToolApprovalRequested: Feed._asked,
    ToolApprovalResolved: Feed._settled,
    ToolCalled: Feed._called,
    ToolExecutionEnded: Feed._ended,
    ToolExecutionProgress: Feed._progress,
    ToolExecutionStarted: Feed._execution_started,
    ToolResultAdded: Feed._result,
    TurnCompleted: Feed._turn_over,
}
