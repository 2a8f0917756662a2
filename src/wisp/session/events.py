"""What the session adds to a run's events."""

from __future__ import annotations

from wisp.loop.events import Event


class SessionSaved(Event, frozen=True, tag="session.saved"):
    """The run is durable up to here."""

    path: str
    """Empty for a session in memory."""
    messages: int
