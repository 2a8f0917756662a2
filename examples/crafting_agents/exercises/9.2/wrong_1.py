"""A wrong answer: it joins all text of a run and moves it past the calls in between."""

from collections.abc import Sequence

from examples.crafting_agents.host import Event


def coalesce(events: Sequence[Event]) -> list[Event]:
    """Tells the story in another order."""
    texts = [event for event in events if event.kind == "text"]
    others = [event for event in events if event.kind != "text"]
    if not texts:
        return others
    piece = "".join(event.body["piece"] for event in texts)
    return [Event(texts[-1].seq, "text", {"piece": piece}), *others]
