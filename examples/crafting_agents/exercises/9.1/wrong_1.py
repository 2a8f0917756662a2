"""A wrong answer: it raises on a kind that a newer engine has."""

from dataclasses import dataclass

from examples.crafting_agents.host import Event


@dataclass(frozen=True)
class Waiting:
    """The messages that are queued."""

    tickets: tuple[tuple[int, str], ...] = ()


def apply(view: Waiting, event: Event) -> Waiting:
    """Afraid of the unknown."""
    if event.kind == "queued":
        return Waiting((*view.tickets, (event.body["ticket"], event.body["text"])))
    if event.kind in ("taken_back", "delivered"):
        return Waiting(tuple(one for one in view.tickets if one[0] != event.body["ticket"]))
    raise ValueError(event.kind)
