"""A wrong answer: the joined event has the first number, so a reader believes to have missed the others."""

from collections.abc import Sequence

from examples.crafting_agents.host import Event


def coalesce(events: Sequence[Event]) -> list[Event]:
    """Leaves gaps behind."""
    joined: list[Event] = []
    for event in events:
        if joined and event.kind == "text" and joined[-1].kind == "text":
            last = joined.pop()
            event = Event(last.seq, "text", {"piece": last.body["piece"] + event.body["piece"]})
        joined.append(event)
    return joined
