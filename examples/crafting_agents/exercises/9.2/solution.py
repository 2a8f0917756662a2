"""Exercise 9.2: only neighbours are joined, so the order of everything else stays."""

from collections.abc import Sequence

from examples.crafting_agents.host import Event


def coalesce(events: Sequence[Event]) -> list[Event]:
    """Join "text" events that follow each other directly; the joined event has the last one's number."""
    joined: list[Event] = []
    for event in events:
        if joined and event.kind == "text" and joined[-1].kind == "text":
            piece = joined.pop().body["piece"] + event.body["piece"]
            event = Event(event.seq, "text", {**event.body, "piece": piece})
        joined.append(event)
    return joined
