"""A wrong answer: it keeps the state outside of the view, so the same events give another view next time."""

from dataclasses import dataclass

from examples.crafting_agents.host import Event


@dataclass(frozen=True)
class Waiting:
    """The messages that are queued."""

    tickets: tuple[tuple[int, str], ...] = ()


KEPT: list[tuple[int, str]] = []


def apply(view: Waiting, event: Event) -> Waiting:
    """Remembers what it should be told."""
    if event.kind == "queued":
        KEPT.append((event.body["ticket"], event.body["text"]))
    elif event.kind in ("taken_back", "delivered"):
        KEPT[:] = [one for one in KEPT if one[0] != event.body["ticket"]]
    return Waiting(tuple(KEPT))
