"""Exercise 9.1: a new view for each event, the same for the same events, and no fear of the unknown."""

from dataclasses import dataclass

from examples.crafting_agents.host import Event


@dataclass(frozen=True)
class Waiting:
    """The messages that are queued, by ticket, in order."""

    tickets: tuple[tuple[int, str], ...] = ()


def apply(view: Waiting, event: Event) -> Waiting:
    """Kinds: "queued" {ticket, text}, "taken_back" {ticket}, "delivered" {ticket}.  Others change nothing."""
    match event.kind:
        case "queued":
            return Waiting((*view.tickets, (event.body["ticket"], event.body["text"])))
        case "taken_back" | "delivered":
            return Waiting(tuple(one for one in view.tickets if one[0] != event.body["ticket"]))
    return view
