"""What the session adds to a run's events."""

from __future__ import annotations

from wisp.loop.events import Event


class QuestionAsked(Event, frozen=True, tag="question.asked"):
    """The run waits for a person to choose.  Always followed by its `QuestionAnswered`."""

    question_id: str
    text: str
    choices: tuple[str, ...]
    """The answers that are understood; the last one is taken when nobody answers any more."""


class QuestionAnswered(Event, frozen=True, tag="question.answered"):
    """The choice was made."""

    question_id: str
    answer: str


class SessionSaved(Event, frozen=True, tag="session.saved"):
    """The run is durable up to here."""

    path: str
    """Empty for a session in memory."""
    messages: int
